package llmtest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

const (
	redacted = "REDACTED"
	// minSecret is the size in bytes from which a secret is replaced everywhere: shorter ones occur
	// in words.
	minSecret = 6
)

// plain matches the headers that a recording keeps: those that providers use and that tell nothing
// about an account.
var plain = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`^(Content-Type|(X-)?Request-Id|Retry-After(-Ms)?|X-Should-Retry|(Anthropic|X)-Ratelimit-.*)$`)
})

// secretHeaders lists headers whose values must not be recorded anywhere.
var secretHeaders = []string{"Authorization", "Proxy-Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key",
	"X-Auth-Token", "Cookie", "Set-Cookie", "Openai-Organization", "Openai-Project", "Anthropic-Organization-Id",
	"X-Goog-User-Project"}

// secretParams lists query parameters whose values must not be recorded anywhere.
var secretParams = []string{"key", "api_key", "api-key", "apikey", "access_token", "token", "auth", "signature"}

// secretShapes matches the vendors' keys and ids, wherever they come from, such as an error's text.
var secretShapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(sk-[\w*-]{8,}|AIza[\w*-]{8,}|org-\w{8,}|proj_\w{8,}|(?i:bearer )[\w.~+/*-]{20,}=*)`)
})

// secrets holds the secrets of one exchange.
type secrets []string

func secretsOf(req *http.Request) *secrets {
	s := &secrets{}
	s.learn(req.Header)
	if password, ok := req.URL.User.Password(); ok {
		s.add(password)
	}
	for name, values := range req.URL.Query() {
		if slices.Contains(secretParams, strings.ToLower(name)) {
			s.add(values...)
		}
	}
	return s
}

// learn adds the secrets in headers: whole values, and the values of credentials and cookies
// without their names.
func (s *secrets) learn(h http.Header) {
	for _, name := range secretHeaders {
		for _, value := range h.Values(name) {
			s.add(value)
			_, credentials, _ := strings.Cut(value, " ") // after Bearer or Basic
			s.add(credentials)
			if name == "Set-Cookie" {
				value, _, _ = strings.Cut(value, ";") // the rest are the cookie's attributes
			}
			for pair := range strings.SplitSeq(value, ";") {
				_, v, _ := strings.Cut(pair, "=")
				s.add(v)
			}
		}
	}
}

func (s *secrets) add(list ...string) {
	for _, secret := range list {
		if len(secret) < minSecret {
			continue
		}
		quoted, err := json.Marshal(secret)
		if err != nil { // cannot happen with a string
			quoted = []byte(secret)
		}
		*s = append(*s, secret, url.QueryEscape(secret), url.PathEscape(secret), strings.Trim(string(quoted), `"`))
	}
	// Longest first, because one secret may be part of another.
	slices.SortStableFunc(*s, func(a, b string) int { return len(b) - len(a) })
}

// scrub returns a text without the secrets.
func (s *secrets) scrub(text string) string {
	for _, secret := range *s {
		text = strings.ReplaceAll(text, secret, redacted)
	}
	return secretShapes().ReplaceAllString(text, redacted)
}

// request returns what is recorded of a request.
func (s *secrets) request(req *http.Request, body []byte) *exchange {
	query := req.URL.Query()
	for name := range query {
		if slices.Contains(secretParams, strings.ToLower(name)) {
			query.Set(name, redacted)
		}
	}
	at := url.URL{Path: req.URL.Path, RawPath: req.URL.RawPath, RawQuery: query.Encode()}
	return &exchange{Request: s.scrub(req.Method + " " + at.RequestURI()), Body: s.scrub(string(body))}
}

// header returns the headers that are recorded.
func (s *secrets) header(h http.Header) http.Header {
	kept := http.Header{}
	for name, values := range h {
		for _, v := range values {
			if plain().MatchString(name) {
				kept.Add(name, s.scrub(v))
			}
		}
	}
	return kept
}
