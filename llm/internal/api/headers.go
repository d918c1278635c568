package api

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/attractor-go/attractor/llm"
)

// requestID returns the id that the provider's support asks for.
func requestID(h http.Header) string {
	for _, name := range []string{"Request-Id", "X-Request-Id", "X-Goog-Request-Id", "Cf-Ray"} {
		if id := h.Get(name); id != "" {
			return id
		}
	}
	return ""
}

// retryAfter returns the delay that the server asks for: milliseconds, seconds with a fraction, or
// a date. For invalid values and dates in the past it returns 0.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if d, ok := duration(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	value := h.Get("Retry-After")
	if d, ok := duration(value, time.Second); ok {
		return d
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// SaidDelay returns the delay that follows a phrase in an error's text, such as "Please retry in
// 34.4s.", or 0.
func SaidDelay(message, phrase string) time.Duration {
	_, after, ok := strings.Cut(message, phrase)
	if !ok {
		return 0
	}
	word, _, _ := strings.Cut(after, " ")
	d, err := time.ParseDuration(strings.TrimRight(word, ".,"))
	if err != nil {
		return 0
	}
	return max(d, 0)
}

func duration(s string, unit time.Duration) (time.Duration, bool) {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || f < 0 {
		return 0, false
	}
	return time.Duration(min(f*float64(unit), 1e18)), true // 1e18 ns are 31 years
}

// rateLimit returns the limits in Anthropic's and OpenAI's headers, or nil without any.
func rateLimit(h http.Header) *llm.RateLimit {
	now := time.Now()
	const a, o = "Anthropic-Ratelimit-", "X-Ratelimit-"
	limit := &llm.RateLimit{
		RequestsLimit:     count(h, a+"Requests-Limit", o+"Limit-Requests"),
		RequestsRemaining: count(h, a+"Requests-Remaining", o+"Remaining-Requests"),
		TokensLimit:       count(h, a+"Tokens-Limit", o+"Limit-Tokens"),
		TokensRemaining:   count(h, a+"Tokens-Remaining", o+"Remaining-Tokens"),
	}
	if limit.RequestsLimit&limit.RequestsRemaining&limit.TokensLimit&limit.TokensRemaining == -1 {
		return nil // all of them are unknown
	}
	for _, name := range []string{a + "Requests-Reset", a + "Tokens-Reset", o + "Reset-Requests", o + "Reset-Tokens"} {
		if at := reset(h.Get(name), now); at.After(limit.Reset) {
			limit.Reset = at
		}
	}
	return limit
}

// count returns the first header that is a number, or -1.
func count(h http.Header, names ...string) int {
	for _, name := range names {
		if n, err := strconv.Atoi(strings.TrimSpace(h.Get(name))); err == nil && n >= 0 {
			return n
		}
	}
	return -1
}

// reset parses a moment (RFC 3339) or a time from now (1s, 6m0s).
func reset(value string, now time.Time) time.Time {
	if at, err := time.Parse(time.RFC3339, value); err == nil {
		return at
	}
	if d, err := time.ParseDuration(value); err == nil && d >= 0 {
		return now.Add(d)
	}
	return time.Time{}
}
