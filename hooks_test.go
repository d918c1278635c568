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
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/load"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
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
	".claude/hooks/log.sh": `cat >>log`,
	".claude/hooks/bash.sh": `tee -a log | grep -q 'rm -rf' && { echo "no rm here" >&2; exit 2; }` + "\n" +
		`tail -n 1 log | grep -q 'echo old' && echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {"command": "echo new"}}}'; exit 0`,
	".claude/hooks/files.sh": "#!/bin/sh\n" +
		`tee -a log | grep -q '"file_path":"[^"]*/.env"' && { echo "leave .env alone" >&2; exit 2; }; exit 0`,
	".claude/hooks/stop.sh": `tee -a log | grep -q '"stop_hook_active":true' && exit 0; echo "run the tests first" >&2; exit 2`,
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
		return fakellm.Turn{Calls: []fakellm.Call{{Name: "apply_patch",
			Raw: "*** Begin Patch\n*** Add File: " + file + "\n+" + text + "\n*** End Patch\n"}}}
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
func (w *watched) dialect(d dialect) config {
	c := w.config()
	c.chosen.provider, c.chosen.model, c.Profile, c.chosen.native, c.BaseURL = &d.profile, ptr("m"), d.profile,
		&d.native, w.url
	if d.profile == "openai" {
		c.BaseURL += "/v1"
	}
	c.Getenv = variables("ANTHROPIC_API_KEY", "k", "OPENAI_API_KEY", "k", "GEMINI_API_KEY", "k", "HOME", w.TempDir())
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

// Hooks of a project get, decide and add the same in all profiles and both dialects, if the project
// is trusted, and nothing otherwise.
func TestM9_SameInAllDialects(t *testing.T) {
	t.Parallel()
	var first []string
	for _, d := range dialects() {
		t.Run(fmt.Sprintf("%s native %v", d.profile, d.native), func(t *testing.T) {
			w := newWatched(t, d.shell(t, "rm -rf everything"), d.shell(t, "echo old"), d.write(t, ".env", "KEY=1"),
				d.write(t, "ok.txt", "fine"), d.shell(t, "exit 3"),
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
			if !strings.Contains(begun, "The branch is frozen.") || !strings.Contains(begun, "It is Sunday.") ||
				!strings.Contains(w.lastRequest(), "run the tests first") {
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

// hookSettings returns a file with one hook.
func hookSettings(t *testing.T, event, matcher, command string, more ...any) string {
	t.Helper()
	h := object{"type": "command", "command": command}
	for i := 0; i < len(more); i += 2 {
		h[more[i].(string)] = more[i+1]
	}
	data, err := json.Marshal(object{"hooks": object{event: []any{object{"matcher": matcher, "hooks": []any{h}}}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// hasLine reports whether a text is in one of several.
func hasLine(texts []string, part string) bool {
	return strings.Contains(strings.Join(texts, "\n"), part)
}

// The hooks of a project that nobody trusts do not run, which is told once, and the session works.
func TestM9_Untrusted(t *testing.T) {
	for name, change := range map[string]func(*config){
		"untrusted": func(*config) {}, "trusted, but no hooks": func(c *config) {
			c.TrustProject, c.NoHooks = true,
				true
		},
	} {
		w := newWatched(t, calls(t, "shell", object{"command": "rm -rf everything"}), fakellm.Turn{Text: "done"})
		for name, text := range hooked {
			w.write(name, text)
		}
		c := w.config()
		change(&c)
		if _, result := w.submit(c, "go", w.see); result.Text != "done" || w.read("log") != "-" {
			t.Errorf("%s: %+v, log %s", name, result, w.read("log"))
		}
		if got := w.warned(); !c.NoHooks &&
			(len(got) != 1 || !strings.Contains(got[0],
				"hooks: PostToolUse, PostToolUseFailure, PreToolUse, SessionEnd, SessionStart, Stop, "+
					"UserPromptSubmit") || !strings.Contains(got[0], "attractor trust")) {
			t.Errorf("%s: warned of %q", name, got)
		}
	}
}

// Directories of the user's that are relative do not make hooks of a project the user's.
func TestM9_RelativeDirectoriesOfUsers(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{".claude/settings.json", ".codex/hooks.json", "attractor/hooks.json"} {
		put(t, dir, name, hookSettings(t, "Stop", "", "true"))
	}
	getenv := variables("HOME", t.TempDir(), "XDG_CONFIG_HOME", ".", "CLAUDE_CONFIG_DIR", ".claude", "CODEX_HOME",
		".codex")
	project, err := load.ReadProject(dir, getenv, false)
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, ".claude/skills/own/SKILL.md", "---\nname: own\ndescription: Does something.\n---\nx")
	put(t, dir, ".claude/commands/own.md", "x")
	if s, c := load.ReadSkills(project, getenv), load.ReadCommands(project, getenv); len(s.List)+len(c.List) != 0 {
		t.Errorf("skills %v, commands %v", s.List, c.List)
	}
	if c := load.ReadHooks(project, getenv); len(c.List) != 0 || len(c.Untrusted) != 2 {
		t.Errorf("used %v, untrusted %v", c.List, c.Untrusted)
	}
	for profile, name := range map[string]string{"anthropic": ".claude/CLAUDE.md", "openai": ".codex/AGENTS.md"} {
		put(t, dir, name, "x")
		if o := Documents(t.Context(), profile, getenv); len(o.User) != 0 {
			t.Errorf("%s: documents of the user: %+v", profile, o.User)
		}
	}
}

// A mistake in a trusted file is a warning with its line, and the other hooks run. If hooks must
// not fail, a lost guard prevents the session.
func TestM9_MistakesAreTold(t *testing.T) {
	const file = "{\"hooks\": {\n\"PreToolUse\": [{\"hooks\": [{\"type\": \"agent\"}]}],\n\"SessionEnd\": " +
		"[{\"hooks\": [{\"type\": \"command\", \"command\": \"echo >ended\"}]}]}}"
	w := newWatched(t, fakellm.Turn{Text: "done"})
	w.write(".attractor/hooks.json", file)
	c := w.config()
	c.TrustProject = true
	w.submit(c, "go", w.see)
	if got := w.warned(); len(got) != 1 ||
		!strings.Contains(got[0], "hooks.json, line 2: hooks of the type agent are not supported") ||
		w.read("ended") == "-" {
		t.Errorf("warned of %q, ended: %q", got, w.read("ended"))
	}
	c.StrictHooks = true
	if setup, err := prepare(t.Context(), c); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("%v, %v", setup, err)
	}
	c.StrictHooks = false
	home := t.TempDir()
	put(t, home, ".claude/settings.json", `{"disableAllHooks": true}`)
	c.Getenv = variables("ANTHROPIC_API_KEY", "k", "ANTHROPIC_BASE_URL", w.url, "HOME", home)
	put(t, w.dir, "ended", "no")
	b := newBench(t, fakellm.Turn{Text: "done"})
	c.Getenv = variables("ANTHROPIC_API_KEY", "k", "ANTHROPIC_BASE_URL", b.url, "HOME", home)
	b.submit(c, "go")
	if w.read("ended") != "no" {
		t.Error("a hook ran although the user has turned hooks off")
	}
}

// The user's hooks run outside of the sandbox, those of the project inside, with what the session's
// commands may do. Both get the project's directory and no secrets.
func TestM9_WhereHooksRun(t *testing.T) {
	peer.Need(t, "bwrap")
	t.Setenv("SOME_TOKEN", "a-secret-of-the-user")
	outside, home := t.TempDir(), t.TempDir()
	w := newWatched(t, calls(t, "shell", object{"command": "true"}), fakellm.Turn{Text: "done"})
	put(t, home, ".claude/settings.json",
		hookSettings(t, "PreToolUse", "Bash", "env >"+outside+"/user; pwd >>"+outside+"/user"))
	w.write("sub/x", "")
	w.write(".claude/settings.json",
		hookSettings(t, "PreToolUse", "Bash", "env >ran; touch "+outside+"/project; ls "+home+" && touch seen; true"))
	c := w.config()
	c.TrustProject, c.Sandbox = true, sandbox.Options{Level: sandbox.Workspace, State: t.TempDir(), Cache: t.TempDir()}
	c.Getenv = variables("ANTHROPIC_API_KEY", "k", "ANTHROPIC_BASE_URL", w.url, "HOME", home)
	w.submit(c, "go", w.see)
	user, err := os.ReadFile(filepath.Join(outside, "user"))
	if err != nil || !strings.Contains(string(user), "CLAUDE_PROJECT_DIR="+w.dir) || !strings.HasSuffix(string(user),
		w.dir+"\n") {
		t.Errorf("the user's hook: %s, %v", user, err)
	}
	if project := w.read("ran"); !strings.Contains(project, "CLAUDE_PROJECT_DIR="+w.dir) ||
		strings.Contains(project+string(user), "a-secret-of-the-user") {
		t.Errorf("the project's hook: %s; %q", project, w.warned())
	}
	if _, err := os.Stat(filepath.Join(outside, "project")); err == nil || w.read("seen") != "-" {
		t.Error("the project's hook has left the sandbox")
	}
}

// A hook of the user's runs no program that PATH finds in a project, until the user trusts it.
func TestM9_HooksRunNoProgramsOfAProject(t *testing.T) {
	for _, trusted := range []bool{false, true} {
		home := t.TempDir()
		w := newWatched(t, calls(t, "shell", object{"command": "ls"}), fakellm.Turn{Text: "done"})
		put(t, home, ".claude/settings.json", hookSettings(t, "PreToolUse", "Bash", "format-it; true"))
		w.write("bin/format-it", "#!/bin/sh\n: >"+filepath.Join(home, "ran")+"\n")
		if err := os.Chmod(filepath.Join(w.dir, "bin/format-it"), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", filepath.Join(w.dir, "bin")+":"+os.Getenv("PATH"))
		c := w.config()
		c.TrustProject = trusted
		c.Getenv = variables("ANTHROPIC_API_KEY", "k", "ANTHROPIC_BASE_URL", w.url, "HOME", home)
		w.submit(c, "go", w.see)
		if _, err := os.Stat(filepath.Join(home, "ran")); (err == nil) != trusted {
			t.Errorf("trusted: %v, the hook's program: %v; %q", trusted, err, w.warned())
		}
	}
}

// Where a session cannot be prepared after its hooks were read, that is the error.
func TestM9_HooksBesideBrokenRules(t *testing.T) {
	w := newWatched(t)
	home := t.TempDir()
	put(t, home, ".claude/settings.json", strings.Replace(hookSettings(t, "PreToolUse", "Bash", "true"), "{",
		`{"permissions": {"deny": ["Bash(curl"]}, `, 1))
	c := w.config()
	c.Getenv = variables("ANTHROPIC_API_KEY", "k", "ANTHROPIC_BASE_URL", w.url, "HOME", home)
	if _, err := prepare(t.Context(), c); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), `"Bash(curl"`) {
		t.Errorf("error %v", err)
	}
}

// A script of the project that a hook names is compared right before it runs.
func TestM9_ChangedScripts(t *testing.T) {
	for name, strict := range map[string]bool{"has no effect": false, "blocks": true} {
		t.Run(name, func(t *testing.T) {
			w := newWatched(t, calls(t, "shell", object{"command": "echo touch stolen >check.sh"}),
				calls(t, "shell", object{"command": "touch made"}), fakellm.Turn{Text: "done"})
			w.write(".claude/settings.json", hookSettings(t, "PreToolUse", "Bash", "sh ./check.sh"))
			w.write("check.sh", "echo x >>checked\n")
			c := w.config()
			c.TrustProject, c.StrictHooks = true, strict
			w.submit(c, "go", w.see)
			if w.read("stolen") != "-" || w.read("checked") != "x\n" || (w.read("made") == "-") != strict {
				t.Errorf("stolen %q, checked %q, made %q", w.read("stolen"), w.read("checked"), w.read("made"))
			}
			if got := w.warned(); len(got) != 1 || !strings.Contains(got[0], "not the one that you trusted") {
				t.Errorf("warned of %q", got)
			}
		})
	}
}

// What a project's hook allows answers the question of the built-in rules, and no rule that denies
// or asks.
func TestM9_AllowBeatsNoRule(t *testing.T) {
	const allow = `echo '{"hookSpecificOutput": {"hookEventName": "%s", "%s}}'`
	for event, says := range map[string]string{"PreToolUse": `permissionDecision": "allow"`,
		"PermissionRequest": `decision": {"behavior": "allow"}`} {
		w := newWatched(t, calls(t, "shell", object{"command": "touch free"}),
			calls(t, "shell", object{"command": "touch asked"}), calls(t, "shell", object{"command": "touch denied"}),
			fakellm.Turn{Text: "done"})
		w.write(".claude/settings.json", hookSettings(t, event, "Bash", fmt.Sprintf(allow, event, says)))
		w.write(".attractor/rules.json",
			`{"permissions": {"ask": ["Bash(touch asked)"], "deny": ["Bash(touch denied)"]}}`)
		asked := 0
		c := w.asking(func(context.Context, permit.Question) (permit.Answer, error) {
			asked++
			return permit.Answer{Reason: "no"}, nil
		})
		c.TrustProject = true
		w.submit(c, "go", w.see)
		if asked != 1 || w.read("free") == "-" || w.read("asked") != "-" || w.read("denied") != "-" {
			t.Errorf("%s: %d questions, free %q, asked %q, denied %q", event, asked, w.read("free"), w.read("asked"),
				w.read("denied"))
		}
	}
}

// Hooks see the calls of subagents, with one id for each agent from its start to its end, and can
// instruct it.
func TestM9_Subagents(t *testing.T) {
	w := newWatched(t)
	web := httptest.NewServer(fakellm.New(func(r *fakellm.Request) fakellm.Turn {
		turns := []fakellm.Turn{calls(t, "spawn_agent", object{"task": "count the files"}),
			calls(t, "wait", object{"agent_id": "agent-1"}), {Text: "done"}}
		if strings.Contains(string(r.Body), "You work for another agent") {
			if !strings.Contains(string(r.Body), "Be quick.") {
				t.Error("the agent was not instructed")
			}
			turns = []fakellm.Turn{calls(t, "shell", object{"command": "ls"}), {Text: "three"}, {Text: "three of them"}}
		}
		return turns[min(r.Turn(), len(turns)-1)]
	}, fakellm.Options{}))
	t.Cleanup(web.Close)
	w.url = web.URL
	w.write(".claude/settings.json", `{"hooks": {
		"SubagentStart": [{"matcher": "general-purpose", "hooks": [{"type": "command", "command": "cat >>log; echo '{\"hookSpecificOutput\": {\"hookEventName\": \"SubagentStart\", \"additionalContext\": \"Be quick.\"}}'"}]}],
		"PreToolUse": [{"hooks": [{"type": "command", "command": "cat >>log"}]}],
		"SubagentStop": [{"hooks": [{"type": "command", "command": "tee -a log | grep -q '\"stop_hook_active\":true' || { echo of what >&2; exit 2; }"}]}]}}`)
	c := w.config()
	c.TrustProject = true
	id, _ := w.submit(c, "go", w.see)
	var got []string
	agents := map[any]bool{}
	for line := range strings.Lines(w.read("log")) {
		var p map[string]any
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			t.Fatal(err)
		}
		if p["session_id"] != id {
			t.Errorf("the session of %s is not %s", line, id)
		}
		if p["agent_id"] != nil {
			agents[p["agent_id"]] = true
		}
		got = append(got, fmt.Sprint(p["hook_event_name"], " ", p["tool_name"], " ", p["agent_type"]))
	}
	slices.Sort(got)
	want := []string{"PreToolUse Agent <nil>", "PreToolUse Bash general-purpose", "PreToolUse wait <nil>",
		"SubagentStart <nil> general-purpose",
		"SubagentStop <nil> general-purpose", "SubagentStop <nil> general-purpose"}
	if diff := cmp.Diff(want, got); diff != "" || len(agents) != 1 {
		t.Errorf("%d agents (-want +got):\n%s", len(agents), diff)
	}
}

// A resumed session tells its hooks so. A replay runs none.
func TestM9_ResumeAndReplay(t *testing.T) {
	w := newWatched(t, calls(t, "shell", object{"command": "true"}), fakellm.Turn{Text: "one"},
		fakellm.Turn{Text: "two"})
	w.write(".claude/settings.json",
		`{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "sed 's/.*\"source\":\"\\([a-z]*\\)\".*/\\1/' >>log"}]}],
		"PreToolUse": [{"hooks": [{"type": "command", "command": "echo call >>log"}]}], "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "echo prompt >>log"}]}]}}`)
	c := w.config()
	c.TrustProject = true
	id, _ := w.submit(c, "go", w.see)
	again := w.config()
	again.TrustProject, again.Resume, again.Dir = true, id, ""
	w.submit(again, "go on", w.see)
	const want = "startup\nprompt\ncall\nresume\nprompt\n"
	if got := w.read("log"); got != want {
		t.Errorf("hooks ran: %q; %q", got, w.warned())
	}
	log, err := w.store.Open(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := agent.Replay(t.Context(), log, agent.ReplayOptions{}); err != nil || w.read("log") != want {
		t.Errorf("%v; hooks ran: %q", err, w.read("log"))
	}
}

// Hooks can end the input, prevent a compaction, and hear that a person is needed. A condition
// chooses calls as a rule does.
func TestM9_OtherEvents(t *testing.T) {
	w := newWatched(t, calls(t, "shell", object{"command": "cd . && git push origin"}),
		calls(t, "shell", object{"command": "touch x"}), calls(t, "shell", object{"command": "touch y"}),
		fakellm.Turn{Text: "done"})
	w.write(".claude/settings.json", `{"hooks": {
		"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "exit 2", "if": "Bash(git push *)"}]}],
		"Notification": [{"matcher": "permission_prompt", "hooks": [{"type": "command", "command": "cat >>noted"}]}],
		"PostToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "echo '{\"continue\": false, \"stopReason\": \"that is enough\", \"systemMessage\": \"a word to the person\"}'"}]}]}}`)
	asked := 0
	c := w.asking(func(context.Context, permit.Question) (permit.Answer, error) {
		asked++
		return permit.Answer{Verdict: tool.Allow}, nil
	})
	c.TrustProject = true
	_, result := w.submit(c, "go", w.see)
	if result.Reason != agent.ReasonInterrupted || asked != 1 || w.read("x") != "" || w.read("y") != "-" {
		t.Errorf("%+v, %d questions, x %q, y %q", result, asked, w.read("x"), w.read("y"))
	}
	if !hasLine(w.outputs(), "a hook for PreToolUse blocks it") ||
		!hasLine(w.warned(), "hook_message: a word to the person") || strings.Count(w.read("noted"),
		"permission_prompt") != 1 {
		t.Errorf("outputs %q, warned of %q, noted %q", w.outputs(), w.warned(), w.read("noted"))
	}
}

// In the mode accept-edits, an edit of a file that a hook runs asks, whoever's the hook is: the
// hook would run it without a question.
func TestU19_EditsOfWhatHooksRunAsk(t *testing.T) {
	asked := []string{"scripts/check.sh", "scripts/lib.sh", "scripts/new.sh", "GNUmakefile", "Makefile"}
	var turns []fakellm.Turn
	for _, name := range append([]string{"main.go"}, asked...) {
		turns = append(turns, calls(t, "write_file", object{"file_path": name, "content": "x"}))
	}
	w := newWatched(t, append(turns, fakellm.Turn{Text: "done"})...)
	home := t.TempDir()
	put(t, home, ".claude/settings.json", hookSettings(t, "SessionEnd", "", "cd scripts && ./check.sh"))
	w.write("scripts/check.sh", "#!/bin/sh\n. ./lib.sh\n./new.sh\n")
	w.write("scripts/lib.sh", "true\n")
	w.write(".attractor/hooks.json", hookSettings(t, "SessionEnd", "", "make lint"))
	w.write("Makefile", "lint:\n")
	c := w.config()
	var questions []string
	c.TrustProject, c.Mode, c.Allow = true, permit.ModeAcceptEdits, []string{"Edit(./**)"}
	c.Ask = func(_ context.Context, q permit.Question) (permit.Answer, error) {
		questions = append(questions, q.Call.Args)
		return permit.Answer{Reason: "no"}, nil
	}
	c.Getenv = variables("ANTHROPIC_API_KEY", "k", "ANTHROPIC_BASE_URL", w.url, "HOME", home)
	w.submit(c, "go", w.see)
	if w.read("main.go") != "x" {
		t.Errorf("an ordinary file: %q", w.read("main.go"))
	}
	if len(questions) != len(asked) {
		t.Errorf("questions: %q", questions)
	}
	for _, name := range asked {
		if w.read(name) == "x" {
			t.Errorf("%s was changed without a question", name)
		}
	}
}

// So do edits of files that do not exist yet, but that a word or a variable of a hook's command
// names, and of those in a directory that it puts into PATH.
func TestU19_EditsOfWhatHooksWillRunAsk(t *testing.T) {
	for command, name := range map[string]string{"awk -f hooks/new.awk": "hooks/new.awk",
		"PATH=$PWD/tools:$PATH check": "tools/check", "BASH_ENV=hooks/env bash -c true": "hooks/env",
		"node -e 'require(\"./more\")'": "more.js"} {
		w := newWatched(t, calls(t, "write_file", object{"file_path": name, "content": "x"}, "write_file",
			object{"file_path": "main.go", "content": "x"}), fakellm.Turn{Text: "done"})
		home := t.TempDir()
		put(t, home, ".claude/settings.json", hookSettings(t, "SessionEnd", "", command))
		c := w.config()
		c.Mode = permit.ModeAcceptEdits
		c.Getenv = variables("ANTHROPIC_API_KEY", "k", "ANTHROPIC_BASE_URL", w.url, "HOME", home)
		c.Allow = []string{"Edit(./**)"}
		c.Ask = func(context.Context, permit.Question) (permit.Answer, error) {
			return permit.Answer{Reason: "no"}, nil
		}
		w.submit(c, "go", w.see)
		if w.read(name) == "x" || w.read("main.go") != "x" {
			t.Errorf("%s: %s %q, main.go %q", command, name, w.read(name), w.read("main.go"))
		}
	}
}

// Without a rule that allows edits, that of any file asks if a hook has more than a few commands
// that read, print, tell or format.
func TestU19_EditsThatHooksMayRunAsk(t *testing.T) {
	for command, asks := range map[string]bool{"make lint": true, "npx prettier --write x": true, "mocha": true,
		"node tools/x.js": true, "python3 -c 'import json'": true, "sh tools/y.sh": true,
		"bun THERE/hooks/guard.sh":            true,
		"Rscript THERE/hooks/guard.sh":        true,
		"find . -name '*.hook' -exec sh {} +": true, "ls hooks | while read f; do sh hooks/$f; done": true,
		"cat list | sh": true, "cat list | xargs sh": true, "$(cat list)": true, "PATH=.:$PATH cat": true,
		"cd \"$(cat where)\" && ./check": true, "CDPATH=.; cd sub": true, "f() { ./x; }; f": true,
		"sed -n 1e'make' x":         true,
		"osascript -e \"$(cat x)\"": true, "echo 'unfinished": true,
		"osascript -e 'do shell script \"cd /work; make\"'":                       true,
		"osascript -e 'display notification (do shell script \"/work/tools/n\")'": true,
		"osascript -e 'display notification \"done\" with title \"x (y)\"'":       false,
		"n=$(jq .n); echo $((n))": true, "n=$(jq .n); echo \"${PWD:n}\"": true, "curl -sK tools/c": true,
		"jq -r .tool_input.file_path | xargs gofmt -w":      false,
		"f=$(jq -r .tool_name) && /bin/echo \"$f\" >>~/log": false,
		"osascript -e 'display notification \"done\"'":      false, "cat list | grep x | head -1": false,
		"python3 /elsewhere/x.py": true, "/elsewhere/guard.sh": true, "sh \"$HOME\"/hooks/guard.sh": true,
		"black x.py": true, "input=$(cat); case $input in *forbidden*) echo no >&2; exit 2 ;; esac": false} {
		w := newWatched(t, calls(t, "write_file", object{"file_path": "main.go", "content": "x"}),
			fakellm.Turn{Text: "done"})
		home := t.TempDir()
		put(t, home, ".claude/settings.json", hookSettings(t, "SessionEnd", "", command))
		w.write("tools/x.js", "x\n")
		c := w.config()
		c.Mode, c.Getenv = permit.ModeAcceptEdits, variables("ANTHROPIC_API_KEY", "k", "ANTHROPIC_BASE_URL", w.url,
			"HOME", home)
		var reasons []string
		c.Ask = func(_ context.Context, q permit.Question) (permit.Answer, error) {
			reasons = append(reasons, q.Reasons...)
			return permit.Answer{Reason: "no"}, nil
		}
		w.submit(c, "go", w.see)
		if (w.read("main.go") == "x") == asks ||
			asks && !hasLine(reasons, "and the hook "+command[:min(len(command), 9)]) {
			t.Errorf("%s: %q, main.go %q", command, reasons, w.read("main.go"))
		}
	}
}
