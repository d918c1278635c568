//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// The system prompt states what the flags of run allow. The command prompt prints the system prompt of a run without flags.
func TestR3_R5_PromptCommand(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(top, "below")
	for _, name := range []string{dir, filepath.Join(top, ".git")} {
		if err := os.MkdirAll(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{".git/HEAD": "ref: refs/heads/main\n", "AGENTS.md": "OF THE TOP"} {
		if err := os.WriteFile(filepath.Join(top, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const compacts = "\n\n# Long sessions\n\nWhen this conversation becomes too long, a summary replaces its beginning"
	for _, c := range []struct{ flag, writable, approvals string }{
		{"--yes", dir, "nobody can approve a call; what is not allowed is refused"},
		{"--read-only", "none", "nobody can approve a call; what is not allowed is refused"},
		{"", dir, "some calls wait for somebody's approval"},
	} {
		var prompt string
		if c.flag == "" {
			prompt = runCommand(t, attractor(t, "prompt", "--dir", dir)).stdout
		} else {
			url, server := serve(t, nil, fakellm.Turn{Text: "done"})
			if out := newHome(t, url).run(0, "run", "--dir", dir, c.flag, "the task"); out.stdout != "done\n" {
				t.Fatalf("%s: stdout %q", c.flag, out.stdout)
			}
			prompt = server.Requests()[0].System
		}
		lines := "\nWorking directory: " + dir + "\nWritable directories: " + c.writable + "\nApprovals: " + c.approvals + "\nIs git repository: yes\n"
		if !strings.Contains(prompt, lines) || !strings.Contains(prompt, compacts) || !strings.Contains(prompt, "OF THE TOP") {
			t.Errorf("%s: want\n%s\nin\n%s", c.flag, lines, prompt)
		}
	}
}
