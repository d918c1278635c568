package llm

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// The kinds of failure, for errors.Is.
var (
	ErrAuthentication = errors.New("authentication")  // the key is missing, wrong or revoked (401)
	ErrAccessDenied   = errors.New("access_denied")   // the key may not do this (403)
	ErrNotFound       = errors.New("not_found")       // no such model or endpoint (404)
	ErrInvalidRequest = errors.New("invalid_request") // the request is wrong (400, 422)
	ErrRateLimit      = errors.New("rate_limit")      // too many requests or tokens (429)
	ErrQuota          = errors.New("quota")           // the account's money or quota is used up
	ErrServer         = errors.New("server")          // the provider failed (5xx)
	ErrOverloaded     = errors.New("overloaded")      // the provider has no capacity (529, 503)
	ErrContentFilter  = errors.New("content_filter")  // refused for its content
	ErrContextLength  = errors.New("context_length")  // the conversation does not fit the model's window
	ErrTimeout        = errors.New("timeout")         // a timer of ours, or the provider's (408, 504)
	ErrAborted        = errors.New("aborted")         // the caller's context ended
	ErrNetwork        = errors.New("network")         // no connection, or it broke before the answer began
	ErrStream         = errors.New("stream")          // the answer broke off or made no sense
	ErrConfiguration  = errors.New("configuration")   // no key, no provider, a bad option
	ErrNoObject       = errors.New("no_object")       // the model gave no valid object of the schema
	ErrUnsupported    = errors.New("unsupported")     // the API or the model cannot do what the request asks
)

// Error is every failure of a model call.
type Error struct {
	// Kind is one of the sentinels above.
	Kind     error
	Provider string
	// Code is the provider's own word for it, Message its text, or ours. Neither ever holds a key.
	Code, Message string
	Status        int // HTTP, 0 when there was no response
	// RetryAfter is how long the provider asks to wait, 0 when it did not say.
	RetryAfter time.Duration
	RequestID  string
	// Usage is what the call took until it failed, as far as that is known.
	Usage Usage
	// Tokens and Window are, of an [ErrContextLength], how long the request is and how long it may be; 0 where the provider did not say.
	Tokens, Window int
	// Raw is the start of the response's body, at most 64 KiB.
	Raw []byte
	// Unsent says that the request did not reach the provider: nothing can have been billed.
	Unsent bool
	// Final marks an error as not retryable although its kind is.
	Final bool
	// Err is the cause, where there is one.
	Err error
}

// Errorf makes an error of a kind.
func Errorf(kind error, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// Error is "provider: message (kind, status)".
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

// Unwrap lets errors.Is find the kind and the cause.
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

// Retryable reports whether the same request may succeed later: rate limits, server and network failures, timeouts and broken
// streams. Everything else, and everything that is no [*Error], is not.
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

// KindOf names the kind of an error for events and logs; "error" when it is no [*Error].
func KindOf(err error) string {
	var e *Error
	if errors.As(err, &e) && e.Kind != nil {
		return e.Kind.Error()
	}
	return "error"
}

// Kind returns the sentinel of that name, or nil. It undoes [KindOf] for errors that were written down.
func Kind(name string) error {
	for _, k := range []error{ErrAuthentication, ErrAccessDenied, ErrNotFound, ErrInvalidRequest, ErrRateLimit, ErrQuota, ErrServer,
		ErrOverloaded, ErrContentFilter, ErrContextLength, ErrTimeout, ErrAborted, ErrNetwork, ErrStream, ErrConfiguration,
		ErrNoObject, ErrUnsupported} {
		if k.Error() == name {
			return k
		}
	}
	return nil
}
