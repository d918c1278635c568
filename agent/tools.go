package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// Definitions returns what the model is told of the session's tools.
func (s *Session) Definitions() []llm.ToolDefinition {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.state.tools)
}

// Tools returns the tools that the session runs for the model, in the order of [Session.Definitions]. It leaves out the one by which a
// structured result comes, and those that the model knows of and a resumed session lacks.
func (s *Session) Tools() []tool.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	tools := make([]tool.Tool, 0, len(s.state.tools))
	for _, def := range s.state.tools {
		if t, ok := s.registry.Get(def.Name); ok && def.Name != s.state.Policy.resultTool() {
			tools = append(tools, t)
		}
	}
	return tools
}

// AddTools offers tools to the model from its next call on; those whose needs the session does not meet are left out. A tool of a name
// that is there already takes its place, in the list as well. All of them join at once or, after an error, none does.
//
// Where a definition is new or another one, the model's next call begins a new epoch, since definitions stand before the history in
// every request: add together what comes together. A definition that the model knows changes nothing for it. So the tools that a resumed
// session lacks can come back later at no cost. A call that is running ends with the tool that it began with. Guidance has no effect
// any more: the system prompt is what it is.
//
// Subagents have the tools that the session has when they start. Nil means that the change is in the journal; the end of ctx ends
// the wait for that.
func (s *Session) AddTools(ctx context.Context, tools ...tool.Tool) error {
	tools = slices.Clone(tools) // a registry keeps them where they are
	return s.changeTools(ctx, func(rec *settingRecord) error {
		if err := rec.registry.Use(tools, s.satisfies); err != nil {
			return err
		}
		for i := range tools {
			def := tools[i].ToolDefinition
			at := slices.IndexFunc(rec.Tools, func(d llm.ToolDefinition) bool { return d.Name == def.Name })
			switch {
			case def.Name == s.state.Policy.resultTool():
				return fmt.Errorf("the tool %q is the one by which the session gets its result: give yours another name", def.Name)
			case !s.satisfies(&tools[i]):
			case at >= 0:
				rec.Tools[at] = def
			default:
				rec.Tools = append(rec.Tools, def)
			}
		}
		return nil
	})
}

// RemoveTools takes tools from the model, from its next call on, which begins a new epoch. Calls of them that have not begun get error
// results that say so; calls that are running go on. A name that is not there is no error. Nil means that the change is in the journal;
// the end of ctx ends the wait for that.
func (s *Session) RemoveTools(ctx context.Context, names ...string) error {
	return s.changeTools(ctx, func(rec *settingRecord) error {
		for _, name := range names {
			choice := s.state.Header.Params.ToolChoice
			switch {
			case !s.state.offersTool(name):
				continue
			case name == s.state.Policy.resultTool():
				return fmt.Errorf("the tool %q cannot be removed: the session gets its result by it", name)
			case choice.Mode == llm.ToolNamed && choice.Name == name:
				return fmt.Errorf("the tool %q cannot be removed: Options.Request.ToolChoice names it", name)
			}
			rec.registry.Retire(name, "was removed from this session; use another way")
			rec.Tools = slices.DeleteFunc(rec.Tools, func(d llm.ToolDefinition) bool { return d.Name == name })
		}
		return nil
	})
}

// changeTools lets change edit a setting that has the tools of now, and commits it. Where the model is told nothing new, only the
// registry is exchanged.
func (s *Session) changeTools(ctx context.Context, change func(rec *settingRecord) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	err := s.update(ctx, func() ([]record, error) {
		if err := s.open(); err != nil {
			return nil, err
		}
		rec := settingRecord{Tools: append([]llm.ToolDefinition{}, s.state.tools...), registry: s.registry.Clone()}
		if err := change(&rec); err != nil {
			return nil, fmt.Errorf("agent: %w", err)
		}
		same, err := sameTools(rec.Tools, s.state.tools)
		switch {
		case err != nil:
			return nil, err
		case same:
			s.mu.Lock()
			defer s.mu.Unlock()
			s.registry = rec.registry
			return nil, nil
		}
		if rec.Tools, err = writtenTools(rec.Tools); err != nil {
			return nil, err
		}
		err = s.derive(&rec)
		return []record{rec}, err
	})
	if err != nil {
		return err
	}
	return s.sync(ctx)
}

// sameTools reports whether the model could not tell two lists of tools from each other.
func sameTools(a, b []llm.ToolDefinition) (bool, error) {
	x, err := marshal(a)
	if err != nil {
		return false, fmt.Errorf("agent: the tools' definitions: %w", err)
	}
	y, err := marshal(b)
	return err == nil && bytes.Equal(x, y), err
}

// writtenTools returns definitions as a journal gives them back: what is sent before a resume is what is sent after it.
func writtenTools(tools []llm.ToolDefinition) ([]llm.ToolDefinition, error) {
	data, err := marshal(tools)
	if err != nil {
		return nil, fmt.Errorf("agent: the tools' definitions: %w", err)
	}
	var same []llm.ToolDefinition
	if err := json.Unmarshal(data, &same); err != nil {
		return nil, fmt.Errorf("agent: the tools' definitions: %w", err)
	}
	shareTools(same, tools)
	return slices.Clip(append([]llm.ToolDefinition{}, same...)), nil
}

// runOnly makes a registry that of a resumed session: what the model does not know of is not run for it, but for the tool of a new
// structured result, and a call of what it knows of and the session lacks says so.
func (s *State) runOnly(registry *tool.Registry, resultTool string) {
	for _, name := range registry.Names() {
		if !s.offersTool(name) && name != resultTool {
			registry.Unregister(name)
		}
	}
	for _, def := range s.tools {
		if _, ok := registry.Get(def.Name); !ok {
			registry.Retire(def.Name, "is not there now, because what provides it is not connected; use another way, or try again later")
		}
	}
}

// registryOf returns a registry of the tools whose needs the session satisfies, with the tool that takes the structured result if the
// policy asks for one.
func (s *Session) registryOf(p *Policy, lists ...[]tool.Tool) (*tool.Registry, error) {
	if p.resultTool() != "" {
		lists = append(lists, []tool.Tool{resultToolOf(p.Result.Schema)})
	}
	registry := new(tool.Registry)
	for _, tools := range lists {
		if err := registry.Use(tools, s.satisfies); err != nil {
			return nil, fmt.Errorf("agent: %w", err)
		}
	}
	return registry, nil
}

// satisfies reports whether the session has what t needs.
func (s *Session) satisfies(t *tool.Tool) bool { return meets(t, s.agents != nil, s.questions != nil) }

// meets reports whether a session with or without subagents and answers to questions has what a tool needs.
func meets(t *tool.Tool, agents, answers bool) bool {
	return (t.Needs != tool.NeedsAgents || agents) && (t.Needs != tool.NeedsAnswers || answers)
}

// offersTool reports whether the model has the definition of a tool.
func (s *State) offersTool(name string) bool {
	return slices.ContainsFunc(s.tools, func(d llm.ToolDefinition) bool { return d.Name == name })
}
