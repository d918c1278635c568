//go:build unix

package host_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/internal/host"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// hooked is a project whose hooks write down what they get, deny, change and add.
var hooked = map[string]string{
	".claude/settings.json": `{"hooks": {
		"SessionStart": [{"matcher": "startup|resume", "hooks": [{"type": "command", "command": "sh .claude/hooks/log.sh; echo The branch is frozen."}]}],
		"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "sh .claude/hooks/log.sh; echo It is Sunday."}]}],
		"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "sh .claude/hooks/bash.sh"}]},
			{"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/.claude/hooks/files.sh"}]}],
		"PostToolUse": [{"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "sh .claude/hooks/log.sh; echo '{\"hookSpecificOutput\": {\"hookEventName\": \"PostToolUse\", \"additionalContext\": \"The linter is content.\"}}'"}]}],
		"PostToolUseFailure": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "sh .claude/hooks/log.sh"}]}],
		"Stop": [{"hooks": [{"type": "command", "command": "sh .claude/hooks/stop.sh"}]}],
		"SessionEnd": [{"hooks": [{"type": "command", "command": "sh .claude/hooks/log.sh"}]}]}}`,
	".claude/hooks/log.sh":   `cat >>log`,
	".claude/hooks/bash.sh":  `tee -a log | grep -q 'rm -rf' && { echo "no rm here" >&2; exit 2; }` + "\n" + `tail -n 1 log | grep -q 'echo old' && echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {"command": "echo new"}}}'; exit 0`,
	".claude/hooks/files.sh": "#!/bin/sh\n" + `tee -a log | grep -q '"file_path":"[^"]*/.env"' && { echo "leave .env alone" >&2; exit 2; }; exit 0`,
	".claude/hooks/stop.sh":  `tee -a log | grep -q '"stop_hook_active":true' && exit 0; echo "run the tests first" >&2; exit 2`,
}

// dialect holds how a profile calls what the model of a test wants to do.
type dialect struct {
	profile string
	native  bool
	shell   func(t *testing.T, command string) fakellm.Turn
	write   func(t *testing.T, name, text string) fakellm.Turn
}

func dialects() (all []dialect) {
	shell := func(name, arg string) func(*testing.T, string) fakellm.Turn {
		return func(t *testing.T, command string) fakellm.Turn { return calls(t, name, object{arg: command}) }
	}
	write := func(name string) func(*testing.T, string, string) fakellm.Turn {
		return func(t *testing.T, file, text string) fakellm.Turn {
			return calls(t, name, object{"file_path": file, "content": text + "\n"})
		}
	}
	patch := func(_ *testing.T, file, text string) fakellm.Turn {
		return fakellm.Turn{Calls: []fakellm.Call{{Name: "apply_patch", Raw: "*** Begin Patch\n*** Add File: " + file + "\n+" + text + "\n*** End Patch\n"}}}
	}
	return []dialect{
		{"anthropic", false, shell("shell", "command"), write("write_file")},
		{"anthropic", true, shell("Bash", "command"), write("Write")},
		{"openai", false, shell("shell", "command"), write("write_file")},
		{"openai", true, shell("exec_command", "cmd"), patch},
		{"gemini", false, shell("shell", "command"), write("write_file")},
		{"gemini", true, shell("run_shell_command", "command"), write("write_file")},
	}
}

// watched is a session with hooks, whose events are kept.
type watched struct {
	*bench
	mu     sync.Mutex
	events []agent.Event
}

// config returns a configuration for a dialect.
func (w *watched) dialect(d dialect) host.Config {
	c := w.config()
	c.Provider, c.Model, c.Profile, c.Native, c.BaseURL = &d.profile, ptr("m"), d.profile, &d.native, w.url
	if d.profile == "openai" {
		c.BaseURL += "/v1"
	}
	c.Getenv = variables("ANTHROPIC_API_KEY", "k", "OPENAI_API_KEY", "k", "GEMINI_API_KEY", "k")
	return c
}

func (w *watched) see(o *agent.Options) {
	o.OnEvent = func(ev agent.Event) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.events = append(w.events, ev)
	}
}

// warned returns the warnings of the session.
func (w *watched) warned() (texts []string) {
	for _, ev := range w.events {
		if ev, ok := ev.(*agent.Warning); ok && ev.Code != "model_unknown" {
			texts = append(texts, ev.Code+": "+ev.Text)
		}
	}
	return texts
}

// outputs returns the results of calls, in order.
func (w *watched) outputs() (texts []string) {
	for _, ev := range w.events {
		if ev, ok := ev.(*agent.ToolCallEnd); ok {
			texts = append(texts, ev.Output)
		}
	}
	return texts
}

func newWatched(t *testing.T, turns ...fakellm.Turn) *watched {
	b := newBench(t, turns...)
	dir, err := filepath.EvalSymlinks(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	b.dir = dir
	return &watched{bench: b}
}

// plain returns what hooks got, without what differs between profiles, sessions and directories.
func plain(t *testing.T, log, dir string) (lines []string) {
	t.Helper()
	for line := range strings.Lines(log) {
		var payload map[string]any
		if err := json.Unmarshal([]byte(strings.ReplaceAll(line, dir, "DIR")), &payload); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		for _, name := range []string{"session_id", "tool_use_id"} {
			if payload[name] == "" {
				t.Errorf("there is no %s: %s", name, line)
			}
			delete(payload, name)
		}
		delete(payload, "error") // as the tool words it
		if r, ok := payload["tool_response"].(map[string]any); ok {
			delete(r, "text")
		}
		data, err := json.Marshal(payload)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(data))
	}
	return lines
}

// Hooks of a project get, decide and add the same in all profiles and both dialects, if the project is trusted, and nothing otherwise.
func TestM9_SameInAllDialects(t *testing.T) {
	var first []string
	for _, d := range dialects() {
		t.Run(fmt.Sprintf("%s native %v", d.profile, d.native), func(t *testing.T) {
			w := newWatched(t, d.shell(t, "rm -rf everything"), d.shell(t, "echo old"), d.write(t, ".env", "KEY=1"), d.write(t, "ok.txt", "fine"), d.shell(t, "exit 3"),
				fakellm.Turn{Text: "done"}, fakellm.Turn{Text: "really done"})
			for name, text := range hooked {
				w.write(name, text)
			}
			if err := os.Chmod(filepath.Join(w.dir, ".claude/hooks/files.sh"), 0o755); err != nil {
				t.Fatal(err)
			}
			c := w.dialect(d)
			c.TrustProject = true
			_, result := w.submit(c, "go", w.see)
			if result.Text != "really done" {
				t.Errorf("%+v, warned of %q", result, w.warned())
			}
			out := w.outputs()
			for i, want := range []string{"no rm here", "new", "leave .env alone", "The linter is content.", "3"} {
				if len(out) != 5 || !strings.Contains(out[i], want) {
					t.Errorf("result %d of %q, want %q", i, out, want)
				}
			}
			begun := string(w.server.Requests()[0].Body)
			if !strings.Contains(begun, "The branch is frozen.") || !strings.Contains(begun, "It is Sunday.") || !strings.Contains(w.lastRequest(), "run the tests first") {
				t.Errorf("the model read %s\nand %s", begun, w.lastRequest())
			}
			if w.read(".env") != "-" || w.read("ok.txt") != "fine\n" {
				t.Errorf(".env %q, ok.txt %q", w.read(".env"), w.read("ok.txt"))
			}
			if got := w.warned(); len(got) > 0 {
				t.Errorf("warned of %q", got)
			}
			got := plain(t, w.read("log"), w.dir)
			if first == nil {
				first = got
				t.Logf("hooks got\n%s", strings.Join(got, "\n"))
			}
			if diff := cmp.Diff(first, got); diff != "" || len(got) != 12 {
				t.Errorf("hooks got %d payloads (-first +this):\n%s", len(got), diff)
			}
		})
	}
}
