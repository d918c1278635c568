package llmtest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/llm"
)

// Provider is a model that follows a script: every call of Stream takes the next step. It is safe
// for concurrent use.
type Provider struct {
	name string

	mu       sync.Mutex
	steps    []Step
	requests []*llm.Request
}

// Step responds to one call of Stream. It must keep the stream contract of package llm.
type Step func(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error]

// NewProvider returns a provider with this name. After its last step, every call fails with an
// [llm.ErrConfiguration] that says so, because the test makes more calls than expected.
func NewProvider(name string, steps ...Step) *Provider {
	return &Provider{name: name, steps: steps}
}

// Name implements [llm.Provider].
func (p *Provider) Name() string { return p.name }

// Stream implements [llm.Provider]. It takes the step when the sequence is ranged over.
func (p *Provider) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	return func(yield func(llm.StreamEvent, error) bool) {
		step := p.next(req)
		for ev, err := range step(ctx, req) {
			if ev.Response != nil && ev.Response.Provider == "" {
				ev.Response = p.named(ev.Response, req)
			}
			if ev.Type == llm.EventStart && ev.Model == "" {
				ev.Model = req.Model
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// named returns the response with the names of provider and model, which steps do not know.
func (p *Provider) named(resp *llm.Response, req *llm.Request) *llm.Response {
	r := *resp
	r.Provider, r.Message.Provider = p.name, p.name
	r.Model = cmp.Or(r.Model, req.Model)
	r.Message.Model = r.Model
	return &r
}

func (p *Provider) next(req *llm.Request) Step {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, keep(req))
	if len(p.steps) == 0 {
		return Error(&llm.Error{Kind: llm.ErrConfiguration, Provider: p.name,
			Message: fmt.Sprintf("the script has no step for call %d", len(p.requests))})
	}
	step := p.steps[0]
	p.steps = p.steps[1:]
	return step
}

// keep returns a copy of a request whose slices the caller may reuse.
func keep(req *llm.Request) *llm.Request {
	r := *req
	r.Messages = slices.Clone(req.Messages)
	r.Tools = slices.Clone(req.Tools)
	return &r
}

// Then appends steps to the script.
func (p *Provider) Then(steps ...Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.steps = append(p.steps, steps...)
}

// Requests returns the requests so far, in order. They are shallow copies: messages and tools are
// as they were when sent.
func (p *Provider) Requests() []*llm.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// Left returns the number of steps that have not been taken.
func (p *Provider) Left() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.steps)
}

// Call returns a tool call for [Calls], which sets its id. Args is marshaled, unless it is nil,
// which means {}, or a string, which is the arguments' exact text and need not be JSON. Call panics
// if args cannot be marshaled.
func Call(name string, args any) llm.ToolCall {
	switch args := args.(type) {
	case nil:
		return llm.ToolCall{Name: name, Args: "{}"}
	case string:
		return llm.ToolCall{Name: name, Args: args}
	}
	b, err := json.Marshal(args)
	if err != nil {
		panic(fmt.Sprintf("llmtest: arguments of %s: %v", name, err))
	}
	return llm.ToolCall{Name: name, Args: string(b)}
}

// pieces splits a text into words, so that streams have deltas to interrupt.
func pieces(text string) []string { return strings.SplitAfter(text, " ") }
