package git_test

import (
	"errors"
	"fmt"
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
		filepath.Join(beside, "below"): append([]string{filepath.Join(beside, "below"), inner}, all...),
		filepath.Join(beside, "bare/first"): {filepath.Join(beside, "bare/first"),
			filepath.Join(beside, "bare/second")},
	} {
		got := git.WorkTrees(dir, t.TempDir())
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("of %s: %q, want %q", dir, got, want)
		}
	}
}

// Of a repository with many work trees, what is done grows with their number, not with its square.
func TestL2_ManyWorkTreesBesideASession(t *testing.T) {
	const few, many = 50, 200
	allocations := map[int]float64{}
	for _, n := range []int{few, many} {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			admin, tree := fmt.Sprintf("%s/main/.git/worktrees/%d", dir, i), fmt.Sprintf("%s/%d", dir, i)
			for name, text := range map[string]string{tree + "/.git": "gitdir: " + admin, admin + "/gitdir": tree +
				"/.git",
				admin + "/commondir": "../.."} {
				err := os.MkdirAll(filepath.Dir(name), 0o755)
				if err = errors.Join(err, os.WriteFile(name, []byte(text+"\n"), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
		}
		allocations[n] = testing.AllocsPerRun(1, func() {
			if got := git.WorkTrees(dir+"/main", t.TempDir()); len(got) != n+1 {
				t.Errorf("%d work trees of %d", len(got), n+1)
			}
		})
	}
	if allocations[many] > 2*many/few*allocations[few] {
		t.Errorf("allocations for so many work trees: %v", allocations)
	}
}
