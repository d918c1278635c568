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

// ConfigError is an [llm.ErrConfiguration] of a provider.
func ConfigError(provider, message string) error {
	return &llm.Error{Kind: llm.ErrConfiguration, Provider: provider, Message: message}
}

// BaseURL checks what a provider is made with: the key, which may be empty, has no white space, and the base is an http or https
// URL, which it returns.
func BaseURL(provider, key, base string) (*url.URL, error) {
	if strings.ContainsAny(key, " \t\r\n") {
		return nil, ConfigError(provider, "the API key has white space in it")
	}
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, ConfigError(provider, "the base URL is no http or https URL") // it may hold a password, so it is not quoted
	}
	return u, nil
}

// Header is what every call is sent with, and then what more has, in place of ours of that name.
func Header(more http.Header) http.Header {
	header := http.Header{
		"Content-Type": {"application/json"},
		"Accept":       {"text/event-stream, application/json"},
		"User-Agent":   {"attractor-go"},
	}
	SetHeader(header, more)
	return header
}

// SetHeader sets what more has, whatever the spelling of its names.
func SetHeader(header, more http.Header) {
	for key, values := range more {
		header[http.CanonicalHeaderKey(key)] = values
	}
}

// Stream is a call as a stream: prepare makes the call, and decoder what reads its answer. Nothing happens before the range. An
// error of prepare bears the call's provider afterwards, if it had none.
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

// named puts the provider's name on an error of the encoding.
func named(provider string, err error) error {
	var e *llm.Error
	if errors.As(err, &e) && e.Provider == "" {
		e.Provider = provider
	}
	return err
}
