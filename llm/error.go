package llm

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// The kinds of errors, for errors.Is.
var (
	ErrAuthentication = errors.New("authentication")  // the key is missing, wrong or revoked (401)
	ErrAccessDenied   = errors.New("access_denied")   // the key may not do this (403)
	ErrNotFound       = errors.New("not_found")       // no such model or endpoint (404)
	ErrInvalidRequest = errors.New("invalid_request") // the request is wrong (400, 422)
	ErrRateLimit      = errors.New("rate_limit")      // too many requests or tokens (429)
	ErrQuota          = errors.New("quota")           // the account's money or quota is used up
	ErrServer         = errors.New("server")          // the provider failed (5xx), or had a conflict (409)
	ErrOverloaded     = errors.New("overloaded")      // the provider has no capacity (529, 503)
	ErrContentFilter  = errors.New("content_filter")  // refused for its content
	ErrContextLength  = errors.New("context_length")  // the conversation does not fit the model's window
	ErrTimeout        = errors.New("timeout")         // one of our timers, or the provider's (408, 504)
	ErrAborted        = errors.New("aborted")         // the caller's context ended
	ErrNetwork        = errors.New("network")         // no connection, or it broke before the response began
	ErrStream         = errors.New("stream")          // the response broke off or made no sense
	ErrConfiguration  = errors.New("configuration")   // no key, no provider, a bad option
	ErrNoObject       = errors.New("no_object")       // the model returned no valid object of the schema
	ErrUnsupported    = errors.New("unsupported")     // the API or the model cannot do what the request asks
)

// Error describes the failure of a request.
type Error struct {
	// Kind is one of the errors above.
	Kind     error
	Provider string
	// Code is the provider's error code. Message is the provider's text, or ours. Neither ever
	// contains a key.
	Code, Message string
	Status        int // of the HTTP response, 0 without one
	// RetryAfter is the time that the provider asks the client to wait, 0 if it did not say.
	RetryAfter time.Duration
	RequestID  string
	// Usage holds the tokens that the failed attempt used, as far as known.
	Usage Usage
	// Tokens and Window are set for an [ErrContextLength]: the request's length and its limit, 0 if
	// the provider did not say.
	Tokens, Window int
	// Raw is the beginning of the HTTP response's body, at most 64 KiB.
	Raw []byte
	// Unsent reports that the request did not reach the provider, so nothing can have been billed.
	Unsent bool
	// Absent reports that nothing listens at an address of this machine, so that a person may have
	// to start the server.
	Absent bool
	// Final marks an error as not retryable although its kind is.
	Final bool
	// Undecoded marks an [ErrStream] for a response that came whole and made no sense. A second one
	// with the same message means that a third would be no better.
	Undecoded bool
	// Rejected is set if the provider refused a part of the conversation. Other requests with that
	// part would fail in the same way.
	Rejected *Rejection
	// Err is the cause, if there is one.
	Err error
}

// A Rejection names the part of a request that a provider refused, as far as its error says. An
// error about a parameter, the model or the meaning of a text has none.
type Rejection struct {
	// Message is an index of Request.Messages and Part one of the message's Parts. Each is -1 if
	// the error does not name it.
	Message int `json:"message"`
	Part    int `json:"part"`
	// Tool is the name of a definition that the provider refused.
	Tool string `json:"tool,omitempty"`
	// Media reports that the error is about an image or a document.
	Media bool `json:"media,omitempty"`
	// Thinking reports that the error is about reasoning which the provider had encrypted.
	Thinking bool `json:"thinking,omitempty"`
	// Quirk is the demand that the request did not meet. With it in Request.Quirks the same
	// conversation may be accepted.
	Quirk Quirk `json:"quirk,omitempty"`
}

// Errorf returns an error of a kind.
func Errorf(kind error, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// Error returns "provider: message (kind, status)".
func (e *Error) Error() string {
	var b strings.Builder
	if e.Provider != "" {
		b.WriteString(e.Provider + ": ")
	}
	switch {
	case e.Message != "":
		b.WriteString(e.Message)
	case e.Err != nil:
		b.WriteString(e.Err.Error())
	default:
		b.WriteString("the call failed")
	}
	var facts []string
	if e.Kind != nil {
		facts = append(facts, strings.ReplaceAll(e.Kind.Error(), "_", " "))
	}
	if e.Status != 0 {
		facts = append(facts, fmt.Sprintf("HTTP %d", e.Status))
	}
	if e.Code != "" && (e.Kind == nil || !strings.HasPrefix(e.Code, e.Kind.Error())) {
		facts = append(facts, e.Code)
	}
	if len(facts) > 0 {
		b.WriteString(" (" + strings.Join(facts, ", ") + ")")
	}
	return b.String()
}

// Unwrap returns the kind and the cause, for errors.Is.
func (e *Error) Unwrap() []error {
	errs := make([]error, 0, 2)
	if e.Kind != nil {
		errs = append(errs, e.Kind)
	}
	if e.Err != nil {
		errs = append(errs, e.Err)
	}
	return errs
}

// Retryable reports whether the same request may succeed later: after rate limits, server and
// network failures, timeouts and broken streams. It returns false for every other error, and for
// errors that are not an [*Error].
func Retryable(err error) bool {
	var e *Error
	if !errors.As(err, &e) || e.Final {
		return false
	}
	switch e.Kind {
	case ErrRateLimit, ErrServer, ErrOverloaded, ErrTimeout, ErrNetwork, ErrStream:
		return true
	}
	return false
}

// KindOf returns the name of an error's kind for events and logs, or "error" if it is not an
// [*Error].
func KindOf(err error) string {
	var e *Error
	if errors.As(err, &e) && e.Kind != nil {
		return e.Kind.Error()
	}
	return "error"
}

// KindNamed returns the kind with this name, or nil. It is the inverse of [KindOf], for errors that
// were stored.
func KindNamed(name string) error {
	for _, k := range []error{ErrAuthentication, ErrAccessDenied, ErrNotFound, ErrInvalidRequest, ErrRateLimit,
		ErrQuota, ErrServer, ErrOverloaded, ErrContentFilter, ErrContextLength, ErrTimeout, ErrAborted, ErrNetwork,
		ErrStream,
		ErrConfiguration, ErrNoObject, ErrUnsupported} {
		if k.Error() == name {
			return k
		}
	}
	return nil
}
