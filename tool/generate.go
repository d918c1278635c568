package tool

import (
	"context"
	"errors"
	"sync"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/generate"
)

// ForGenerate returns the registry's tools in the form that package generate takes. Each call goes through the pipeline of
// [Registry.Run] with c and hook. If c has no Session, the tools share a [Plain] one. Calls that are not ReadOnly run one at a time, in
// no particular order; with generate.Options.Sequential the model makes one call per response. Tools that need subagents or a person
// are left out.
func (r *Registry) ForGenerate(c Call, hook Authorize) []generate.Tool {
	if c.Session == nil {
		c.Session = new(Plain)
	}
	s := &standalone{registry: r, call: c, hook: hook}
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
	files    sync.RWMutex // held for reading by ReadOnly calls, for writing by all others
}

// executor returns the Execute of the tool with this name.
func (s *standalone) executor(name string) func(ctx context.Context, args string) (llm.Parts, error) {
	return func(ctx context.Context, args string) (llm.Parts, error) {
		p, asks := s.registry.Authorize(ctx, s.registry.Prepare(llm.ToolCall{Name: name, Args: args}), s.call, s.hook)
		if asks {
			p = p.Unapproved()
		}
		o := s.run(ctx, p)
		switch {
		case o.Panic != "":
			return o.Model, &generate.PanicError{Value: o.Model.Text(), Stack: []byte(o.Panic)}
		case o.IsError:
			return o.Model, errors.New(o.Model.Text())
		}
		return o.Model, nil
	}
}

// run runs a permitted call once no other call conflicts with it.
func (s *standalone) run(ctx context.Context, p *Prepared) *Outcome {
	if p.Access.Effect == ReadOnly {
		s.files.RLock()
		defer s.files.RUnlock()
	} else {
		s.files.Lock()
		defer s.files.Unlock()
	}
	return p.Run(ctx, s.call, nil, nil)
}
