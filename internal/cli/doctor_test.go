//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// inHome writes a file of the user's.
func (h *home) inHome(name, text string) {
	h.Helper()
	name = filepath.Join(h.home, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		h.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		h.Fatal(err)
	}
}

// there writes a file of the project.
func (h *home) there(name, text string) {
	h.Helper()
	in := *h
	in.home = h.dir
	in.inHome(name, text)
}

// Doctor shows what a session would use and where it comes from, starts nothing of a project that
// is not trusted, prints no keys, and ends with 1 if something is broken.
func TestX5_Doctor(t *testing.T) {
	t.Parallel()
	h := newHome(t, unusedURL)
	mark := filepath.Join(t.TempDir(), "started")
	h.inHome(".claude/settings.json",
		`{"model": "opus", "apiKeyHelper": "x", "permissions": {"defaultMode": "acceptEdits", "deny": ["Bash(curl:*)"]}, "env": {"SOME_NAME": "y"}}`)
	h.inHome(".config/attractor/config.json", `{"max_rounds": 7}`)
	h.there(".mcp.json", `{"mcpServers": {"theirs": {"command": "touch", "args": ["`+mark+`"]}}}`)
	h.there(".claude/settings.json", `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "touch `+mark+
		`"}]}]}, "permissions": {"allow": ["Bash(rm:*)"]}}`)
	h.inHome(".gemini/settings.json", `{"general": {"defaultApprovalMode": "plan"}}`)
	h.there("AGENTS.md", "Be kind.")
	h.there(".claude/skills/one/SKILL.md", "---\nname: one\ndescription: x\n---\n")
	out := h.run(0, "doctor", "--servers").stdout
	has(t, out, "provider       anthropic", "model          claude-opus-", "mode           accept-edits",
		"sandbox        off",
		"max_rounds  7 ", filepath.Join(h.home, ".config/attractor/config.json")+", line 1\n", "SOME_NAME (",
		"ANTHROPIC_API_KEY is set",
		"workspace ", "theirs  project  -  needs trust  the project is not trusted", "Stop  *  project  needs trust ",
		"those that deny or ask count", "because the project is not trusted: skills: one.", "1 note",
		"AGENTS.md: in the prompt", "mode plan is not used: "+h.home+
			"/.claude/settings.json: permissions.defaultMode counts\n",
		"apiKeyHelper has no effect here: use the setting key_command", "Nothing is broken.")
	if strings.Contains(out, "key-of-a-test") {
		t.Errorf("a key is printed:\n%s", out)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("something of the project was started")
	}
	has(t, h.run(0, "doctor").stdout, "theirs         project: not started, because the project is not trusted")
	has(t, h.run(exitFailed, "doctor", "--servers", "--trust-project").stdout, "1 problem", "the MCP server theirs: ",
		"all count")
	if _, err := os.Stat(mark); err != nil {
		t.Error("the server of a trusted project was not started")
	}
	h.inHome(".config/attractor/config.json", `{"max_round": 7}`)
	if out := h.run(exitFailed, "doctor"); !strings.Contains(out.stdout, "1 problem") ||
		!strings.Contains(out.stdout, "do you mean max_rounds?") {
		t.Errorf("a mistake: %+v", out)
	}
	h.inHome(".config/attractor/config.json", `{"provider": "openai"}`)
	has(t, h.run(exitFailed, "doctor").stdout, "1 problem\n", "no API key: set OPENAI_API_KEY", "provider       none")
	h.inHome(".claude.json", `{"numStartups": 9, "mcpServers": {}}`)
	if out := h.run(exitFailed, "doctor"); strings.Contains(out.stdout, "those of Claude Code") {
		t.Errorf("no servers: %s", out.stdout)
	}
	h.inHome(".claude.json", `{"mcpServers": {"files": {"command": "x"}}}`)
	has(t, h.run(exitFailed, "doctor").stdout, "those of Claude Code: --mcp "+filepath.Join(h.home, ".claude.json"))
}

// Where the sandbox of the user's Claude Code cannot be had, doctor and mcp list say that they and
// a session go on without it.
func TestX5_DoctorWithoutAnothersSandbox(t *testing.T) {
	t.Parallel()
	h := newHome(t, unusedURL)
	h.inHome(".claude/settings.json", `{"effortLevel": "high", "sandbox": {"enabled": true}}`)
	path := []string{"PATH=" + t.TempDir()} // without bubblewrap
	out := h.runWith(0, path, "doctor").stdout
	has(t, out, "sandbox        off: workspace was chosen and cannot be had here",
		"a session goes on without the sandbox that ",
		"effort         high with anthropic", "Nothing is broken.")
	has(t, h.runWith(0, path, "mcp", "list").stderr, "The servers run without the sandbox that ",
		"sandbox.enabled chooses: ")
	h.inHome(".config/attractor/config.json", `{"sandbox": "workspace"}`)
	has(t, h.runWith(exitFailed, path, "doctor").stdout, "sandbox        workspace", "1 problem")
	h.runWith(exitUsage, path, "mcp", "list")
}

// Where nothing is configured, doctor says so, and prints no table without rows.
func TestX5_DoctorWithoutFiles(t *testing.T) {
	t.Parallel()
	out := newHome(t, unusedURL).run(0, "doctor").stdout
	has(t, out, "There is no AGENTS.md or the like.", "Nothing is broken.")
	if strings.Contains(out, "SETTING") {
		t.Errorf("a table of no settings:\n%s", out)
	}
}

// Doctor tries out sandboxes with the system's programs, also where PATH has a directory of the
// project.
func TestX5_DoctorRunsNoProgramsOfTheProject(t *testing.T) {
	t.Parallel()
	h := newHome(t, unusedURL)
	bin, mark := filepath.Join(h.dir, ".venv/bin"), filepath.Join(t.TempDir(), "started")
	for _, name := range []string{"bwrap", "git", "attractor-env"} {
		h.there(".venv/bin/"+name, "#!/bin/sh\n>"+mark+"\nexit 1\n")
		if err := os.Chmod(filepath.Join(bin, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	out := h.runWith(0, []string{"PATH=" + bin + ":" + os.Getenv("PATH")}, "doctor").stdout
	if _, err := os.Stat(mark); err == nil {
		t.Errorf("a program of the project was started:\n%s", out)
	}
}

// Sessions have the model, the mode and the variables of the user's Claude Code, and what has no
// effect is told in one line, once.
func TestX5_SessionsHonourOthers(t *testing.T) {
	t.Parallel()
	url, server := serve(t, nil, say("", use("write_file", map[string]any{"file_path": "a", "content": "x"}),
		use("shell", map[string]any{"command": "printenv SOME_NAME HOME"})), fakellm.Turn{Text: "1"},
		fakellm.Turn{Text: "2"}, fakellm.Turn{Text: "3"}, fakellm.Turn{Text: "4"})
	h := newHome(t, url)
	h.inHome(".claude/settings.json",
		`{"model": "opus", "apiKeyHelper": "x", "availableModels": [], "permissions": {"defaultMode": "acceptEdits", "disableBypassPermissionsMode": "disable"},
		"env": {"SOME_NAME": "y", "HOME": "/nowhere"}}`)
	out := h.run(0, "run", "--allow-tool", "Bash(printenv:*)", "go")
	if body := string(server.Requests()[1].Body); !strings.Contains(body, `"model":"claude-opus-`) ||
		!strings.Contains(body, `y\n`+h.home) || h.text("a") != "x" {
		t.Errorf("the request is %s\n%s", body, out.stderr)
	}
	if !strings.Contains(out.stderr, "2 notes about settings that have no effect here: attractor doctor\n") {
		t.Errorf("the notes are not told: %s", out.stderr)
	}
	if out := h.run(0, "run", "again"); strings.Contains(out.stderr, "doctor") {
		t.Errorf("the notes are told again: %s", out.stderr)
	}
	for _, flags := range [][]string{{"--yes"}, {"--mode", "full"}} {
		out := h.run(exitUsage, append(append([]string{"run"}, flags...), "x")...)
		if !strings.Contains(out.stderr, "the mode full cannot be chosen, because "+filepath.Join(h.home,
			".claude/settings.json")) {
			t.Errorf("%v: %s", flags, out.stderr)
		}
	}
	h.run(0, "run", "--model", "claude-sonnet-5-5", "--mode", "plan", "x")
	if body := string(server.Requests()[len(server.Requests())-1].Body); !strings.HasPrefix(body,
		`{"model":"claude-sonnet-5-5"`) {
		t.Errorf("the flag does not count: %.100s", body)
	}
	h.inHome(".claude/settings.json", `{"apiKeyHelper": "x", "fallbackModel": "y"}`)
	if out := h.run(0, "run", "--read-only", "x"); !strings.Contains(out.stderr, "2 notes") {
		t.Errorf("new notes are not told: %s", out.stderr)
	}
}

// Doctor prints no part of a setting that usually holds a key.
func TestX5_DoctorPrintsNoKeys(t *testing.T) {
	t.Parallel()
	h := newHome(t, unusedURL)
	h.inHome(".config/attractor/config.json",
		`{"provider": "openai", "base_url": "http://me:pass-of-mine@127.0.0.1:1/v1?api_key=hunter2k#frag-of-mine", "key_command": "echo sk-1234"}`)
	for _, env := range [][]string{nil, {"ATTRACTOR_PROVIDER=anthropic"}} {
		out := h.runWith(0, env, "doctor").stdout
		has(t, out, "http://127.0.0.1:1/v1", "key_command")
		for _, secret := range []string{"pass-of-mine", "hunter2k", "frag-of-mine", "sk-1234"} {
			if strings.Contains(out, secret) {
				t.Errorf("%s is printed:\n%s", secret, out)
			}
		}
	}
}
