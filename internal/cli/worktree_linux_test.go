package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/trust"
)

// A session with --worktree leaves the files of the repository alone. Its worktree stays if it has
// work in it, and goes otherwise. What the user has trusted in the repository is trusted there.
func TestO8_RunInAWorktree(t *testing.T) {
	t.Parallel()
	h := newHome(t, "")
	// runs runs a session with a command, and returns its result.
	runs := func(command string, args ...string) (result, stderr string) {
		url, server := serve(t, nil, say("", use("shell", map[string]any{"command": command})),
			fakellm.Turn{Text: "done"})
		h.url = url
		stderr = h.run(0, append([]string{"run"}, args...)...).stderr
		return lastResults(server.Requests()[1].Messages), stderr
	}
	h.file("a.txt", "one\n")
	h.put(".claude/settings.json", `{"permissions":{"allow":["Bash(mkdir -p out)"]}}`)
	h.git("init", "-q", "-b", "main")
	h.git("config", "user.name", "A")
	h.git("config", "user.email", "a@example.com")
	h.git("add", ".")
	h.git("commit", "-qm", "one")
	h.file("later.txt", "not committed\n")
	_, stderr := runs("echo two >a.txt && git commit -qam two && echo three >b.txt", "--yes", "--worktree=fix",
		"change it")
	top := h.sessions()[0].Dir
	for _, want := range []string{"not committed (paths: 1)",
		"The worktree " + top + " stays, on the branch attractor/fix: " +
			"it has 1 commit, and 1 file with changes that are not committed.", "--worktree=fix"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("stderr lacks %q:\n%s", want, stderr)
		}
	}
	if data, err := os.ReadFile(filepath.Join(h.dir, "a.txt")); err != nil || string(data) != "one\n" {
		t.Errorf("the repository has %q, %v", data, err)
	}
	if seen, _ := runs("cat a.txt b.txt && rm b.txt", "--yes", "--worktree=fix", "look"); !strings.Contains(seen,
		"two\nthree\n") {
		t.Errorf("the second session saw %q", seen)
	}
	h.git("merge", "-q", "attractor/fix")
	h.onTerminal(0, "y\n", "trust")
	seen, stderr := runs("mkdir -p out && echo made", "--allow-tool", "Read", "--worktree=fix", "do nothing")
	if !strings.Contains(stderr, "The worktree "+top+" is removed: nothing is lost with it.") {
		t.Errorf("stderr: %s", stderr)
	}
	if strings.TrimSpace(seen) != "made" {
		t.Errorf("what the project allows has the result %q", seen)
	}
	if _, err := os.Stat(top); err == nil {
		t.Error("it is there")
	}
	if d := h.decisions(); len(d) != 1 || d[0].State != trust.Trusted {
		t.Errorf("decisions: %v", d)
	}
	out := h.run(exitUsage, "run", "--yes", "--resume", h.sessions()[0].ID, "go on")
	if !strings.Contains(out.stderr, "--dir names another directory") {
		t.Errorf("resumed without its directory: %s", out.stderr)
	}
	for _, args := range [][]string{{"--worktree", "fix", "the", "test"}, {"--worktree=a/b", "x"}, {"--worktree=", "x"},
		{"--worktree", "--continue", "x"}, {"--worktree", "--env-command", "sh -c", "x"}} {
		h.run(exitUsage, append([]string{"run", "--yes"}, args...)...)
	}
}
