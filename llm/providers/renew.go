package providers

import (
	"context"
	"errors"
	"iter"
	"net"
	"time"

	"github.com/attractor-go/attractor/llm"
)

// Credentials obtains the access to a provider that has no key in its configuration: a key, or a
// client that authorizes each request. c holds what is known without it: the client, and the base
// URL if the environment or a person names one. The returned Access must not use ctx.
type Credentials func(ctx context.Context, k Kind, c Config) (Access, error)

// Access holds what requests are sent with. It must have a base URL unless the kind has one without
// variables.
type Access struct {
	Config
	// Expires is the time from which requests need another Access. Zero means that this one is used
	// until the server refuses it.
	Expires time.Time
	// Secrets lists its secret values besides the key.
	Secrets []string
}

// NewWithKey returns a provider whose key comes from a function, such as one that runs a command.
// The function is called before the first request, and again when the server refuses the key that
// it returned: the request is then sent once more. Its errors end the request. It is called by one
// goroutine at a time. The key of the configuration is ignored.
func (k Kind) NewWithKey(c Config, key func(ctx context.Context) (string, error)) (llm.Provider, error) {
	c.APIKey = ""
	if c.BaseURL == "" && k.addressURL == nil {
		if c.BaseURL = k.URL(unset); c.BaseURL == "" {
			return k.New(c) // which says what is missing
		}
	}
	return k.NewWithCredentials(c, func(ctx context.Context, _ Kind, c Config) (a Access, err error) {
		a.Config = c
		a.APIKey, err = key(ctx)
		return a, err
	})
}

// NewWithCredentials returns a provider whose access comes from a function. The function is called
// before the first request, when the access expires, and when the server refuses it: the request is
// then sent once more. Its errors end the request. It is called by one goroutine at a time. The key
// of the configuration is ignored.
func (k Kind) NewWithCredentials(c Config, credentials Credentials) (llm.Provider, error) {
	c.APIKey = ""
	without := c
	if c.BaseURL == "" {
		without.BaseURL = k.URL(func(string) string { return "unknown" })
	}
	p, err := k.New(without) // what is wrong with the rest is said now
	if err != nil {
		return nil, err
	}
	return &renewing{Provider: p, kind: k, config: c, credentials: credentials, lock: make(chan struct{}, 1)}, nil
}

// renewing is a provider whose access is renewed when it expires or is refused.
type renewing struct {
	llm.Provider // has no access
	kind         Kind
	config       Config
	credentials  Credentials

	lock    chan struct{} // full while a request uses the fields below
	current llm.Provider  // with the newest access; nil before the first one
	expires time.Time     // of current
}

// Stream implements [llm.Provider].
func (r *renewing) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	return func(yield func(llm.StreamEvent, error) bool) {
		var refused llm.Provider
		for again := true; again; {
			p, err := r.with(ctx, refused)
			if err != nil {
				yield(llm.StreamEvent{}, r.failure(ctx, err))
				return
			}
			again = false
			for ev, err := range p.Stream(ctx, req) {
				if errors.Is(err, llm.ErrAuthentication) && refused == nil {
					again, refused = true, p
					break
				}
				if !yield(ev, err) {
					return
				}
			}
		}
	}
}

// failure returns the error of a request for which there is no access.
func (r *renewing) failure(ctx context.Context, err error) error {
	e := &llm.Error{Kind: llm.ErrAuthentication, Provider: r.Name(), Message: err.Error(), Err: err, Unsent: true}
	var network net.Error
	switch {
	case ctx.Err() != nil:
		e.Kind = llm.ErrAborted
	case errors.As(err, &network), errors.Is(err, context.DeadlineExceeded):
		e.Kind = llm.ErrNetwork // it may pass
	}
	return e
}

// with returns the provider with the newest access, which is not the refused one.
func (r *renewing) with(ctx context.Context, refused llm.Provider) (llm.Provider, error) {
	select { // another request may be waiting for a command or a server that knows the key
	case r.lock <- struct{}{}:
		defer func() { <-r.lock }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if r.current != nil && r.current != refused && (r.expires.IsZero() || time.Now().Before(r.expires)) {
		return r.current, nil
	}
	access, err := r.credentials(ctx, r.kind, r.config)
	if err != nil {
		return nil, err
	}
	access.token = true
	if r.current, err = r.kind.New(access.Config); err != nil {
		return nil, err
	}
	r.expires = access.Expires
	return r.current, nil
}

// FormatsWithTools implements [llm.Formatter].
func (r *renewing) FormatsWithTools(model string) bool {
	return able(r.Provider, func(f llm.Formatter) bool { return f.FormatsWithTools(model) })
}

// FixesEffort implements [llm.EffortFixer].
func (r *renewing) FixesEffort(facts *llm.Model) bool {
	return able(r.Provider, func(f llm.EffortFixer) bool { return f.FixesEffort(facts) })
}

// RenewsCache implements [llm.CacheRenewer].
func (r *renewing) RenewsCache(req *llm.Request) bool {
	return able(r.Provider, func(c llm.CacheRenewer) bool { return c.RenewsCache(req) })
}
