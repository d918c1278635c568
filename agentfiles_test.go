package attractor

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// spawned holds what the requests of a session and of its agent had.
type spawned struct {
	mu            sync.Mutex
	tools, models []string // of the agent
	system        string   // of the agent
	results       string   // of the agent's calls
	offered       string   // the definitions of the session's tools
	report        string   // what the session got
}

// spawnTurns returns the turns in which a model gives THE TASK to the agent of a name and waits for
// it.
func spawnTurns(t *testing.T, name, profile string, native bool) []fakellm.Turn {
	switch {
	case native && profile == "anthropic":
		return []fakellm.Turn{calls(t, "Agent",
			object{"description": "x", "prompt": "THE TASK", "subagent_type": name})}
	case native && profile == "gemini":
		return []fakellm.Turn{calls(t, "invoke_agent", object{"agent_name": name, "prompt": "THE TASK"})}
	}
	return []fakellm.Turn{calls(t, "spawn_agent", object{"task": "THE TASK", "agent": name}),
		calls(t, "wait", object{"agent_id": "agent-1"})}
}

// spawnWith runs a session that starts the agent of a name in the team's project. In the end the
// session has the agent's report.
func (b *team) spawnWith(name, profile string, native bool, agentTurns ...fakellm.Turn) *spawned {
	b.Helper()
	s := &spawned{}
	turns := append(spawnTurns(b.T, name, profile, native), fakellm.Turn{Text: "done"})
	web := httptest.NewServer(fakellm.New(func(r *fakellm.Request) fakellm.Turn {
		s.mu.Lock()
		defer s.mu.Unlock()
		if slices.ContainsFunc(r.Messages, func(m llm.Message) bool { return m.Parts.Text() == "THE TASK" }) {
			s.tools, s.system, s.models = slices.Clone(r.Tools), r.System, append(s.models, r.Model)
			s.results = ""
			for _, m := range r.Messages {
				for _, p := range m.Parts {
					if result, is := p.(llm.ToolResult); is {
						s.results += result.Content.Text() + "\n"
					}
				}
			}
			return append(agentTurns, fakellm.Turn{Text: "THE REPORT"})[min(r.Turn(), len(agentTurns))]
		}
		s.offered, s.report = string(r.Body), string(r.Body)
		return turns[min(r.Turn(), len(turns)-1)]
	}, fakellm.Options{}))
	b.Cleanup(web.Close)
	c := b.config
	getenv := b.config.Getenv
	b.config.Getenv = func(name string) string {
		if strings.HasSuffix(name, "_API_KEY") {
			return "k"
		}
		return getenv(name)
	}
	b.config.chosen.provider, b.config.chosen.native = &profile, &native
	b.config.BaseURL = web.URL + map[string]string{"openai": "/v1"}[profile]
	if err := b.submit("start it"); err != nil {
		b.Error(err)
	}
	b.config = c
	if !strings.Contains(s.report, "THE REPORT") {
		b.Errorf("%s, native %v: the session got no report: %s", profile, native, s.report)
	}
	return s
}

const reviewer = "---\nname: reviewer\ndescription: Reviews a change for mistakes.\ntools: Read, Grep, Glob, " +
	"TodoWrite\nmodel: inherit\n---\nYou are the REVIEWER."

// An agent of a file works in all profiles and dialects: it is offered, has its prompt, and of the
// tools only those that its file names.
func TestM8_AgentsInAllDialects(t *testing.T) {
	files := map[string]string{".claude/agents/reviewer.md": reviewer,
		".agents/agents/writer.md": "---\nname: writer\ndescription: Writes.\ntools: Write, Edit, Bash\n---\nYou " +
			"are the WRITER.",
		".attractor/agents/all.md": "---\nname: all\ndescription: Does all but run.\ndisallowedTools: Bash, " +
			"Write, Edit\n---\nYou do ALL.",
		"~/.claude/agents/careful.md": "---\nname: careful\ndescription: Plans.\ntools: Read, Edit, Bash, mcp__x__y\n" +
			"permissionMode: plan\n---\nYou are CAREFUL.",
		"~/.claude/agents/planner.md": "---\nname: planner\ndescription: Plans.\npermissionMode: plan\n---\nYou PLAN."}
	for _, c := range []struct {
		profile, agent string
		native         bool
		tools          string
	}{
		{"anthropic", "reviewer", false, "read_file grep glob read_output"},
		{"openai", "reviewer", false, "read_file grep glob read_output update_plan"},
		{"gemini", "reviewer", false, "read_file read_many_files grep glob read_output"},
		{"anthropic", "reviewer", true, "Read read_output grep glob"},
		{"openai", "reviewer", true, "update_plan view_image read_output read_file grep glob"},
		{"gemini", "reviewer", true, "read_file grep_search glob read_output"},
		{"anthropic", "writer", false, "write_file edit_file shell read_output process"},
		{"openai", "writer", false, "apply_patch write_file shell read_output process"},
		{"openai", "writer", true, "exec_command write_stdin apply_patch read_output"},
		{"gemini", "writer", true, "replace write_file run_shell_command read_output process"},
		{"anthropic", "all", false, "read_file grep glob read_output"},
		{"openai", "all", true, "update_plan view_image read_output"},
		{"gemini", "all", true, "list_directory read_file grep_search glob list_background_processes " +
			"read_background_output read_output"},
		{"anthropic", "planner", false, "read_file grep glob read_output"},
		{"anthropic", "careful", false, "read_file read_output"},
		{"anthropic", "careful", true, "Read read_output"},
		{"openai", "planner", true, "update_plan view_image read_output read_file grep glob"},
	} {
		t.Run(fmt.Sprintf("%s %s native=%v", c.agent, c.profile, c.native), func(t *testing.T) {
			b := newTeam(t, files)
			s := b.spawnWith(c.agent, c.profile, c.native)
			want := strings.Fields(c.tools)
			slices.Sort(want)
			slices.Sort(s.tools)
			if !slices.Equal(s.tools, want) {
				t.Errorf("the agent has %q, want %q", s.tools, want)
			}
			if prompt := map[string]string{"reviewer": "REVIEWER", "writer": "WRITER", "all": "ALL", "planner": "PLAN",
				"careful": "CAREFUL"}[c.agent]; !strings.Contains(s.system, prompt) {
				t.Errorf("the agent's prompt is %s", s.system)
			}
			if !strings.Contains(s.offered, "reviewer: Reviews a change for mistakes.") {
				t.Errorf("the session is offered %s", s.offered)
			}
			if len(b.told) > 0 {
				t.Errorf("warnings: %q", b.told)
			}
		})
	}
}

// An agent's calls are judged like the session's, and it has no tool that its file does not name.
func TestM8_AgentsAreNarrow(t *testing.T) {
	b := newTeam(t, map[string]string{".claude/agents/reviewer.md": reviewer, "secrets/key": "TREASURE",
		".attractor/rules.json": `{"permissions": {"deny": ["Read(./secrets/**)"]}}`})
	s := b.spawnWith("reviewer", "anthropic", false, calls(t, "shell", object{"command": "touch made"}),
		calls(t, "read_file", object{"file_path": "secrets/key"}))
	if b.read("made") != "-" || strings.Contains(s.results, "TREASURE") || !strings.Contains(s.results,
		`unknown tool "shell"`) || !strings.Contains(s.results, "a rule denies it") {
		t.Errorf("the results are %s", s.results)
	}
}

// Models of agents are those of the provider; others, and tools that are not there, are told.
func TestM8_Models(t *testing.T) {
	b := newTeam(t, map[string]string{".claude/agents/a.md": "---\nname: a\ndescription: b\nmodel: haiku\neffort: " +
		"low\ntools: Read, WebSearch, mcp__x__y, Task\n---\nA",
		".claude/agents/b.md":   "---\nname: b\ndescription: b\nmodel: gpt-4\n---\nB",
		"~/.claude/agents/c.md": "---\nname: a\ndescription: c\n---\nMINE",
		"~/.claude/agents/d.md": "---\nname: d\n---\nx"})
	if s := b.spawnWith("b", "anthropic", false); len(s.models) != 1 || strings.Contains(s.models[0], "gpt") {
		t.Errorf("the models are %q", s.models)
	}
	if !b.warned("the session", "b (gpt-4)") || !b.warned("there is another agent a") ||
		!b.warned("it has no description") {
		t.Errorf("warnings: %q", b.told)
	}
	if s := b.spawnWith("a", "anthropic", false); !strings.Contains(s.system, "MINE") {
		t.Errorf("not the user's agent: %s", s.system)
	}
	b = newTeam(t, map[string]string{".claude/agents/a.md": "---\nname: a\ndescription: b\nmodel: haiku\ntools: " +
		"Read, WebSearch, mcp__x__y, Task\n---\nA"})
	if s := b.spawnWith("a", "anthropic", false); len(s.models) != 1 || !strings.Contains(s.models[0], "haiku") {
		t.Errorf("the models are %q", s.models)
	}
	if len(b.told) != 1 || !b.warned("a (WebSearch)") {
		t.Errorf("warnings: %q", b.told)
	}
}
