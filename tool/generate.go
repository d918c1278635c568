package tool

import (
	"context"
	"errors"
	"math"

	"golang.org/x/sync/semaphore"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/generate"
)

// ForGenerate returns the registry's tools in the form that package generate takes. Each call goes
// through the pipeline of [Registry.Run] with c and hook. If c has no Session, the tools share a
// [Plain] one. Calls that are not ReadOnly run one at a time, in no particular order; with
// generate.Options.Sequential the model makes one call per response. Tools that need subagents or a
// person are left out.
func (r *Registry) ForGenerate(c Call, hook Authorize) []generate.Tool {
	if c.Session == nil {
		c.Session = new(Plain)
	}
	s := &standalone{registry: r, call: c, hook: hook, calls: semaphore.NewWeighted(wholeLock)}
	r.mu.RLock()
	defer r.mu.RUnlock()
	tools := make([]generate.Tool, 0, len(r.tools))
	for _, t := range r.tools {
		if t.Needs == NeedsNothing {
			tools = append(tools, generate.Tool{ToolDefinition: t.ToolDefinition, Execute: s.executor(t.Name)})
		}
	}
	return tools
}

// standalone holds what calls share when they run outside of an agent's session.
type standalone struct {
	registry *Registry
	call     Call
	hook     Authorize
	calls    *semaphore.Weighted // held by one call that has effects, or by ReadOnly calls
}

// wholeLock is the weight of a call that has effects. One that is ReadOnly has the weight 1.
const wholeLock = math.MaxInt64

// executor returns the Execute of the tool with this name.
func (s *standalone) executor(name string) func(ctx context.Context, args string) (llm.Parts, error) {
	return func(ctx context.Context, args string) (llm.Parts, error) {
		p, asks := s.registry.Authorize(ctx, s.registry.Prepare(llm.ToolCall{Name: name, Args: args}), s.call, s.hook)
		if asks {
			p = p.Unapproved()
		}
		o, err := s.run(ctx, p)
		switch {
		case err != nil:
			return nil, err
		case o.Panic != "":
			return o.Model, &generate.PanicError{Value: o.Model.Text(), Stack: []byte(o.Panic)}
		case o.IsError:
			return o.Model, errors.New(o.Model.Text())
		}
		return o.Model, nil
	}
}

// run runs a permitted call once no other call conflicts with it. It returns an error if ctx ends
// before the call begins.
func (s *standalone) run(ctx context.Context, p *Prepared) (*Outcome, error) {
	weight := int64(wholeLock)
	if p.Access.Effect == ReadOnly {
		weight = 1
	}
	if s.calls.Acquire(ctx, weight) != nil {
		return nil, context.Cause(ctx)
	}
	defer s.calls.Release(weight)
	return p.Run(ctx, s.call, nil, nil), nil
}
