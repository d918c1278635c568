package worktree_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/landlock"
	"github.com/attractor-go/attractor/internal/peer"
	"github.com/attractor-go/attractor/internal/shquote"
	"github.com/attractor-go/attractor/worktree"
)

// A command in the background can swap a directory of the repository for a link after it was looked
// at. The git of this test does so itself.
func TestO8_LinkedWhileGitRuns(t *testing.T) {
	if _, err := landlock.ABI(); err != nil {
		peer.Missing(t, "%v", err)
	}
	f := newField(t)
	outside, programs := t.TempDir(), t.TempDir()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	logs := f.repo + "/.git/logs/refs/heads"
	f.write(programs+"/git", "#!/bin/sh\ncase \"$*\" in *'worktree add'*) ln -s "+shquote.Words(outside)+" "+
		shquote.Words(logs+"/attractor")+" || exit ;; esac\nexec "+shquote.Words(git)+" \"$@\"\n")
	if err := os.Chmod(programs+"/git", 0o755); err != nil {
		t.Fatal(err)
	}
	f.environ = append(f.environ, "PATH="+programs+string(os.PathListSeparator)+os.Getenv("PATH"))
	if w, err := worktree.Open(t.Context(), f.options("a")); err == nil ||
		!strings.Contains(err.Error(), "unable to append to") {
		t.Errorf("%+v, %v", w, err)
	}
	if list, err := os.ReadDir(outside); err != nil || len(list) > 0 {
		t.Errorf("written outside: %v, %v", list, err)
	}
}
