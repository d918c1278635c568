package attractor

import (
	"context"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/ext"
	"github.com/attractor-go/attractor/rules"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// agentTools chooses the tools of agents that files define.
type agentTools struct {
	agents map[string]*ext.Agent
	// tools returns those of the session, whose servers may come and go.
	tools func() []tool.Tool
}

// middleware narrows the tools of an agent when it is started.
func (a *agentTools) middleware(next tool.Handler) tool.Handler {
	return func(ctx context.Context, call *tool.Call) (tool.Result, error) {
		if call.Session == nil {
			return next(ctx, call)
		}
		within := *call
		within.Session = &narrowingSession{call.Session, a}
		return next(ctx, &within)
	}
}

// narrowingSession is a session whose agents get only the tools of their definitions.
type narrowingSession struct {
	tool.Session
	*agentTools
}

// Agents implements tool.Session.
func (s *narrowingSession) Agents() tool.Agents {
	agents := s.Session.Agents()
	if agents == nil {
		return nil
	}
	return &narrowingAgents{agents, s.agentTools}
}

// narrowingAgents starts agents with the tools of their definitions.
type narrowingAgents struct {
	tool.Agents
	*agentTools
}

// Spawn implements tool.Agents.
func (n *narrowingAgents) Spawn(ctx context.Context, task tool.AgentTask) (tool.AgentStatus, error) {
	if a := n.agents[task.Agent]; a != nil && !everything(a) {
		chosen, _ := choose(a, n.tools())
		if task.Tools != nil {
			chosen = slices.DeleteFunc(chosen, func(name string) bool { return !slices.Contains(task.Tools, name) })
		}
		task.Tools = chosen
	}
	return n.Agents.Spawn(ctx, task)
}

// everything reports whether an agent has all tools of the session.
func everything(a *ext.Agent) bool { return a.AllTools && len(a.Without) == 0 && !a.Plans }

// readingTools lists what an agent that only plans may have, by Claude Code's names.
func readingTools() []string {
	return []string{"Read", "Grep", "Glob", "LS", "WebFetch", "WebSearch", "Skill", "TodoWrite", "TaskOutput"}
}

// wanted returns the names of tools that a definition lists. all is true if it is every tool.
func wanted(a *ext.Agent) (list []string, all bool) {
	list = slices.Clone(a.Tools)
	switch {
	case a.Plans && a.AllTools:
		list = readingTools()
	case a.AllTools:
		return nil, true
	case a.Plans:
		list = slices.DeleteFunc(list, func(name string) bool {
			return !slices.Contains(readingTools(), claudeName(name))
		})
	}
	return list, false
}

// choose returns the names of the tools that an agent gets, and the names in its definition for
// which there is none.
func choose(a *ext.Agent, tools []tool.Tool) (chosen, missing []string) {
	chosen = []string{} // nil would mean all
	list, all := wanted(a)
	stand := map[string]bool{}
	for _, entry := range list {
		found := standFor(entry, tools)
		if len(found) == 0 {
			missing = append(missing, entry)
		}
		for _, name := range found {
			stand[name] = true
		}
	}
	for _, entry := range a.Without {
		for i := range tools {
			if name := tools[i].Name; stands(entry, name) || claudeName(entry) != "Read" &&
				rules.Covers(claudeName(entry), name) {
				stand[name] = false
			}
		}
	}
	finds := slices.ContainsFunc(tools, func(t tool.Tool) bool { return t.Deferred && stand[t.Name] })
	for i := range tools {
		t := &tools[i]
		has, known := stand[t.Name]
		// the last kinds reach only tools that the agent has
		has = has || all && !known || t.Name == tool.ReadOutput || finds && (t.Finds || t.Forwards)
		if has && !slices.Contains(a.Without, t.Name) {
			chosen = append(chosen, t.Name)
		}
	}
	return chosen, missing
}

// standFor returns the tools for which a name in a definition stands. If there is no tool that
// creates files, one that edits them does that.
func standFor(entry string, tools []tool.Tool) (found []string) {
	for i := range tools {
		if stands(entry, tools[i].Name) {
			found = append(found, tools[i].Name)
		}
	}
	if name := claudeName(entry); found == nil && (name == "Write" || name == "Edit") {
		for i := range tools {
			if rules.Covers("Edit", tools[i].Name) {
				found = append(found, tools[i].Name)
			}
		}
	}
	return found
}

// stands reports whether a name in a definition stands for a tool.
func stands(entry, name string) bool {
	if strings.HasPrefix(entry, "mcp__") {
		return rules.Covers(entry, name)
	}
	return entry == name || claudeName(entry) == rules.ClaudeName(name)
}

// claudeName returns the newest of Claude Code's names for a tool in a definition, without a
// pattern in parentheses.
func claudeName(entry string) string {
	name, _, _ := strings.Cut(entry, "(")
	switch name {
	case "MultiEdit", "NotebookEdit":
		return "Edit"
	case "NotebookRead":
		return "Read"
	case "BashOutput":
		return "TaskOutput"
	case "KillShell", "KillBash":
		return "TaskStop"
	case "Task", "Agent":
		return "Agent"
	}
	return rules.ClaudeName(name)
}

// added returns tools of this library for the names in a definition for which the profile has no
// tool, because its vendor's agent reads and searches with commands.
func added(a *ext.Agent, tools []tool.Tool) (extra []tool.Tool) {
	list, _ := wanted(a)
	for _, entry := range list {
		if len(standFor(entry, tools)) > 0 && claudeName(entry) != "Read" || slices.ContainsFunc(a.Without,
			func(w string) bool { return claudeName(w) == claudeName(entry) }) {
			continue
		}
		var t tool.Tool
		switch claudeName(entry) {
		case "Read":
			if t = coding.ReadFile(); slices.ContainsFunc(tools, func(t tool.Tool) bool {
				return t.Name == "Read" || t.Name == "read_file"
			}) {
				continue
			}
		case "Grep":
			t = coding.Grep()
		case "Glob":
			t = coding.Glob()
		case "LS":
			if t = coding.ListDir(); a.AllTools {
				continue // the others are enough
			}
		default:
			continue
		}
		if !slices.ContainsFunc(extra, func(has tool.Tool) bool { return has.Name == t.Name }) {
			extra = append(extra, t)
		}
	}
	return extra
}
