package api

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"github.com/attractor-go/attractor/llm"
)

// ConfigError returns an [llm.ErrConfiguration] of a provider.
func ConfigError(provider, message string) error {
	return &llm.Error{Kind: llm.ErrConfiguration, Provider: provider, Message: message}
}

// BaseURL checks a provider's configuration and returns the parsed base URL: the key, which may be empty, must not contain white
// space, and the base must be an http or https URL.
func BaseURL(provider, key, base string) (*url.URL, error) {
	if strings.ContainsAny(key, " \t\r\n") {
		return nil, ConfigError(provider, "the API key contains white space: remove it")
	}
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, ConfigError(provider, "the base URL must begin with http:// or https://, followed by a host") // not quoted, because it may contain a password
	}
	return u, nil
}

// Header returns the headers of every request.
func Header() http.Header {
	return http.Header{
		"Content-Type": {"application/json"},
		"Accept":       {"text/event-stream, application/json"},
		"User-Agent":   {"attractor-go"},
	}
}

// SetHeader sets the headers in more, whatever the spelling of their names.
func SetHeader(header, more http.Header) {
	for key, values := range more {
		header[http.CanonicalHeaderKey(key)] = values
	}
}

// An Exchange is a request and the way to its response.
type Exchange struct {
	Provider string
	Request  *llm.Request
	// Encode encodes the request, or another one alike, which finds what of it an error is about.
	Encode Encode
	// Prepare makes the call, Decoder the decoder of its response.
	Prepare func() (*Call, error)
	Decoder func(*Response) Decoder
}

// Stream returns the response's stream. Nothing happens before the range.
func (x *Exchange) Stream(ctx context.Context) iter.Seq2[llm.StreamEvent, error] {
	return func(yield func(llm.StreamEvent, error) bool) {
		if err := x.run(ctx, yield); err != nil {
			yield(llm.StreamEvent{}, x.explained(err))
		}
	}
}

// run returns the error that is still to be yielded.
func (x *Exchange) run(ctx context.Context, yield func(llm.StreamEvent, error) bool) error {
	call, err := x.Prepare()
	if err != nil {
		return err
	}
	resp, err := call.Do(ctx)
	if err != nil {
		return err
	}
	defer resp.Close()
	return resp.Decode(x.Decoder(resp), yield)
}

// explained completes an error: an encoding error gets its provider, a rejection what it is about.
func (x *Exchange) explained(err error) error {
	var e *llm.Error
	if !errors.As(err, &e) {
		return err
	}
	if e.Provider == "" {
		e.Provider = x.Provider
	}
	e.Rejected = x.rejection(e)
	return err
}
