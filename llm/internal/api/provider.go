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

// Stream returns the stream of a call: prepare makes the call, and decoder returns the decoder of its response. Nothing happens
// before the range. An error of prepare gets the call's provider, if it has none.
func Stream(ctx context.Context, provider string, prepare func() (*Call, error), decoder func(*Response) Decoder) iter.Seq2[llm.StreamEvent, error] {
	return func(yield func(llm.StreamEvent, error) bool) {
		call, err := prepare()
		if err != nil {
			yield(llm.StreamEvent{}, named(provider, err))
			return
		}
		resp, err := call.Do(ctx)
		if err != nil {
			yield(llm.StreamEvent{}, err)
			return
		}
		defer resp.Close()
		if err := resp.Decode(decoder(resp), yield); err != nil {
			yield(llm.StreamEvent{}, err)
		}
	}
}

// named sets the provider of an encoding error.
func named(provider string, err error) error {
	var e *llm.Error
	if errors.As(err, &e) && e.Provider == "" {
		e.Provider = provider
	}
	return err
}
