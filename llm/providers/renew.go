package providers

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/attractor-go/attractor/llm"
)

// NewWithKey returns a provider whose key comes from a function, such as one that runs a command. It
// is asked for a key before the first request, and again when the server refuses the key that it
// returned: the request is then sent once more. Its errors end the request. It is called by one
// goroutine at a time. The key of the configuration does not count.
func (k Kind) NewWithKey(c Config, key func(ctx context.Context) (string, error)) (llm.Provider, error) {
	if c.BaseURL == "" {
		c.BaseURL = k.url(func(string) string { return "" })
	}
	c.APIKey = ""
	without, err := k.New(c) // what is wrong with the rest is said now
	if err != nil {
		return nil, err
	}
	return &renewing{Provider: without, kind: k, config: c, key: key}, nil
}

// renewing is a provider whose key is renewed when it is refused.
type renewing struct {
	llm.Provider // has no key
	kind         Kind
	config       Config
	key          func(ctx context.Context) (string, error)

	mu      sync.Mutex
	current llm.Provider // with the newest key; nil before the first one
}

// Stream implements [llm.Provider].
func (r *renewing) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	return func(yield func(llm.StreamEvent, error) bool) {
		var refused llm.Provider
		for again := true; again; {
			p, err := r.with(ctx, refused)
			if err != nil {
				yield(llm.StreamEvent{}, &llm.Error{Kind: llm.ErrAuthentication, Provider: r.Name(), Message: err.Error(), Err: err})
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

// with returns the provider with the newest key, which is another one than the refused.
func (r *renewing) with(ctx context.Context, refused llm.Provider) (llm.Provider, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current != nil && r.current != refused {
		return r.current, nil
	}
	key, err := r.key(ctx)
	if err != nil {
		return nil, err
	}
	c := r.config
	c.APIKey, c.token = key, true
	r.current, err = r.kind.New(c)
	return r.current, err
}

// FormatsWithTools implements [llm.Formatter].
func (r *renewing) FormatsWithTools(model string) bool {
	f, ok := r.Provider.(llm.Formatter)
	return ok && f.FormatsWithTools(model)
}

// FixesEffort implements [llm.EffortFixer].
func (r *renewing) FixesEffort(facts *llm.Model) bool {
	f, ok := r.Provider.(llm.EffortFixer)
	return ok && f.FixesEffort(facts)
}
