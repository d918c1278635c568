package llm

import (
	"context"
	"iter"
	"slices"
	"strings"
)

// Provider speaks one wire format. It is safe for concurrent use.
type Provider interface {
	// Name is what requests are routed by.
	Name() string
	// Stream calls the model. Nothing is sent before the sequence is ranged over, and it can be ranged over once. It keeps the
	// contract in the package comment. A whole JSON body in answer to a streaming request is decoded as one.
	Stream(ctx context.Context, req *Request) iter.Seq2[StreamEvent, error]
}

// Formatter is a [Provider] that can tell whether a model takes Request.Format and tools together. One that is none takes it that
// the model does not.
type Formatter interface {
	FormatsWithTools(model string) bool
}

// EffortFixer is a [Provider] whose API does not let the effort change between the calls of an answer and the next answer.
type EffortFixer interface {
	FixesEffort(facts *Model) bool
}

// Handler answers a request: a provider's Stream, or a [Middleware] around one.
type Handler func(ctx context.Context, req *Request) iter.Seq2[StreamEvent, error]

// Middleware wraps a handler. It must not change the request it was given, only a copy.
type Middleware func(next Handler) Handler

// Client routes requests to providers. It keeps no state between requests, never retries, and is safe for concurrent use as
// long as its fields are left alone.
type Client struct {
	Providers []Provider
	// Default names the provider of requests that name none. With a single provider it may stay empty.
	Default string
	// Middleware wraps every call; the first is outermost.
	Middleware []Middleware
	// Models fills Request.Facts where the request has none. Nil leaves them unknown.
	Models Lookup
}

// Stream calls the model that the request names. A request that cannot be routed yields one [ErrConfiguration].
func (c *Client) Stream(ctx context.Context, req *Request) iter.Seq2[StreamEvent, error] {
	if err := req.Validate(); err != nil {
		return Fail(err)
	}
	p, err := c.Provider(req.Provider)
	if err != nil {
		return Fail(err)
	}
	if req.Provider == "" || req.Facts == nil && c.Models != nil {
		routed := *req
		routed.Provider = p.Name()
		if routed.Facts == nil && c.Models != nil {
			if m, ok := c.Models(p.Name(), req.Model); ok {
				routed.Facts = &m
			}
		}
		req = &routed
	}
	handler := Handler(p.Stream)
	for _, m := range slices.Backward(c.Middleware) {
		handler = m(handler)
	}
	return handler(ctx, req)
}

// Complete is Collect of Stream.
func (c *Client) Complete(ctx context.Context, req *Request) (*Response, error) {
	return Collect(c.Stream(ctx, req))
}

// Provider finds a provider by name, or the default one for an empty name. It never guesses: with several providers and no
// default, or an unknown name, the error is an [ErrConfiguration] that says what there is.
func (c *Client) Provider(name string) (Provider, error) {
	if name == "" {
		name = c.Default
	}
	if name == "" && len(c.Providers) == 1 {
		return c.Providers[0], nil
	}
	names := make([]string, 0, len(c.Providers))
	for _, p := range c.Providers {
		if p.Name() == name {
			return p, nil
		}
		names = append(names, p.Name())
	}
	switch {
	case len(names) == 0:
		return nil, Errorf(ErrConfiguration, "the client has no providers: give it one, or set an API key in the environment")
	case name == "":
		return nil, Errorf(ErrConfiguration, "the request names no provider and the client has no default; it has %s",
			strings.Join(names, ", "))
	}
	return nil, Errorf(ErrConfiguration, "no provider %q; the client has %s", name, strings.Join(names, ", "))
}
