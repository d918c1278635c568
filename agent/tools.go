package agent

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// Definitions returns the definitions of the session's tools, as the model has them.
func (s *Session) Definitions() []llm.ToolDefinition {
	return look(s, func(st *State) []llm.ToolDefinition { return slices.Clone(st.tools) })
}

// Tools returns the tools that the session runs for the model, in the order of
// [Session.Definitions]. It leaves out the tool that takes a structured result, and tools that the
// model knows but a resumed session lacks.
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

// AddTools offers tools to the model from its next call on. A tool with the name of another takes
// its place, also in the list. Tools whose needs the session does not satisfy are left out. If
// AddTools returns an error, none was added.
//
// A new or changed definition begins a new epoch with the next model call, because definitions
// stand before the history in every request. So tools that arrive together should be added
// together. A definition that the model already has costs nothing: tools that a resumed session
// lacks can come back later. A running call goes on with the tool that it began with. Tool.Guidance
// has no effect, because the system prompt does not change.
//
// Subagents get the tools that the session has when they start. When AddTools returns nil, the
// change is in the journal; the end of ctx ends the wait for that.
func (s *Session) AddTools(ctx context.Context, tools ...tool.Tool) error {
	return s.ReplaceTools(ctx, nil, tools...)
}

// RemoveTools removes tools from the next model call on, which begins a new epoch. Calls of them
// that have not begun get error results that say so; running calls go on. Unknown names are
// ignored. When RemoveTools returns nil, the change is in the journal; the end of ctx ends the wait
// for that.
func (s *Session) RemoveTools(ctx context.Context, names ...string) error {
	return s.ReplaceTools(ctx, names)
}

// ReplaceTools removes the tools with some names and adds others, as RemoveTools and AddTools do,
// in one change with one record. If it returns an error, nothing was changed.
func (s *Session) ReplaceTools(ctx context.Context, names []string, tools ...tool.Tool) error {
	tools, err := s.describing(slices.Clone(tools)) // the registry points into the slice
	if err != nil {
		return err
	}
	return s.changeTools(ctx, func(rec *settingRecord) error {
		if err := s.dropTools(rec, names); err != nil {
			return err
		}
		return s.putTools(rec, tools)
	})
}

// putTools adds tools to a setting.
func (s *Session) putTools(rec *settingRecord, tools []tool.Tool) error {
	if err := rec.registry.Use(tools, s.satisfies); err != nil {
		return err
	}
	for i := range tools {
		def := tools[i].ToolDefinition
		at := slices.IndexFunc(rec.Tools, func(d llm.ToolDefinition) bool { return d.Name == def.Name })
		switch {
		case def.Name == s.state.Policy.resultTool():
			return fmt.Errorf("the tool %q is the one by which the session gets its result: give yours another name",
				def.Name)
		case !s.satisfies(&tools[i]):
		case at >= 0:
			rec.Tools[at] = def
		default:
			rec.Tools = append(rec.Tools, def)
		}
	}
	return nil
}

// dropTools removes tools from a setting.
func (s *Session) dropTools(rec *settingRecord, names []string) error {
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
}

// changeTools commits a setting with the session's tools as change edits them. If the definitions
// stay the same, only the registry changes.
func (s *Session) changeTools(ctx context.Context, change func(rec *settingRecord) error) error {
	return s.updateDurably(ctx, func() ([]record, error) {
		rec := settingRecord{Tools: append([]llm.ToolDefinition{}, s.state.tools...), registry: s.registry.Clone()}
		if err := change(&rec); err != nil {
			return nil, fmt.Errorf("agent: %w", err)
		}
		if sameJSON(rec.Tools, s.state.tools) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.registry = rec.registry
			return nil, nil
		}
		tools, err := writtenTools(rec.Tools)
		if rec.Tools = tools; err == nil {
			err = s.deriveSetting(&rec)
		}
		return []record{rec}, err
	})
}

// sameJSON reports whether two values are written in the same way.
func sameJSON(a, b any) bool {
	x, err := marshal(a)
	y, wrong := marshal(b)
	return err == nil && wrong == nil && bytes.Equal(x, y)
}

// writtenTools returns definitions as they read after they were written, so that requests before
// and after a resume are equal.
func writtenTools(tools []llm.ToolDefinition) ([]llm.ToolDefinition, error) {
	same, err := written(tools, "the tools' definitions")
	shareTools(same, tools)
	return slices.Clip(append([]llm.ToolDefinition{}, same...)), err
}

// runOnly restricts the registry of a resumed session. Tools whose definitions the model does not
// have are removed, except for that of a new structured result. Calls of tools that the model knows
// and the session lacks get a result that says so.
func (s *State) runOnly(registry *tool.Registry, resultTool string) {
	for _, name := range registry.Names() {
		if !s.offersTool(name) && name != resultTool {
			registry.Unregister(name)
		}
	}
	for _, def := range s.tools {
		if _, ok := registry.Get(def.Name); !ok {
			registry.Retire(def.Name,
				"is not there now, because what provides it is not connected; use another way, or try again later")
		}
	}
}

// registryOf returns a registry of the tools whose needs the session satisfies, with the tool that
// takes the structured result if the policy asks for one.
func (s *Session) registryOf(p *Policy, lists ...[]tool.Tool) (*tool.Registry, error) {
	if p.resultTool() != "" {
		lists = append(lists, []tool.Tool{resultToolOf(p.Result.Schema)})
	}
	registry := new(tool.Registry)
	for _, tools := range lists {
		tools, err := s.describing(tools)
		if err != nil {
			return nil, err
		}
		if err := registry.Use(tools, s.satisfies); err != nil {
			return nil, fmt.Errorf("agent: %w", err)
		}
	}
	return registry, nil
}

// satisfies reports whether the session has what t needs.
func (s *Session) satisfies(t *tool.Tool) bool { return meets(t, s.agents != nil, s.questions != nil) }

// meets reports whether a session that has subagents, or answers to questions, satisfies what a
// tool needs.
func meets(t *tool.Tool, agents, answers bool) bool {
	return (t.Needs != tool.NeedsAgents || agents) && (t.Needs != tool.NeedsAnswers || answers)
}

// offersTool reports whether the model has the definition of a tool.
func (s *State) offersTool(name string) bool {
	return slices.ContainsFunc(s.tools, func(d llm.ToolDefinition) bool { return d.Name == name })
}

// toolSession is the [tool.Session] of a call.
type toolSession struct {
	*Session
	call *call
}

func (t *toolSession) Outputs() tool.Outputs { return t.outputs }

func (t *toolSession) History() tool.History { return t.archive }

func (t *toolSession) Processes() tool.Processes { return t.processes }

func (t *toolSession) Agents() tool.Agents {
	switch {
	case t.agents == nil:
		return nil
	case t.call == nil:
		return t.agents
	}
	return &spawner{t.agents, t.call.spawns, t.call.Call.ID}
}

// Files implements [tool.Session].
func (t *toolSession) Files() tool.Files { return t }

// Seen implements [tool.Files].
func (t *toolSession) Seen(path string) (h env.Hash, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h, ok = t.state.Seen[path]
	return h, ok
}

// Notes implements [tool.Session].
func (t *toolSession) Notes() map[string]tool.Note {
	return look(t.Session, func(st *State) map[string]tool.Note { return st.Notes })
}

func (t *toolSession) State(key any, init func() any) any { return t.memory.State(key, init) }
