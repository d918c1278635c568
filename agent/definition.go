package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
)

// AgentDefinition describes a kind of subagent, which the model or a tool chooses by its name.
type AgentDefinition struct {
	Name        string
	Description string // tells the model when to choose it
	// Instructions are added to the end of its system prompt.
	Instructions string
	// Tools names the session's tools that it gets; nil means all.
	Tools []string
	// Profile replaces the session's profile and tools; nil leaves both.
	Profile *profile.Profile
	// ExtraTools holds further tools, which the session need not have.
	ExtraTools []tool.Tool
	// Provider, Model and Effort override the Profile's, or the session's. Another Provider needs
	// another Model too.
	Provider, Model, Effort string
	// MaxTurns limits its turns; 0 means the session's limit.
	MaxTurns int
	// Isolation is that of its tasks which have none; see [tool.AgentTask].
	Isolation string
}

// check returns an error for definitions that cannot be chosen.
func (s *Subagents) check() error {
	names := map[string]bool{}
	for i, def := range s.Definitions {
		switch {
		case strings.TrimSpace(def.Name) == "":
			return fmt.Errorf("agent: Options.Subagents.Definitions[%d] has no name", i)
		case names[def.Name]:
			return fmt.Errorf("agent: two of Options.Subagents.Definitions have the name %q", def.Name)
		case def.MaxTurns < 0:
			return fmt.Errorf("agent: MaxTurns of the agent %q cannot be negative; 0 means the session's limit",
				def.Name)
		}
		names[def.Name] = true
	}
	return nil
}

// kinds returns the names and descriptions of all definitions for the model, none in a session
// without subagents.
func (a *subagents) kinds() []tool.AgentKind {
	if a == nil {
		return nil
	}
	var kinds []tool.AgentKind
	for _, def := range a.options.Subagents.Definitions {
		kinds = append(kinds, tool.AgentKind{Name: def.Name, Description: def.Description})
	}
	return kinds
}

// describing returns a copy of tools whose definitions list the agents that can be chosen.
func (s *Session) describing(tools []tool.Tool) ([]tool.Tool, error) {
	kinds := s.agents.kinds()
	if len(kinds) == 0 || !slices.ContainsFunc(tools, func(t tool.Tool) bool { return t.ForAgents != nil }) {
		return tools, nil
	}
	tools = slices.Clone(tools)
	for i := range tools {
		t := &tools[i]
		if t.ForAgents == nil {
			continue
		}
		def, err := host(s.running(), s, "ForAgents of the tool "+t.Name, s.limits.Grace,
			func() (llm.ToolDefinition, error) { return t.ForAgents(kinds), nil })
		if err != nil {
			return nil, err
		}
		t.ToolDefinition = def
	}
	return tools, nil
}

// definition returns the definition that a task names, an empty one if it names none.
func (a *subagents) definition(name string) (AgentDefinition, error) {
	if name == "" {
		return AgentDefinition{}, nil
	}
	var names []string
	for _, def := range a.options.Subagents.Definitions {
		if def.Name == name {
			return def, nil
		}
		names = append(names, def.Name)
	}
	return AgentDefinition{}, &tool.UnknownAgentError{Name: name, Defined: names}
}

// inside returns an error for a directory of a subagent that is not in its own working directory.
func inside(work, dir string) error {
	clean := path.Clean(dir)
	if dir == "" || clean == work || strings.HasPrefix(clean, strings.TrimSuffix(work, "/")+"/") ||
		!path.IsAbs(clean) && !filepath.IsAbs(clean) && clean != ".." && !strings.HasPrefix(clean, "../") {
		return nil
	}
	return fmt.Errorf("the working_dir %q is not in the agent's own directory; give one relative to that, or "+
		"leave it out", dir)
}

// place sets the directory in which a subagent works.
func (o *Options) place(ctx context.Context, dir string) error {
	if dir == "" {
		return nil
	}
	dir = path.Clean(dir) // the model sees it as the working directory
	info, err := o.Env.Stat(ctx, dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the working_dir %q does not exist; give a directory that does, or leave it out", dir)
	case err != nil:
		return fmt.Errorf("working_dir: %w", err)
	case !info.IsDir():
		return fmt.Errorf("the working_dir %q is not a directory; give one, or leave it out", dir)
	}
	if o.Env = env.Sub(o.Env, dir); o.prompt != nil {
		o.prompt = env.Sub(o.prompt, dir)
	}
	return nil
}

// isolate gives a subagent the surroundings that its task asks for. It returns nil if that asks for
// none.
func (o *Options) isolate(ctx context.Context, task tool.AgentTask) (*Surroundings, error) {
	switch {
	case task.Isolation == "":
		return nil, nil
	case o.Subagents.Isolate == nil:
		return nil, errors.New("isolation is not offered here: agents work on the same files; leave it out")
	}
	alone, err := o.Subagents.Isolate(ctx, o.ID, o.Env, task)
	if err != nil {
		return nil, err
	}
	o.Env, o.prompt, o.Documents = alone.Env, alone.Prompt, alone.Documents
	o.Instructions = strings.TrimSpace(o.Instructions + "\n\n" + alone.Instructions)
	return alone, nil
}

// equip sets the profile and the tools of a subagent: a part of the session's tools, or those of
// the definition.
func (o *Options) equip(def *AgentDefinition, allowed []string, session []tool.Tool) error {
	o.Tools = session
	if def.Profile != nil {
		o.Profile, o.Tools = *def.Profile, def.Profile.Tools
	}
	for _, names := range [][]string{def.Tools, allowed} {
		var err error
		if o.Tools, err = chosenTools(o.Tools, names); err != nil {
			return err
		}
	}
	o.Profile.Tools = slices.DeleteFunc(slices.Clone(o.Profile.Tools), func(t tool.Tool) bool {
		return !slices.ContainsFunc(o.Tools, func(has tool.Tool) bool { return has.Name == t.Name })
	})
	o.Tools = slices.Concat(o.Tools, def.ExtraTools)
	return nil
}

// chosenTools returns the tools with these names, all if names is nil.
func chosenTools(tools []tool.Tool, names []string) ([]tool.Tool, error) {
	if names == nil {
		return tools, nil
	}
	var chosen []tool.Tool
	for _, name := range names {
		at := slices.IndexFunc(tools, func(t tool.Tool) bool { return t.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("the agent is to have the tool %q, which is not there; do that part without "+
				"this agent", name)
		}
		chosen = append(chosen, tools[at])
	}
	return chosen, nil
}

// ask sets the model of a subagent: the task's, or else the definition's, its profile's or the
// session's.
func (o *Options) ask(def *AgentDefinition, task *tool.AgentTask, parent *State) error {
	model := cmp.Or(task.Model, def.Model)
	if def.Profile != nil {
		model = cmp.Or(model, def.Profile.Model)
	}
	o.Effort = cmp.Or(task.Effort, def.Effort, parent.Effort)
	o.Provider, o.Model, o.Fallbacks = parent.modelsFor(model)
	provider, chosen := def.Provider, parent.chosen().Provider
	if def.Profile != nil {
		provider = cmp.Or(provider, def.Profile.Provider)
	}
	if provider != "" && provider != chosen {
		if o.Provider = provider; model == "" {
			return errors.New("the agent has another provider and no model; tell the user that its definition " +
				"lacks one")
		}
	}
	if o.Provider != parent.Header.Provider { // whose options they are
		o.Request.ProviderOptions, o.Profile.Options = nil, nil
	}
	if c := &o.Compaction; c.Provider+c.Model != "" { // of the subagent's own models they would name another one
		writer := parent.summaryWriter()
		c.Provider, c.Model = writer.Provider, writer.Model
	}
	if (ModelName{o.Provider, o.Model}) != parent.askedModel() {
		o.Window = 0 // it belongs to another model
	}
	return nil
}

// instruct adds the instructions of a subagent to the session's.
func (o *Options) instruct(more ...string) {
	for _, text := range append(more, childInstructions) {
		o.Instructions = strings.TrimSpace(o.Instructions + "\n\n" + strings.TrimSpace(text))
	}
}
