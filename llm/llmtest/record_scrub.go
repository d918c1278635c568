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

// plainHeaders lists the headers that a recording keeps: those that providers use and that tell
// nothing about an account.
var plainHeaders = []string{"Accept", "Content-Type", "Anthropic-Version", "Anthropic-Beta", "Openai-Beta",
	"Openai-Version",
	"Request-Id", "X-Request-Id", "Retry-After", "Retry-After-Ms", "X-Should-Retry"}

// plainPrefixes lists more of them by their prefix.
var plainPrefixes = []string{"Anthropic-Ratelimit-", "X-Ratelimit-"}

// secretHeaders lists headers whose values must not be recorded anywhere.
var secretHeaders = []string{"Authorization", "Proxy-Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key",
	"X-Auth-Token",
	"Cookie", "Set-Cookie", "Openai-Organization", "Openai-Project", "Anthropic-Organization-Id", "X-Goog-User-Project"}

// secretParams lists query parameters whose values must not be recorded anywhere.
var secretParams = []string{"key", "api_key", "api-key", "apikey", "access_token", "token", "auth", "signature"}

// secretShapes matches the vendors' keys and ids, wherever they come from, such as an error's text.
var secretShapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(sk-[\w*-]{8,}|AIza[\w*-]{8,}|org-\w{8,}|proj_\w{8,}|(?i:bearer )[\w.~+/*-]{20,}=*)`)
})

// scrubber removes the secrets of one exchange.
type scrubber struct{ secrets []string }

func newScrubber(req *http.Request) *scrubber {
	s := &scrubber{}
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

// learn collects the secrets in headers.
func (s *scrubber) learn(h http.Header) {
	for _, name := range secretHeaders {
		for _, value := range h.Values(name) {
			s.add(value)
			if _, credentials, ok := strings.Cut(value, " "); ok { // Bearer, Basic
				s.add(strings.TrimSpace(credentials))
			}
			for i, pair := range strings.Split(value, ";") {
				_, v, ok := strings.Cut(pair, "=")
				if ok && (name == "Cookie" || name == "Set-Cookie" && i == 0) { // the rest are the cookie's attributes
					s.add(strings.TrimSpace(v))
				}
			}
		}
	}
}

func (s *scrubber) add(secrets ...string) {
	for _, secret := range secrets {
		if len(secret) < minSecret {
			continue
		}
		quoted, err := json.Marshal(secret)
		if err != nil { // strings have no errors
			quoted = []byte(secret)
		}
		for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret),
			strings.Trim(string(quoted), `"`)} {
			if !slices.Contains(s.secrets, form) {
				s.secrets = append(s.secrets, form)
			}
		}
	}
	// Longest first, because one secret may be part of another.
	slices.SortStableFunc(s.secrets, func(a, b string) int { return len(b) - len(a) })
}

// text returns a text without the secrets.
func (s *scrubber) text(text string) string {
	for _, secret := range s.secrets {
		text = strings.ReplaceAll(text, secret, redacted)
	}
	return secretShapes().ReplaceAllString(text, redacted)
}

func (s *scrubber) request(req *http.Request, body []byte) recordedRequest {
	q := recordedRequest{Method: req.Method, Path: s.text(s.path(req.URL)), Header: s.header(req.Header)}
	clean := s.text(string(body))
	if json.Valid([]byte(clean)) {
		q.Body = json.RawMessage(clean)
	} else {
		q.Text = strings.ToValidUTF8(clean, "\uFFFD")
	}
	return q
}

// path returns a URL's path and query, without the secrets.
func (s *scrubber) path(u *url.URL) string {
	query := u.Query()
	for name := range query {
		if slices.Contains(secretParams, strings.ToLower(name)) {
			query.Set(name, redacted)
		}
	}
	if len(query) == 0 {
		return u.EscapedPath()
	}
	return u.EscapedPath() + "?" + query.Encode()
}

func (s *scrubber) header(h http.Header) http.Header {
	kept := http.Header{}
	for name, values := range h {
		plain := slices.ContainsFunc(plainPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
		if !plain && !slices.Contains(plainHeaders, name) {
			continue
		}
		for _, v := range values {
			kept[name] = append(kept[name], s.text(v))
		}
	}
	return kept
}
