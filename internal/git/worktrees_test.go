package git_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/attractor-go/attractor/internal/git"
)

// What PATH finds in a repository around a session is a program of that repository, unless the home
// directory is in it too.
func TestL2_RepositoriesAroundASession(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, around := filepath.Join(top, "home"), filepath.Join(top, "home/around")
	in := filepath.Join(around, "in")
	work := filepath.Join(in, "work")
	for _, dir := range []string{home, around, in} {
		if err := os.MkdirAll(filepath.Join(dir, ".git"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := git.WorkTrees(work, home); !slices.Equal(got, []string{in, around}) {
		t.Errorf("%q", got)
	}
	if got := git.WorkTrees(work, work); got != nil {
		t.Errorf("repositories of a home directory in them: %q", got)
	}
}

// All work trees of a repository have its programs, and so has what is around them.
func TestL2_WorkTreesBesideASession(t *testing.T) {
	w := newTree(t)
	w.put("a", "1")
	w.commit("one")
	beside := filepath.Dir(w.dir)
	inner, bare := filepath.Join(w.dir, "inner"), filepath.Join(beside, "bare/.repository")
	linked, further := filepath.Join(beside, "linked"), filepath.Join(beside, "further")
	w.git("worktree", "add", "-q", "-b", "linked", linked)
	w.git("worktree", "add", "-q", "-b", "further", further)
	w.git("clone", "-q", "--template=", w.dir, inner)
	w.git("-C", inner, "worktree", "add", "-q", "-b", "below", filepath.Join(beside, "below"))
	w.git("clone", "-q", "--bare", "--template=", w.dir, bare)
	for _, name := range []string{"first", "second"} {
		w.git("-C", bare, "worktree", "add", "-q", "-b", name, filepath.Join(beside, "bare", name))
	}
	all := []string{further, linked, w.dir}
	for dir, want := range map[string][]string{
		w.dir: all, linked: all, further: all,
		filepath.Join(beside, "below"):      append([]string{filepath.Join(beside, "below"), inner}, all...),
		filepath.Join(beside, "bare/first"): {filepath.Join(beside, "bare/first"), filepath.Join(beside, "bare/second")},
	} {
		got := git.WorkTrees(dir, t.TempDir())
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("of %s: %q, want %q", dir, got, want)
		}
	}
}
