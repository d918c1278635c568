//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// The system prompt states what the flags of run allow. The command prompt prints the system prompt
// of a run without flags.
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
			prompt = runCommand(t, attractorCommand(t, "prompt", "--dir", dir)).stdout
		} else {
			url, server := serve(t, nil, fakellm.Turn{Text: "done"})
			if out := newHome(t, url).run(0, "run", "--dir", dir, c.flag, "the task"); out.stdout != "done\n" {
				t.Fatalf("%s: stdout %q", c.flag, out.stdout)
			}
			prompt = server.Requests()[0].System
		}
		lines := "\nWorking directory: " + dir + "\nWritable directories: " + c.writable + "\nApprovals: " +
			c.approvals + "\nIs git repository: yes\n"
		if !strings.Contains(prompt, lines) || !strings.Contains(prompt, compacts) ||
			!strings.Contains(prompt, "OF THE TOP") {
			t.Errorf("%s: want\n%s\nin\n%s", c.flag, lines, prompt)
		}
	}
}

// The command lists the files with instructions, with what becomes of each, and tells of mistakes
// in them.
func TestM10_PromptSources(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(home, "project", "below")
	for name, content := range map[string]string{"project/.git/HEAD": "ref: refs/heads/main\n",
		".config/attractor/AGENTS.md": "MINE", ".claude/CLAUDE.md": "MINE FOR CLAUDE",
		"project/AGENTS.md": "TOP @docs/x.md\n@none.md",
		"project/docs/x.md": "IMPORTED", "project/below/AGENTS.md": "OLD", "project/below/AGENTS.override.md": "NEW",
		"project/below/CLAUDE.md":       "NEW\n",
		"project/.claude/rules/go.md":   "---\npaths: [\"**/*.go\"]\n---\nRULE",
		"project/below/CLAUDE.local.md": strings.Repeat("x", 40_000), "project/below/.claude/rules/a.md": "NO ROOM"} {
		file := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) (string, string) {
		cmd := attractorCommand(t, append([]string{"prompt", "--dir", dir}, args...)...)
		cmd.Env = append(cmd.Env, "HOME="+home)
		out := runCommand(t, cmd)
		return strings.ReplaceAll(out.stdout, home, "~"), strings.ReplaceAll(out.stderr, home, "~")
	}
	list, told := run("--sources")
	if want := `      4 bytes  ~/.config/attractor/AGENTS.md: in the prompt
     15 bytes  ~/.claude/CLAUDE.md: in the prompt
     23 bytes  ~/project/AGENTS.md: in the prompt
      8 bytes  ~/project/docs/x.md: in the prompt; imported by ~/project/AGENTS.md
     31 bytes  ~/project/.claude/rules/go.md: comes with files that match **/*.go
      3 bytes  ~/project/below/AGENTS.override.md: in the prompt
      3 bytes  ~/project/below/AGENTS.md: not used, because ~/project/below/AGENTS.override.md takes its place
      4 bytes  ~/project/below/CLAUDE.md: not used again, because it equals ~/project/below/AGENTS.override.md
  40000 bytes  ~/project/below/CLAUDE.local.md: cut, `; !strings.HasPrefix(list, want) {
		t.Errorf("the list is\n%s\nwant\n%s", list, want)
	}
	if !strings.Contains(list, "/rules/a.md: left out, because there is no room\n") {
		t.Error(list)
	}
	prompt, toldAgain := run()
	if !strings.Contains(prompt, "IMPORTED") || strings.Contains(prompt, "RULE") || told != toldAgain ||
		!strings.HasPrefix(told,
			"attractor: warning: ~/project/AGENTS.md, line 2: @none.md is not imported: there is no such file\n") {
		t.Errorf("%s\ntold:\n%s\nand\n%s", prompt, told, toldAgain)
	}
}
