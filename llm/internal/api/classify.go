package api

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/attractor-go/attractor/llm"
)

// classify returns the error of a response: the provider's own code decides its kind first, then
// phrases, then the status.
func (c *Call) classify(status int, h http.Header, body []byte) *llm.Error {
	decode := c.Decode
	if decode == nil {
		decode = DecodeError
	}
	f := decode(body)
	if status >= 300 && status < 400 { // whatever its text, it does not come from the API
		f = Failure{Kind: llm.ErrConfiguration}
	}
	e := &llm.Error{Kind: f.Kind, Provider: c.Provider, Code: f.Code, Message: f.Message, Status: status,
		RequestID: f.RequestID, RetryAfter: cmp.Or(retryAfter(h, time.Now()), f.RetryAfter),
		Raw: body[:min(len(body), maxErrorBody)]}
	meant := status
	if status < 300 && f.Status != 0 {
		meant = f.Status
	}
	e.Kind = cmp.Or(phraseKind(e.Kind, meant, cmp.Or(e.Message, string(e.Raw))), e.Kind, statusKind(meant))
	if e.Kind == llm.ErrContextLength {
		e.Tokens, e.Window = contextNumbers(e.Message)
	}
	if e.Kind == llm.ErrRateLimit && strings.Contains(strings.ToLower(e.Message), "request too large") {
		e.Final = true // this request alone exceeds the limit per minute, so waiting does not help
	}
	if status == http.StatusConflict && e.Kind == llm.ErrInvalidRequest { // a lock on the server, not a mistake
		e.Kind = llm.ErrServer
	}
	if h.Get("X-Should-Retry") == "false" {
		e.Final = true
	}
	if e.Message == "" {
		e.Message = c.describe(status, h, body)
	}
	c.redact(e)
	return e
}

// describe returns a message for an error that came without a readable one.
func (c *Call) describe(status int, h http.Header, body []byte) string {
	if to := h.Get("Location"); status >= 300 && status < 400 {
		return "the server redirects to " + safeURL(to) + ": set the base URL to where the API is"
	}
	text := strings.TrimSpace(string(body))
	if text != "" && len(text) <= 200 && !strings.ContainsAny(text, "<{\n") {
		return text
	}
	said := "the server refused without saying why"
	if name := http.StatusText(status); name != "" && status >= 300 {
		said = strings.ToLower(name)
	}
	if title := pageTitle(text); title != "" {
		return fmt.Sprintf("%s (a web page: %q)", said, title)
	}
	return said
}

// pageTitle returns the title of a web page, which tells what a proxy or a firewall wants, or "".
func pageTitle(page string) string {
	_, rest, _ := strings.Cut(page, "<title>")
	title, _, ok := strings.Cut(rest, "</title>")
	if !ok || len(title) > 100 {
		return ""
	}
	return strings.Join(strings.Fields(title), " ")
}

func statusKind(status int) error {
	kind := map[int]error{401: llm.ErrAuthentication, 402: llm.ErrQuota, 403: llm.ErrAccessDenied,
		404: llm.ErrNotFound, 408: llm.ErrTimeout, 413: llm.ErrContextLength, 429: llm.ErrRateLimit,
		425: llm.ErrServer, 503: llm.ErrOverloaded, 504: llm.ErrTimeout, 524: llm.ErrTimeout,
		529: llm.ErrOverloaded}[status]
	switch {
	case kind != nil:
		return kind
	case status >= 500 || status < 300:
		return llm.ErrServer
	}
	return llm.ErrInvalidRequest
}

// redact removes secrets from the texts of servers and transports.
func (c *Call) redact(e *llm.Error) {
	for _, secret := range c.Secrets {
		if len(secret) < 4 { // so short a text is no key, and occurs in ordinary text
			continue
		}
		e.Message = strings.ReplaceAll(e.Message, secret, "[redacted]")
		e.Code = strings.ReplaceAll(e.Code, secret, "[redacted]")
		if strings.Contains(string(e.Raw), secret) {
			e.Raw = []byte(strings.ReplaceAll(string(e.Raw), secret, "[redacted]"))
		}
	}
}
