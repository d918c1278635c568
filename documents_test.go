package attractor

import (
	"fmt"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile/profiles"
)

// metered serves a script behind a meter of what the vendor's cache could keep.
func (s *skillful) metered(script func(*fakellm.Request) fakellm.Turn) *llmtest.Meter {
	s.server = fakellm.New(script, fakellm.Options{})
	meter := llmtest.NewMeter(s.server)
	web := httptest.NewServer(meter)
	s.Cleanup(web.Close)
	s.url = web.URL
	return meter
}

// repository makes the directory of the bench a git repository.
func (s *skillful) repository() {
	s.Helper()
	if out, err := exec.Command(peer.Need(s, "git"), "init", "-q", s.dir).CombinedOutput(); err != nil {
		s.Fatalf("git init: %v\n%s", err, out)
	}
}

// later returns the texts of people's turns behind the first one.
func later(r *fakellm.Request) (texts []string) {
	for _, m := range r.Messages {
		if text := m.Parts.Text(); m.Role == llm.RoleUser && text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// Each profile has the documents of its vendor's agent, those of its user first, and those of a
// directory below when its tools read a file there. Nothing that was sent changes.
func TestM10_DocumentsInAllProfiles(t *testing.T) {
	of := map[string][2]string{"anthropic": {".claude/CLAUDE.md", "CLAUDE.md"},
		"openai": {".codex/AGENTS.md", ".codex/instructions.md"}, "gemini": {".gemini/GEMINI.md", "GEMINI.md"}}
	for _, family := range profiles.Names() {
		for _, native := range []bool{false, true} {
			name := family + map[bool]string{true: " native"}[native]
			t.Run(name, func(t *testing.T) {
				s := newSkillful(t)
				s.repository()
				put(t, s.home, ".config/attractor/AGENTS.md", "MINE FOR ALL")
				for vendor, files := range of {
					put(t, s.home, files[0], "MINE FOR "+vendor)
					put(t, s.dir, files[1], "TOP FOR "+vendor)
					put(t, s.dir, "sub/"+files[1], "SUB FOR "+vendor)
				}
				put(t, s.dir, "AGENTS.md", "TOP FOR ALL")
				put(t, s.dir, "sub/AGENTS.md", "SUB FOR ALL")
				put(t, s.dir, "sub/x.go", "package x")
				put(t, s.dir, "y.go", "package y")
				read := readers()[name]
				call := func(file string) fakellm.Turn {
					return fakellm.Turn{Calls: []fakellm.Call{{Name: read[0],
						Args: fmt.Appendf(nil, read[1], filepath.Join(s.dir, file))}}}
				}
				meter := s.metered(fakellm.Script(call("y.go"), call("sub/x.go"), call("sub/x.go"),
					fakellm.Turn{Text: "done"}))
				s.submit(s.config(family, native), "the task", s.listen)
				requests := s.server.Requests()
				var lines []string
				for line := range strings.Lines(requests[0].System) {
					if strings.Contains(line, " FOR ") {
						lines = append(lines, strings.TrimSpace(line))
					}
				}
				if want := []string{"MINE FOR ALL", "MINE FOR " + family, "TOP FOR ALL",
					"TOP FOR " + family}; !slices.Equal(lines, want) {
					t.Errorf("the prompt has %q, want %q", lines, want)
				}
				if got := later(requests[1]); len(got) != 1 {
					t.Errorf("after a file of the working directory: %q", got)
				}
				for _, r := range requests[2:] {
					text := strings.Join(later(r)[1:], "\n")
					if strings.Count(text, "SUB FOR ALL") != 1 || strings.Count(text, "SUB FOR "+family) != 1 ||
						strings.Count(text, " FOR ") != 2 {
						t.Errorf("after a file of the directory below: %q", text)
					}
				}
				if breaks := meter.Breaks(); meter.Requests() != 4 || len(breaks) > 0 {
					t.Errorf("%d requests, %q", meter.Requests(), breaks)
				}
				for _, ev := range s.events {
					if w, ok := ev.(*agent.Warning); ok {
						t.Errorf("a warning: %+v", w)
					}
				}
			})
		}
	}
}

// A session below the top of a repository has the documents and rules above it, which its tools
// cannot read, and so have its subagents.
func TestM10_DocumentsAboveTheWorkingDirectory(t *testing.T) {
	s := newSkillful(t)
	s.repository()
	top := s.dir
	put(t, top, "AGENTS.md", "OF THE TOP")
	put(t, top, ".claude/rules/go.md", "---\npaths: sub/**/*.go\n---\nFOR GO")
	put(t, top, "sub/x.go", "package x")
	s.dir = filepath.Join(top, "sub")
	s.serve(func(r *fakellm.Request) fakellm.Turn {
		switch n := len(later(r)); {
		case strings.Contains(r.System, "You work for another agent"):
			return []fakellm.Turn{calls(t, "read_file", object{"file_path": "x.go"}), {Text: "part"}}[min(r.Turn(), 1)]
		case n == 0:
			return fakellm.Turn{Text: "no task"}
		}
		return []fakellm.Turn{calls(t, "spawn_agent", object{"task": "the part"}),
			calls(t, "wait", object{"agent_id": "agent-1"}), calls(t, "read_file", object{"file_path": "x.go"}),
			{Text: "done"}}[min(r.Turn(), 3)]
	})
	s.submit(s.config("anthropic", false), "the task", s.listen)
	agents := map[bool]int{}
	for _, r := range s.server.Requests() {
		child := strings.Contains(r.System, "You work for another agent")
		if !strings.Contains(r.System, "OF THE TOP") || strings.Contains(r.System, "FOR GO") {
			t.Errorf("a prompt (of a subagent: %t) is\n%s", child, r.System)
		}
		if strings.Contains(strings.Join(later(r), "\n"), "FOR GO") {
			agents[child]++
		}
	}
	if agents[true] != 1 || agents[false] != 1 {
		t.Errorf("the rule came in %v requests (of subagents: true)", agents)
	}
}

// What is wrong with documents is told once, whoever reads them, and secrets and what a rule denies
// are no documents.
func TestM10_MistakesInDocumentsAreTold(t *testing.T) {
	s := newSkillful(t)
	s.serve(func(r *fakellm.Request) fakellm.Turn {
		if strings.Contains(r.System, "You work for another agent") {
			return fakellm.Turn{Text: "part"}
		}
		return []fakellm.Turn{calls(t, "spawn_agent", object{"task": "the part"}),
			calls(t, "wait", object{"agent_id": "agent-1"}), {Text: "done"}}[min(r.Turn(), 2)]
	})
	put(t, s.dir, "AGENTS.md", "See @missing.md and @secrets.json and @private/x.md and @ok.md")
	put(t, s.dir, "secrets.json", "SECRET")
	put(t, s.dir, "private/x.md", "SECRET")
	put(t, s.dir, "private/CLAUDE.md", "SECRET")
	put(t, s.dir, "ok.md", "FINE")
	put(t, s.home, ".claude/settings.json", `{"permissions": {"deny": ["Read(`+"/"+s.dir+`/private/**)"]}}`)
	put(t, s.home, ".claude/CLAUDE.md", "@~/none.md")
	s.submit(s.config("anthropic", false), "the task", s.listen)
	for _, r := range s.server.Requests() {
		if strings.Contains(r.System, "SECRET") || !strings.Contains(r.System, "FINE") {
			t.Errorf("a prompt is\n%s", r.System)
		}
	}
	told := strings.Join(s.warnings("instructions"), "\n")
	for _, want := range []string{"HOME/.claude/CLAUDE.md, line 1: @~/none.md is not imported: there is no such file",
		"DIR/AGENTS.md, line 1: @missing.md is not imported: there is no such file",
		"DIR/AGENTS.md, line 1: @secrets.json is not imported: it usually holds secrets",
		"DIR/AGENTS.md, line 1: @private/x.md is not imported: the rule "} {
		if strings.Count(told, want) != 1 {
			t.Errorf("%q is not there once in\n%s", want, told)
		}
	}
}

// A secret in a document is masked in the prompts of the session and of its subagents, and in what
// comes later.
func TestM10_SecretsInDocumentsAreMasked(t *testing.T) {
	const key = "correct-horse-battery-staple-42"
	s := newSkillful(t)
	put(t, s.home, ".claude/CLAUDE.md", "Mine is "+key)
	put(t, s.dir, "AGENTS.md", "The key is "+key)
	put(t, s.dir, "sub/AGENTS.md", "Here too: "+key)
	put(t, s.dir, "sub/x", "")
	s.serve(func(r *fakellm.Request) fakellm.Turn {
		if strings.Contains(r.System, "You work for another agent") {
			return fakellm.Turn{Text: "part"}
		}
		return []fakellm.Turn{calls(t, "spawn_agent", object{"task": "the part"}),
			calls(t, "wait", object{"agent_id": "agent-1"}), calls(t, "read_file", object{"file_path": "sub/x"}),
			{Text: "done"}}[min(r.Turn(), 3)]
	})
	c := s.config("anthropic", false)
	c.Secrets = map[string]string{"KEY": key}
	s.submit(c, "the task", s.listen)
	requests := s.server.Requests()
	if !slices.ContainsFunc(requests, func(r *fakellm.Request) bool {
		return strings.Contains(r.System, "You work for another agent")
	}) {
		t.Error("no subagent has worked")
	}
	for _, r := range requests {
		if strings.Contains(string(r.Body), key) || !strings.Contains(r.System, "The key is ") {
			t.Errorf("the secret is in a request:\n%s", r.Body)
		}
	}
	if last := strings.Join(later(requests[len(requests)-1]), "\n"); !strings.Contains(last, "Here too: ") {
		t.Errorf("the documents of the directory below are missing: %q", last)
	}
}
