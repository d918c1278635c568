package attractor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/ext"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/catalog"
	"github.com/attractor-go/attractor/load"
	"github.com/attractor-go/attractor/tool"
)

// openAgents offers the agents that files define.
func (s *Setup) openAgents(c *config) {
	s.Agents = load.ReadAgents(s.Project, c.usersEnv)
	s.warnAll("agents", s.Agents.Problems)
	s.unused.Add("agents", s.Agents.Untrusted, s.Agents.Why)
	if len(s.Agents.List) == 0 {
		return
	}
	o := &s.Options
	chooser := &agentTools{agents: map[string]*ext.Agent{}, tools: func() []tool.Tool { return s.session.Tools() }}
	var models, lacking []string
	for _, a := range s.Agents.List {
		def := agent.AgentDefinition{Name: a.Name, Description: a.Description, Instructions: a.Prompt,
			MaxTurns: a.MaxTurns, ExtraTools: added(a, o.Profile.Tools)}
		if a.Worktree {
			def.Isolation = inWorktree
		}
		var known bool
		if def.Model, def.Effort, known = s.modelFor(a.Model, a.Effort); !known {
			known = s.modelElsewhere(a, &def)
		}
		if !known {
			models = append(models, fmt.Sprintf("%s (%s)", a.Name,
				strings.Join(slices.DeleteFunc([]string{a.Model, a.Effort}, func(s string) bool { return s == "" }),
					", ")))
		}
		if missing := missingTools(a, o.Profile.Tools); len(missing) > 0 {
			lacking = append(lacking, fmt.Sprintf("%s (%s)", a.Name, shortList(missing)))
		}
		chooser.agents[a.Name] = a
		o.Subagents.Definitions = append(o.Subagents.Definitions, def)
	}
	shortenDescriptions(o.Subagents.Definitions, maxKinds)
	o.Middleware = append(o.Middleware, chooser.middleware)
	if len(models) > 0 {
		s.warnings.add("agents",
			fmt.Sprintf("These agents use the model and effort of the session, because %s is not known to have those "+
				"that they name: %s", o.Provider, shortList(models)))
	}
	if len(lacking) > 0 {
		s.warnings.add("agents", fmt.Sprintf("These agents name tools that are not there: %s", shortList(lacking)))
	}
}

// describeAgents returns tools whose definitions list the agents of files.
func describeAgents(a *load.AgentFiles, tools []tool.Tool) []tool.Tool {
	if len(a.List) == 0 {
		return tools
	}
	var defs []agent.AgentDefinition
	for _, f := range a.List {
		defs = append(defs, agent.AgentDefinition{Name: f.Name, Description: f.Description})
	}
	shortenDescriptions(defs, maxKinds)
	var kinds []tool.AgentKind
	for i := range defs {
		kinds = append(kinds, tool.AgentKind{Name: defs[i].Name, Description: defs[i].Description})
	}
	tools = slices.Clone(tools)
	for i := range tools {
		if t := &tools[i]; t.ForAgents != nil {
			t.ToolDefinition = t.ForAgents(kinds)
		}
	}
	return tools
}

// missingTools returns the names of tools in a definition for which the session has none. Those of
// servers may come later, and some mean nothing for an agent.
func missingTools(a *ext.Agent, tools []tool.Tool) []string {
	_, missing := choose(a, slices.Concat(tools, added(a, tools)))
	return slices.DeleteFunc(missing, func(entry string) bool {
		return strings.HasPrefix(entry, "mcp__") || a.Plans && a.AllTools ||
			slices.Contains([]string{"Agent", "Skill", "TodoWrite", "AskUserQuestion", "TaskOutput", "TaskStop",
				"ExitPlanMode", "EnterPlanMode", "SlashCommand"}, claudeName(entry))
	})
}

// maxKinds limits the bytes of all descriptions of agents together. They are part of every request.
const maxKinds = 24 << 10

// shortenDescriptions cuts the longest descriptions until all of them together have at most room
// bytes.
func shortenDescriptions(defs []agent.AgentDefinition, room int) {
	limit, total := 0, 0
	for i := range defs {
		n := len(defs[i].Description)
		limit, total = max(limit, n), total+n
	}
	for total > room && limit > 1 {
		limit, total = limit/2, 0
		for i := range defs {
			total += min(limit, len(defs[i].Description))
		}
	}
	for i := range defs {
		defs[i].Description = texts.Cut(defs[i].Description, limit, "...")
	}
}

// modelFor returns the model and the effort that a file names, as the provider of the session has
// them. It returns "" for those of the session, and false if the provider is not known to have
// them.
func (s *Setup) modelFor(model, effort string) (id, level string, known bool) {
	client := s.Options.Client
	provider, current, _ := s.Model()
	id, known = findModel(client, provider, model)
	if effort == "" || effort == "inherit" {
		return id, "", known
	}
	facts, _ := lookUp(client, provider, cmp.Or(id, current))
	if slices.Contains(facts.Efforts, effort) {
		return id, effort, known
	}
	return id, "", false
}

// modelElsewhere lets an agent have the model of another provider that its file names, such as
// work/qwen3-coder, if the file is the user's: a project does not choose who gets the conversation.
func (s *Setup) modelElsewhere(a *ext.Agent, def *agent.AgentDefinition) bool {
	provider, model := s.ModelNamed(a.Model)
	current, _, _ := s.Model()
	if _, err := s.Options.Client.Provider(provider); a.Origin != ext.User || provider == "" || provider == current ||
		err != nil {
		return false
	}
	def.Provider, def.Model = provider, newestOf(provider, model)
	if a.Effort != "inherit" {
		def.Effort = a.Effort
	}
	return true
}

// findModel returns the id of a model that a file names: that of the provider, or one of Claude
// Code's names for the newest model of a size.
func findModel(client *llm.Client, provider, model string) (id string, known bool) {
	model = strings.TrimSuffix(strings.TrimPrefix(model, provider+"/"), "[1m]")
	if model == "" || model == "inherit" || model == "default" {
		return "", true
	}
	facts, known := lookUp(client, provider, newestOf(provider, model))
	return facts.ID, known
}

// newestOf returns the newest model of a provider with one of Claude Code's names for sizes:
// sonnet, opus, haiku or fable. It returns any other name unchanged, and one for which the provider
// has no model.
func newestOf(provider, name string) string {
	switch name {
	case "sonnet", "opus", "haiku", "fable":
		for _, m := range catalog.New().List(provider) {
			if strings.HasPrefix(m.ID, "claude-"+name+"-") {
				return m.ID
			}
		}
	}
	return name
}
