//go:build unix

package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// toolNames returns the names of the tools that the command tools lists.
func toolNames(t *testing.T, flags ...string) []string {
	t.Helper()
	out := runCommand(t, attractorCommand(t, append([]string{"tools", "--json"}, flags...)...))
	var defs []llm.ToolDefinition
	if err := json.Unmarshal([]byte(out.stdout), &defs); err != nil || out.code != 0 {
		t.Fatalf("exit code %d, %v\n%s", out.code, err, out.stderr)
	}
	var names []string
	for _, def := range defs {
		names = append(names, def.Name)
	}
	return names
}

func TestE2_H_ProfilesAndDialects(t *testing.T) {
	for _, c := range []struct{ profile, own, native string }{
		{"anthropic", "edit_file", "Bash"},
		{"openai", "apply_patch", "exec_command"},
		{"gemini", "list_dir", "run_shell_command"},
	} {
		own, native := toolNames(t, "--profile", c.profile), toolNames(t, "--native", "--profile", c.profile)
		if !slices.Contains(own, c.own) || slices.Contains(own, c.native) || !slices.Contains(native, c.native) {
			t.Errorf("%s: own tools %q, native tools %q", c.profile, own, native)
		}
		for _, flags := range [][]string{nil, {"--native"}} {
			out := runCommand(t, attractorCommand(t,
				append([]string{"prompt", "--dir", t.TempDir(), "--profile", c.profile}, flags...)...))
			name := map[bool]string{false: c.own, true: c.native}[flags != nil]
			if out.code != 0 || !strings.Contains(out.stdout, "`"+name+"`") || !strings.Contains(out.stdout,
				"<environment>") {
				t.Errorf("prompt --profile %s %q: exit code %d\n%s%s", c.profile, flags, out.code, out.stdout,
					out.stderr)
			}
		}
	}
	out := runCommand(t, attractorCommand(t, "tool", "Bash", `{"command":"echo out; exit 3"}`, "--native", "--dir",
		t.TempDir()))
	if out.code != 1 || out.stdout != "Exit code 3\nout\n" {
		t.Errorf("tool Bash: exit code %d, %q", out.code, out.stdout)
	}
}

// A resumed session keeps its dialect.
func TestE2_A19_ResumeKeepsTheDialect(t *testing.T) {
	url, server := serve(t, nil, fakellm.Turn{Text: "first"},
		say("", use("Bash", map[string]any{"command": "echo in-bash"})), fakellm.Turn{Text: "second"})
	h := newHome(t, url)
	h.run(0, "run", "--yes", "--native", "the task")
	if out := h.run(0, "run", "--yes", "--resume", h.sessions()[0].ID, "go on"); out.stdout != "second\n" {
		t.Errorf("resumed: %q", out.stdout)
	}
	requests := server.Requests()
	if last := string(requests[len(requests)-1].Body); !strings.Contains(last, "in-bash") ||
		strings.Contains(last, "unknown tool") {
		t.Errorf("the dialect's tool did not run: %s", last)
	}
}

// A session below the root of a repository gets the root's documents in its prompt, but its tools
// cannot read the root's files.
func TestE5_AC9_3_RootAboveTheDirectory(t *testing.T) {
	peer.Need(t, "git")
	root := t.TempDir()
	for name, text := range map[string]string{"AGENTS.md": "of the root", "a/AGENTS.md": "of the middle",
		"a/b/AGENTS.md": "of the directory", "a/c/AGENTS.md": "OF ANOTHER"} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("git", "init", "-q", root).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	below := filepath.Join(root, "a", "b")
	prompt := runCommand(t, attractorCommand(t, "prompt", "--dir", below)).stdout
	rest := prompt
	for _, want := range []string{"Working directory: " + below + "\n", "Is git repository: yes", "of the root",
		"of the middle", "of the directory"} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("%q is missing or in the wrong place in:\n%s", want, prompt)
		}
		rest = after
	}
	if strings.Contains(prompt, "OF ANOTHER") {
		t.Error("the prompt has the document of a sibling directory")
	}
	url, server := serve(t, nil, say("", use("read_file", map[string]any{"file_path": "../../AGENTS.md"})),
		fakellm.Turn{Text: "done"})
	h := newHome(t, url)
	h.run(0, "run", "--yes", "--dir", below, "the task")
	requests := server.Requests()
	if first := string(requests[0].Body); !strings.Contains(first, "of the root") {
		t.Errorf("the session's prompt lacks the root's document: %s", first)
	}
	if last := string(requests[1].Body); !strings.Contains(last, "outside of the allowed directories") {
		t.Errorf("the tool was not refused: %s", last)
	}
}

// The model's todo list is shown with the status of each entry, and control characters in it are
// escaped.
func TestJ14_TheTodoListIsShown(t *testing.T) {
	plan := json.RawMessage(
		`{"plan":[{"step":"look","status":"completed"},{"step":"act\u001b[2J now","status":"in_progress"},{"step":"test","status":"pending"}]}`)
	url, _ := serve(t, nil, fakellm.Turn{Calls: []fakellm.Call{{Name: "update_plan", Args: plan}}},
		fakellm.Turn{Text: "done"})
	cmd := attractorCommand(t, "run", "--yes", "--native", "--provider", "openai", "--base-url", url+"/v1", "x")
	cmd.Dir, cmd.Env = t.TempDir(), append(cmd.Env, "OPENAI_API_KEY=key-of-a-test")
	out := runCommand(t, cmd)
	if want := "  ✓ look\n  ▸ act\\u{1b}[2J now\n  · test\n"; out.code != 0 || !strings.Contains(out.stderr, want) {
		t.Errorf("exit code %d, stderr %q, want %q in it", out.code, out.stderr, want)
	}
}
