package api_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/internal/api"
)

type errorCase struct {
	ID         string            `json:"id"`
	Provider   string            `json:"provider"`
	Phase      string            `json:"phase"`
	Status     int               `json:"status"`
	Headers    map[string]string `json:"headers"`
	Body       string            `json:"body"`
	Class      string            `json:"error_class"`
	Retryable  *bool             `json:"retryable"`
	RetryAfter json.RawMessage   `json:"retry_after_ms"`
}

// kinds maps the corpus's classes to ours. Ours are finer: there, an overload and a gateway's
// timeout are server errors.
var kinds = map[string][]error{
	"InvalidRequestError": {llm.ErrInvalidRequest},
	"AuthenticationError": {llm.ErrAuthentication},
	"AccessDeniedError":   {llm.ErrAccessDenied},
	"NotFoundError":       {llm.ErrNotFound},
	"QuotaExceededError":  {llm.ErrQuota},
	"RateLimitError":      {llm.ErrRateLimit},
	"ContextLengthError":  {llm.ErrContextLength},
	"ServerError":         {llm.ErrServer, llm.ErrOverloaded, llm.ErrTimeout},
}

// needsOwnDecoder lists Gemini's cases whose error JSON is more precise than the status.
var needsOwnDecoder = []string{"g_capacity_503", "g_retry_301", "g_retry_600", "g_msg_retry_s", "g_msg_retry_ms",
	"g_nested_json"}

func TestCorpus(t *testing.T) {
	f, err := os.Open("../../../../shared/corpora/provider_errors/cases.jsonl")
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("the error corpus is not beside the work tree: ", err)
	} else if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ran := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var c errorCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if c.Phase != "response" || strings.Contains(strings.Join(needsOwnDecoder, " "), c.ID) {
			continue
		}
		ran++
		t.Run(c.ID, func(t *testing.T) { c.check(t) })
	}
	t.Logf("%d cases ran", ran)
}

func (c errorCase) check(t *testing.T) {
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		for name, value := range c.Headers {
			w.Header().Set(name, value)
		}
		w.WriteHeader(c.Status)
		io.WriteString(w, c.Body)
	})
	_, err := read(t.Context(), call(client, "http://x.test"))
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	fits := false
	for _, kind := range kinds[c.Class] {
		fits = fits || e.Kind == kind
	}
	if c.ID == "x_should_retry_true" { // the class says no; the header and retryable say yes, so it is a server error
		fits = e.Kind == llm.ErrServer
	}
	if !fits {
		t.Errorf("%v, want %s", err, c.Class)
	}
	if c.Retryable != nil && llm.Retryable(err) != *c.Retryable {
		t.Errorf("%v: retryable %v", err, llm.Retryable(err))
	}
	var ms float64
	if string(c.RetryAfter) == `"date"` {
		if e.RetryAfter < 24*365*time.Hour {
			t.Errorf("retry after %v", e.RetryAfter)
		}
	} else if err := json.Unmarshal(c.RetryAfter, &ms); err != nil || e.RetryAfter.Milliseconds() != int64(ms) {
		t.Errorf("retry after %v, want %s ms (%v)", e.RetryAfter, c.RetryAfter, err)
	}
	if e.Message == "" || e.Status != c.Status || string(e.Raw) != c.Body {
		t.Errorf("%+v", e)
	}
}

func TestErrorHeaders(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		header map[string]string
		body   string
		check  func(e *llm.Error) bool
	}{
		"milliseconds first": {429, map[string]string{"Retry-After-Ms": "1500", "Retry-After": "9"}, "",
			func(e *llm.Error) bool { return e.RetryAfter == 1500*time.Millisecond }},
		"a date in the past": {429, map[string]string{"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, "",
			func(e *llm.Error) bool { return e.RetryAfter == 0 }},
		"nonsense": {429, map[string]string{"Retry-After": "NaN"}, "",
			func(e *llm.Error) bool { return e.RetryAfter == 0 }},
		"very long": {429, map[string]string{"Retry-After": "1e300"}, "",
			func(e *llm.Error) bool { return e.RetryAfter > 24*365*time.Hour }},
		"do not retry": {500, map[string]string{"X-Should-Retry": "false"}, "",
			func(e *llm.Error) bool { return !llm.Retryable(e) }},
		"request id in the body": {500, map[string]string{"Request-Id": "b"},
			`{"request_id":"a","error":{"message":"m"}}`,
			func(e *llm.Error) bool { return e.RequestID == "a" && e.Message == "m" }},
		"request id in the header": {500, map[string]string{"X-Request-Id": "b"}, `{"error":"m"}`,
			func(e *llm.Error) bool { return e.RequestID == "b" && e.Message == "m" }},
		"code before type": {400, nil, `{"error":{"type":"t","code":"c","message":"m"}}`,
			func(e *llm.Error) bool { return e.Code == "c" }},
		"code is a number": {400, nil, `{"error":{"type":"t","code":7,"message":"m"}}`,
			func(e *llm.Error) bool { return e.Code == "t" }},
		"short text": {500, nil, "backend down", func(e *llm.Error) bool { return e.Message == "backend down" }},
		"a page":     {502, nil, "<html>", func(e *llm.Error) bool { return e.Message == "bad gateway" }},
		"a titled page": {403, nil, "<!DOCTYPE html><html><head><title>Just a\n moment...</title></head></html>",
			func(e *llm.Error) bool { return e.Message == `forbidden (a web page: "Just a moment...")` }},
		"a conflict": {409, nil, `{"error":{"type":"invalid_request_error","message":"m"}}`,
			func(e *llm.Error) bool { return llm.Retryable(e) && e.Kind == llm.ErrServer }},
		"a conflict that stays": {409, map[string]string{"X-Should-Retry": "false"}, "",
			func(e *llm.Error) bool { return !llm.Retryable(e) }},
		"too early": {425, nil, "", func(e *llm.Error) bool { return llm.Retryable(e) }},
		"much": {500, nil, strings.Repeat("x", 1<<20),
			func(e *llm.Error) bool { return len(e.Raw) == 64<<10 }},
		"the key": {401, nil, `{"error":{"code":"` + key + `","message":"no such key: ` + key + `"}}`,
			func(e *llm.Error) bool { return e.Message != "" }},
	} {
		t.Run(name, func(t *testing.T) {
			client := serve(t, func(w http.ResponseWriter, r *http.Request) {
				for name, value := range c.header {
					w.Header().Set(name, value)
				}
				w.WriteHeader(c.status)
				io.WriteString(w, c.body)
			})
			_, err := read(t.Context(), call(client, "http://x.test"))
			var e *llm.Error
			if !errors.As(err, &e) || !c.check(e) {
				t.Errorf("%+v", err)
			}
			if strings.Contains(e.Error()+e.Code+string(e.Raw), key) {
				t.Errorf("the key is in %+v", e)
			}
		})
	}
}

func TestRateLimitHeaders(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		header map[string]string
		want   *llm.RateLimit
		reset  func(time.Time) bool
	}{
		"none": {nil, nil, nil},
		"anthropic": {map[string]string{"anthropic-ratelimit-requests-limit": "50",
			"anthropic-ratelimit-requests-remaining": "49",
			"anthropic-ratelimit-tokens-limit":       "30000", "anthropic-ratelimit-tokens-remaining": "0",
			"anthropic-ratelimit-requests-reset": "2031-01-01T00:00:00Z",
			"anthropic-ratelimit-tokens-reset":   "2031-01-01T00:01:00Z"},
			&llm.RateLimit{RequestsLimit: 50, RequestsRemaining: 49, TokensLimit: 30000, TokensRemaining: 0},
			func(at time.Time) bool { return at.Equal(time.Date(2031, 1, 1, 0, 1, 0, 0, time.UTC)) }},
		"openai": {map[string]string{"x-ratelimit-limit-requests": "60", "x-ratelimit-remaining-requests": "x",
			"x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "6m0s"},
			&llm.RateLimit{RequestsLimit: 60, RequestsRemaining: -1, TokensLimit: -1, TokensRemaining: -1},
			func(at time.Time) bool { return at.After(now.Add(6*time.Minute)) && at.Before(now.Add(7*time.Minute)) }},
	} {
		t.Run(name, func(t *testing.T) {
			client := serve(t, func(w http.ResponseWriter, r *http.Request) {
				for name, value := range c.header {
					w.Header().Set(name, value)
				}
				events(w, "data: 1\n\n")
			})
			resp, err := call(client, "http://x.test").Do(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Close()
			got := resp.RateLimit
			if c.want == nil || got == nil {
				if got != c.want {
					t.Fatalf("%+v, want %+v", got, c.want)
				}
				return
			}
			if !c.reset(got.Reset) {
				t.Errorf("reset at %v", got.Reset)
			}
			got.Reset = time.Time{}
			if *got != *c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// A null beside the message does not hide it.
func TestG5_NullError(t *testing.T) {
	for _, body := range []string{`{"error":null,"message":"no such model","type":"not_found_error"}`,
		`{"message":"no such model","type":"not_found_error"}`} {
		if f := api.DecodeError([]byte(body)); f.Message != "no such model" || f.Code != "not_found_error" {
			t.Errorf("%s: %+v", body, f)
		}
	}
}

// One decoder reads the errors of all formats but Google's. Kinds that come with every status are
// left to the status, and the type of an event names no error.
func TestG5_FormsOfErrors(t *testing.T) {
	for body, want := range map[string]api.Failure{
		`{"type":"error","error":{"type":"overloaded_error","message":"m"},"request_id":"r"}`: {
			Code: "overloaded_error", Message: "m", Kind: llm.ErrOverloaded, RequestID: "r"},
		`{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"try again in 2s."}}}`: {
			Code: "rate_limit_exceeded", Message: "try again in 2s.", Kind: llm.ErrRateLimit,
			RetryAfter: 2 * time.Second},
		`{"error":{"type":"insufficient_quota","code":"new_code","message":"m"}}`: {
			Code: "new_code", Message: "m", Kind: llm.ErrQuota},
		`{"error":{"type":"invalid_request_error","message":"m"}}`: {
			Code: "invalid_request_error", Message: "m", Status: 400},
		`{"type":"error","code":null,"message":"m"}`: {Message: "m"},
		`{"error":{"type":"overloaded_error","message":"m","metadata":"x","status_code":"529"},"request_id":7}`: {
			Code: "overloaded_error", Message: "m", Kind: llm.ErrOverloaded}, // gateways have other types of members
		`{"error":"m"}`: {Message: "m"},
		`<html>`:        {},
	} {
		if got := api.DecodeError([]byte(body)); got != want {
			t.Errorf("%s: %+v, want %+v", body, got, want)
		}
	}
}

func TestI17_SaidDelay(t *testing.T) {
	for message, want := range map[string]time.Duration{
		"Please retry in 44.5s.": 44500 * time.Millisecond, "retry in 1m30s, or pay": 90 * time.Second,
		"retry in 20 seconds": 0,
		"retry in -5s":        0, "retry in ": 0, "Too many.": 0,
	} {
		if got := api.SaidDelay(message, "retry in "); got != want {
			t.Errorf("%q: %v, want %v", message, got, want)
		}
	}
}

func TestI11_Counts(t *testing.T) {
	for text, want := range map[string]api.Count{`-1`: 0, `0`: 0, `5`: 5, `4611686018427387904`: 1 << 30,
		`1e999`: 1 << 30,
		`12.0`:  12, `1.5`: 1, `"7"`: 7, `"NaN"`: 0, `"many"`: 0, `null`: 3, `[1]`: 0, `{"a":1}`: 0, `true`: 0} {
		got := api.Count(3)
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s: %d, %v, want %d", text, got, err, want)
		}
	}
}
