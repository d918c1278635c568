//go:build unix

package attractor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
)

// answering lets the model ask questions, without which it is not offered the tool that leaves plan
// mode.
var answering = &agent.Questions{Answer: func(context.Context, tool.Question) (tool.Answer,
	error) {
	return tool.Answer{}, tool.ErrNobody
}}

// sessionCalls are the calls of the test of all modes, by what they do.
var sessionCalls = []struct {
	what, tool string
	args       object
	// Each letter says what becomes of the call in the modes ask, accept-edits, plan, full and
	// read-only: it runs (r), a person is asked and it runs (q), it is refused (d), or it fails
	// (e).
	fate string
}{
	{"reads a file", "read_file", object{"file_path": "ordinary.txt"}, "rrrrr"},
	{"searches", "grep", object{"pattern": "x", "path": "src"}, "rrrrr"},
	{"changes a file", "edit_file", object{"file_path": "ordinary.txt", "old_string": "one", "new_string": "two"},
		"qrdrd"},
	{"makes a file", "write_file", object{"file_path": "sub/made.txt", "content": "x"}, "qrdrd"},
	{"makes a hook of git", "write_file", object{"file_path": ".git/hooks/pre-commit", "content": "x"}, "eeded"},
	{"makes a file that starts servers", "write_file", object{"file_path": ".mcp.json", "content": "x"}, "qqdrd"},
	{"makes a file with secrets", "write_file", object{"file_path": ".env", "content": "x"}, "qqdrd"},
	{"reads a file with secrets", "read_file", object{"file_path": "secrets.pem"}, "qqqrd"},
	{"follows a link out", "write_file", object{"file_path": "out/made.txt", "content": "x"}, "ddded"},
	{"reads a file elsewhere", "read_file", object{"file_path": "/etc/passwd"}, "ddded"},
	{"a command that reads", "shell", object{"command": "cat ordinary.txt | wc -l"}, "rrrrd"},
	{"a command that reads elsewhere", "shell", object{"command": "cat /etc/passwd"}, "qqqrd"},
	{"a command that writes", "shell", object{"command": "touch touched"}, "qqdrd"},
	{"a command with a redirection", "shell", object{"command": "echo x >redirected"}, "qqdrd"},
	{"a command that a rule allows", "shell", object{"command": "mkdir made"}, "rrdrd"},
	{"a change that a rule asks about", "write_file", object{"file_path": "asked.txt", "content": "x"}, "qqdrd"},
	{"a change that a rule denies", "write_file", object{"file_path": "denied.txt", "content": "x"}, "ddddd"},
	{"a read that a rule denies", "read_file", object{"file_path": "closed.txt"}, "ddddd"},
	{"a read that a rule asks about", "read_file", object{"file_path": "curious.txt"}, "qqqrd"},
	{"a change that a hook asks about", "write_file", object{"file_path": "hooked.txt", "content": "x"}, "qqdrd"},
	{"a change that a hook denies", "write_file", object{"file_path": "forbidden.txt", "content": "x"}, "ddddd"},
	{"a tool of a server", "mcp__mill__grind", object{}, "qqdrd"},
	{"a tool of a server that reads", "mcp__mill__look", object{}, "qqqrd"},
	{"an agent", "spawn_agent", object{"task": "the part"}, "rrrrd"},
}

// The call that the agent in sessionCalls makes.
const partCall, partFate = "call_part", "qrdr"

// claudeModes are the modes as hooks know them.
var claudeModes = []string{"default", "acceptEdits", "plan", "bypassPermissions", "plan"}

// modeFiles are the rules and hooks of the test.
var modeFiles = map[string]string{
	"ordinary.txt": "one\n", "src/a.txt": "x\n", "secrets.pem": "x\n", "closed.txt": "x\n", "curious.txt": "x\n",
	"~/.state/attractor/rules.json": `{"permissions": {"deny": ["Edit(denied.txt)", "Read(closed.txt)"], "ask": ["Edit(asked.txt)", "Read(curious.txt)"], "allow": ["Bash(mkdir:*)"]}}`,
}

// Every mode does with every kind of call what it promises. Rules and hooks that deny count in all
// modes.
func TestN8_ModesDecide(t *testing.T) {
	t.Parallel()
	for m, mode := range append(permit.Modes(), permit.ModeReadOnly) {
		t.Run(string(mode), func(t *testing.T) {
			b := newTeam(t, modeFiles)
			if err := os.Symlink(t.TempDir(), filepath.Join(b.dir, "out")); err != nil {
				t.Fatal(err)
			}
			inputs := filepath.Join(b.home, "hook.inputs")
			put(t, b.home, ".claude/settings.json", hookSettings(t, "PreToolUse", "Edit|Write",
				`input=$(cat); echo "$input" >>`+inputs+`; case $input in
*hooked.txt*) echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask"}}';;
*forbidden.txt*) echo 'not this one' >&2; exit 2;;
esac`))
			b.model(func(r *fakellm.Request) fakellm.Turn {
				if !strings.Contains(r.Messages[0].Parts.Text(), "the task") {
					return []fakellm.Turn{{Calls: []fakellm.Call{{ID: partCall, Name: "write_file",
						Args: json.RawMessage(`{"file_path":"part.txt","content":"x"}`)}}},
						{Text: "done"}}[min(r.Turn(), 1)]
				}
				n := r.Turn()
				if n < len(sessionCalls) {
					return calls(t, sessionCalls[n].tool, sessionCalls[n].args)
				}
				if n == len(sessionCalls) && sessionCalls[n-1].fate[m] != 'd' {
					return calls(t, "wait", object{"agent_id": "agent-1"})
				}
				return fakellm.Turn{Text: "done"}
			})
			b.config.Mode, b.config.MCP = mode, []string{b.trustedMill()}
			b.config.TrustProject = false
			asked := map[string]bool{}
			b.config.Ask = func(_ context.Context, q permit.Question) (permit.Answer, error) {
				asked[q.AgentID+q.Call.ID] = true
				return permit.Answer{Verdict: tool.Allow}, nil
			}
			b.open(func(s *Setup, session *agent.Session) {
				if s.Mode() != mode {
					t.Errorf("the mode is %s", s.Mode())
				}
				if _, err := session.Submit(t.Context(), "the task"); err != nil {
					t.Fatal(err)
				}
			})
			if got, err := os.ReadFile(inputs); err != nil ||
				!strings.Contains(string(got), `"permission_mode":"`+claudeModes[m]+`"`) {
				t.Errorf("the hooks got %s, %v", got, err)
			}
			for i, c := range sessionCalls {
				id := fmt.Sprintf("call_%d_0", i)
				if got := fate(b.results()[id], asked[id]); got != c.fate[m:m+1] {
					t.Errorf("%s: %s, want %c; %q", c.what, got, c.fate[m], b.results()[id].Content.Text())
				}
			}
			if m < len(partFate) {
				if got := fate(b.results()[partCall], asked["agent-1"+partCall]); got != partFate[m:m+1] {
					t.Errorf("the agent's call: %s, want %c; %q", got, partFate[m],
						b.results()[partCall].Content.Text())
				}
			}
		})
	}
}

// model replaces the model of the bench.
func (b *team) model(m fakellm.Model) {
	b.server = fakellm.New(m, fakellm.Options{})
	web := httptest.NewServer(b.server)
	b.Cleanup(web.Close)
	b.url = web.URL
	getenv := b.config.Getenv
	b.config.Getenv = func(name string) string {
		if name == "ANTHROPIC_BASE_URL" {
			return web.URL
		}
		return getenv(name)
	}
}

// results returns the results in all requests by the ids of their calls.
func (b *bench) results() map[string]llm.ToolResult {
	all := map[string]llm.ToolResult{}
	for _, r := range b.server.Requests() {
		for _, m := range r.Messages {
			for _, part := range m.Parts {
				if result, ok := part.(llm.ToolResult); ok {
					all[result.CallID] = result
				}
			}
		}
	}
	return all
}

// fate returns what became of a call: it ran (r), a person was asked and it ran (q), it was refused
// (d) or it failed (e).
func fate(result llm.ToolResult, asked bool) string {
	text := result.Content.Text()
	switch {
	case text == "":
		return "no result"
	case strings.Contains(text, "was not permitted") || strings.Contains(text, "was not run"):
		return "d"
	case result.IsError:
		return "e"
	case asked:
		return "q"
	}
	return "r"
}

// trustedMill writes a file with a server whose word that a tool only reads counts, and returns its
// name.
func (b *bench) trustedMill() string {
	b.Helper()
	file := b.mills(map[string]string{"mill": open})
	data, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	data = []byte(strings.Replace(string(data), `"command"`, `"trusted":true,"command"`, 1))
	if err := os.WriteFile(file, data, 0o600); err != nil {
		b.Fatal(err)
	}
	return file
}

// planning returns a session in plan mode whose model shows its plan and then makes a file. answer
// decides about the plan.
func planning(t *testing.T, answer permit.Asker) *team {
	b := newTeam(t, nil, calls(t, "write_file", object{"file_path": "early.txt", "content": "x"}),
		calls(t, permit.ExitPlanMode, object{"plan": "1. Make late.txt."}, "write_file", object{"file_path": "late.txt",
			"content": "x"}), fakellm.Turn{Text: "done"})
	b.config.Mode, b.config.Ask = permit.ModePlan, answer
	return b
}

// plan runs a session in plan mode, and returns the modes that the host was told.
func (b *team) plan() (told []permit.Mode) {
	b.Helper()
	setup, err := prepare(b.Context(), b.config)
	if err != nil {
		b.Fatal(err)
	}
	setup.Options.Questions = answering
	setup.OnMode = func(m permit.Mode) { told = append(told, m) }
	session, err := setup.Start(b.Context())
	if err != nil {
		b.Fatal(errors.Join(err, setup.Close()))
	}
	_, err = session.Submit(b.Context(), "the task")
	if err := errors.Join(err, session.Close(), setup.Close()); err != nil {
		b.Error(err)
	}
	return told
}

// A person sees the plan and decides whether plan mode ends, and how the session goes on. The call
// beside the one that leaves plan mode is judged in the new mode.
func TestN8_ModesLeavingPlan(t *testing.T) {
	for name, c := range map[string]struct {
		answer permit.Answer
		told   []permit.Mode
		asked  int    // about late.txt
		late   string // its fate
		want   string // in the result
	}{
		"yes": {permit.Answer{Verdict: tool.Allow}, []permit.Mode{permit.ModeAsk}, 1, "q",
			"The user approved the plan."},
		"yes, accept edits": {permit.Answer{Verdict: tool.Allow, Mode: permit.ModeAcceptEdits},
			[]permit.Mode{permit.ModeAcceptEdits}, 0, "r", "without a question"},
		"yes, full": {permit.Answer{Verdict: tool.Allow, Mode: permit.ModeFull}, []permit.Mode{permit.ModeFull},
			0, "r", "without a question"},
		"yes, changed": {permit.Answer{Verdict: tool.Allow, Args: `{"plan": "1. Make it small."}`},
			[]permit.Mode{permit.ModeAsk}, 1, "q",
			"The user has changed it. It is now:\n\n1. Make it small."},
		"no": {permit.Answer{Reason: "too big"}, nil, 0, "d",
			"the user does not approve the plan: too big. The session is still in plan mode"},
	} {
		t.Run(name, func(t *testing.T) {
			var plans []string
			late := 0
			b := planning(t, func(_ context.Context, q permit.Question) (permit.Answer, error) {
				if q.Plan == "" {
					late++
					return permit.Answer{Verdict: tool.Allow}, nil
				}
				plans = append(plans, q.Plan)
				return c.answer, nil
			})
			told := b.plan()
			if !slices.Equal(told, c.told) || !slices.Equal(plans, []string{"1. Make late.txt."}) || late != c.asked {
				t.Errorf("told %v, asked about %q, and %d times about late.txt", told, plans, late)
			}
			results := b.results()
			if got := fate(results["call_1_1"], late > 0); got != c.late || fate(results["call_0_0"], false) != "d" {
				t.Errorf("%s: %q after %q", got, results["call_1_1"].Content.Text(), results["call_0_0"].Content.Text())
			}
			if text := results["call_1_0"].Content.Text(); !strings.Contains(text, c.want) {
				t.Errorf("%q", text)
			}
			if text := b.lastRequest(); strings.Count(text, "The session is in plan mode.") != 1 {
				t.Errorf("the model was not told once that it plans: %s", text)
			}
		})
	}
}

// The summary of a conversation repeats the plan.
func TestN8_ModesPlanIsKept(t *testing.T) {
	b := planning(t, yes)
	setup, err := prepare(t.Context(), b.config)
	if err != nil {
		t.Fatal(err)
	}
	setup.Options.Questions, setup.Options.Compaction.KeepTurns = answering, 1
	session, err := setup.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = session.Submit(t.Context(), "the task")
	if err := errors.Join(err, session.Compact(t.Context()), session.Close(), setup.Close()); err != nil {
		t.Error(err)
	}
	if last := b.lastRequest(); !strings.Contains(last, "repeat the newest plan word for word") ||
		!strings.Contains(last, "1. Make late.txt.") {
		t.Errorf("the request for the summary: %s", last)
	}
}
