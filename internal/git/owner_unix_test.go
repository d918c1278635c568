//go:build unix

package git_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/attractor-go/attractor/internal/git"
)

// A repository above the directory that belongs to somebody else is ignored.
func TestI2_ForeignRepositoryAbove(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files to somebody else")
	}
	const somebody, another = 12345, 12346
	w := newTree(t)
	w.put("mine/file", "x")
	mine, dotGit := filepath.Join(w.dir, "mine"), filepath.Join(w.dir, ".git")
	for _, c := range []struct {
		dir, repository int
		found           bool
	}{{0, 0, true}, {0, somebody, false}, {somebody, somebody, true}, {somebody, 0, true}, {somebody, another, false}} {
		w.must(os.Chown(mine, c.dir, c.dir))
		w.must(os.Chown(dotGit, c.repository, c.repository))
		if got := git.Roots(mine); (len(got) == 1 && got[0] == w.dir) != c.found {
			t.Errorf("a directory of user %d, a repository of %d: %q", c.dir, c.repository, got)
		}
	}
	w.must(os.Chown(dotGit, somebody, somebody))
	if got := git.Roots(w.dir); len(got) != 1 {
		t.Errorf("the directory that was asked for: %q", got)
	}
}
