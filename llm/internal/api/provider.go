package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"

	"github.com/attractor-go/attractor/llm"
)

// Config is what the options of all providers have in common. Key may be empty.
type Config struct {
	Name, Key, BaseURL string
	Client             *http.Client
	Timeouts           Timeouts
	// Own holds the headers of the API. Those without a value are not sent.
	Own map[string]string
	// Header is sent with every request, in place of headers of the same names.
	Header http.Header
}

// Bearer returns the value of the header Authorization for a key.
func Bearer(key string) string {
	if key == "" {
		return ""
	}
	return "Bearer " + key
}

// wrongInKey names what no key contains: what comes along from files of variables, whose quotes
// some programs keep, and from the clipboard.
func wrongInKey(key string) string {
	for _, r := range key {
		switch {
		case r == ' ', r == '\t', r == '\r', r == '\n':
			return "white space"
		case r == '"', r == '\'':
			return "a quote"
		case r < ' ', r > '~':
			return fmt.Sprintf("the character %U", r)
		}
	}
	return ""
}

// Call returns what all calls of a provider have in common, and the parsed base URL. The key must
// not contain white space or quotes, and the base must be an http or https URL.
func (c Config) Call() (Call, *url.URL, error) {
	if wrong := wrongInKey(c.Key); wrong != "" {
		return Call{}, nil, ConfigError(c.Name, "the API key contains "+wrong+": remove it")
	}
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		// The URL is not quoted, because it may contain a password.
		return Call{}, nil, ConfigError(c.Name, "the base URL must begin with http:// or https://, followed by a host")
	}
	call := Call{Provider: c.Name, Client: c.Client, Timeouts: c.Timeouts, Header: http.Header{
		"Content-Type": {"application/json"},
		"Accept":       {"text/event-stream, application/json"},
		"User-Agent":   {"attractor-go"},
	}}
	if c.Key != "" {
		call.Secrets = []string{c.Key}
	}
	for key, value := range c.Own {
		if value != "" {
			call.Header.Set(key, value)
		}
	}
	for key, values := range c.Header {
		call.Header[http.CanonicalHeaderKey(key)] = values
	}
	return call, u, nil
}

// ConfigError returns an [llm.ErrConfiguration] of a provider.
func ConfigError(provider, message string) error {
	return &llm.Error{Kind: llm.ErrConfiguration, Provider: provider, Message: message}
}

// An Exchange is a request and the way to its response.
type Exchange struct {
	// Call is the call without its body.
	Call    Call
	Request *llm.Request
	// Encode encodes the request, or another one alike, which finds what of it an error is about.
	Encode Encode
	// Decoder returns the decoder of the response.
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
	call := x.Call
	var err error
	if call.Body, err = x.Encode(x.Request); err != nil {
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
	e.Provider = cmp.Or(e.Provider, x.Call.Provider)
	e.Rejected = x.rejection(e)
	return err
}
