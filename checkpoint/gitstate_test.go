package checkpoint_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/peer"
)

// gitIn runs git in a directory without the user's configuration, and returns what it prints.
func gitIn(t testing.TB, dir string, args ...string) string {
	t.Helper()
	peer.Need(t, "git")
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=T",
		"GIT_AUTHOR_EMAIL=t@example.org", "GIT_COMMITTER_NAME=T", "GIT_COMMITTER_EMAIL=t@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestO3_GitState checks what is recorded of a repository: what HEAD is and leads to, and the
// index.
func TestO3_GitState(t *testing.T) {
	e, dir := newLocal(t, map[string]string{"a": "1", "sub/b": "2"})
	store := newMemory()
	r := newRecorder(t, checkpoint.RecorderOptions{Store: store})
	state := func(e env.Environment) *checkpoint.GitState {
		t.Helper()
		s, err := r.GitState(t.Context(), e)
		must(t, err)
		return s
	}
	if got := state(e); got != nil {
		t.Errorf("without a repository: %+v", got)
	}
	gitIn(t, dir, "init", "-q", "-b", "main")
	dotGit := filepath.Join(dir, ".git")
	if got, want := state(e), (checkpoint.GitState{Dir: dotGit, Head: "ref: refs/heads/main"}); *got != want {
		t.Errorf("without a commit: %+v", got)
	}
	compare := func(what, head string) {
		t.Helper()
		index, err := os.ReadFile(filepath.Join(dotGit, "index"))
		must(t, err)
		want := checkpoint.GitState{Dir: dotGit, Head: head, Commit: gitIn(t, dir, "rev-parse", "HEAD"),
			Index: env.HashOf(index)}
		if got := state(e); *got != want {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
		if contentOf(t, store, want.Index) != string(index) {
			t.Errorf("%s: the index is another one", what)
		}
	}
	gitIn(t, dir, "add", "-A")
	gitIn(t, dir, "commit", "-q", "-m", "one")
	compare("one commit", "ref: refs/heads/main")
	put(t, dir, "a", "2")
	gitIn(t, dir, "add", "a")
	compare("staged", "ref: refs/heads/main")
	gitIn(t, dir, "commit", "-q", "-m", "two")
	gitIn(t, dir, "pack-refs", "--all")
	compare("packed refs", "ref: refs/heads/main")
	gitIn(t, dir, "checkout", "-q", "--detach", "HEAD~1")
	compare("detached", gitIn(t, dir, "rev-parse", "HEAD"))

	must(t, os.Remove(filepath.Join(dotGit, "index")))
	if got := state(env.Sub(e, "sub")); got == nil || got.Dir != dotGit || got.Index != "" {
		t.Errorf("in a directory below, without an index: %+v", got)
	}
	moment := time.Now()
	still := hooked{Local: e, lstat: func(node *env.Node) { node.ModTime, node.Changed = moment, moment }}
	for _, content := range []string{"one", "two"} {
		must(t, os.WriteFile(filepath.Join(dotGit, "index"), []byte(content), 0o644))
		if got := state(still); got.Index != env.HashOf([]byte(content)) {
			t.Errorf("an index that changes at once: %+v", got)
		}
	}
	must(t, os.Remove(filepath.Join(dotGit, "index")))
	small := newRecorder(t, checkpoint.RecorderOptions{Store: store, MaxFile: 8})
	gitIn(t, dir, "reset", "-q", "--hard")
	if got, err := small.GitState(t.Context(), e); err != nil || got.Index != "" {
		t.Errorf("with a large index: %+v, %v", got, err)
	}
}
