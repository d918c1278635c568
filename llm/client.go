package llm

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
)

// Provider speaks one wire format. It is safe for concurrent use.
type Provider interface {
	// Name returns the name by which requests are routed.
	Name() string
	// Stream makes one attempt at a model call. Nothing is sent before the sequence is ranged over,
	// and it can be ranged over once. It keeps the stream contract in the package comment. When the
	// server sends one JSON body instead of a stream, Stream decodes that.
	Stream(ctx context.Context, req *Request) iter.Seq2[StreamEvent, error]
}

// Formatter may be implemented by a [Provider] to report whether a model supports Request.Format
// together with tools. Models of other providers are assumed not to support it.
type Formatter interface {
	FormatsWithTools(model string) bool
}

// EffortFixer may be implemented by a [Provider] whose API does not allow another effort between a
// response's tool calls and the next response. FixesEffort reports whether that holds for a model.
type EffortFixer interface {
	FixesEffort(facts *Model) bool
}

// CacheRenewer may be implemented by a [Provider] whose prompt cache keeps a prompt for a time
// after its last use. RenewsCache reports whether sending req again, with its MaxTokens unchanged,
// renews that time.
type CacheRenewer interface {
	RenewsCache(req *Request) bool
}

// Handler makes an attempt: a provider's Stream, or a [Middleware] around one.
type Handler func(ctx context.Context, req *Request) iter.Seq2[StreamEvent, error]

// Middleware wraps a handler. It must not change the request that it receives, only a copy.
type Middleware func(next Handler) Handler

// Client routes requests to providers. It keeps no state between requests and never retries. It is
// safe for concurrent use as long as its fields are not changed.
type Client struct {
	Providers []Provider
	// Default names the provider of requests without one. With a single provider it may be empty.
	Default string
	// Middleware wraps every request; the first is outermost.
	Middleware []Middleware
	// Models sets Request.Facts where the request has none. Nil leaves them unknown.
	Models Lookup
}

// Stream sends a request to the provider that it names. A request that cannot be routed yields one
// [ErrConfiguration].
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

// Complete calls Stream and collects the response.
func (c *Client) Complete(ctx context.Context, req *Request) (*Response, error) {
	return Collect(c.Stream(ctx, req))
}

// Provider returns a provider by name, or the default one for an empty name. It never guesses: for
// an unknown name, or an empty one with several providers and no default, it returns an
// [ErrConfiguration] that lists the client's providers.
func (c *Client) Provider(name string) (Provider, error) {
	if name = cmp.Or(name, c.Default); name == "" && len(c.Providers) == 1 {
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
		return nil, Errorf(ErrConfiguration,
			"the client has no providers: give it one, or set an API key in the environment")
	case name == "":
		return nil, Errorf(ErrConfiguration,
			"the request names no provider and the client has no default: set Provider to one of %s",
			strings.Join(names, ", "))
	}
	return nil, Errorf(ErrConfiguration, "unknown provider %q; the client has %s", name, strings.Join(names, ", "))
}
