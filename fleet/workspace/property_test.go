package workspace_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/internal/seed"
)

// actor changes a workspace at random, as its task does.
type actor struct {
	t   *rapid.T
	dir string
	n   int
}

// elems are the elements of random paths: few, so that they meet.
var elems = []string{"src", "two.txt", "README.md", "link", "vendor", "build", "new\nline", "\xff", "kept.log", " [x]*"}

func (a *actor) path() string {
	name := rapid.SampledFrom(elems).Draw(a.t, "name")
	for range rapid.IntRange(0, 2).Draw(a.t, "depth") {
		name += "/" + rapid.SampledFrom(elems).Draw(a.t, "name")
	}
	return filepath.Join(a.dir, name)
}

// git runs git, which may fail, as when there is nothing to commit.
func (a *actor) git(args ...string) {
	cmd := exec.Command("git", append([]string{"-c", "user.name=T", "-c", "user.email=t@example.com", "-c",
		"advice.addEmbeddedRepo=false"}, args...)...)
	cmd.Dir = a.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		a.t.Logf("git %s: %v %s", strings.Join(args, " "), err, out)
	}
}

// change makes one random change. It may fail, as when a directory is a file.
func (a *actor) change() {
	a.n++
	name, to := a.path(), a.path()
	content := fmt.Sprint("content ", a.n)
	var err error
	switch rapid.IntRange(0, 12).Draw(a.t, "change") {
	case 0, 1, 2:
		if err = os.MkdirAll(filepath.Dir(name), 0o755); err == nil {
			err = os.WriteFile(name, []byte(content), 0o644)
		}
	case 3:
		err = os.RemoveAll(name)
	case 4:
		err = os.Symlink("../"+content+"\xff", name)
	case 5:
		if info, errStat := os.Lstat(name); errStat == nil && info.Mode()&fs.ModeSymlink == 0 {
			err = os.Chmod(name, rapid.SampledFrom([]fs.FileMode{0o600, 0o755, 0o444, 0o700}).Draw(a.t, "mode"))
		}
	case 6:
		err = os.Rename(name, to)
	case 7:
		a.git("add", "-A")
		a.git("commit", "-q", "-m", content)
	case 8:
		a.git("checkout", "-q", "-b", fmt.Sprint("topic/", a.n))
	case 9:
		a.git("tag", "-f", "-a", "-m", content, "mark")
	case 10:
		a.git("checkout", "-q", "--detach")
	case 11:
		a.git("stash", "-q")
	case 12:
		a.git("checkout", "-q", "main")
	}
	if err != nil {
		a.t.Logf("change %d: %v", a.n, err)
	}
}

// ignoredGone removes what is ignored and not tracked, which no later owner has.
func ignoredGone(t testing.TB, dir string) {
	t.Helper()
	for name := range strings.SplitSeq(runGit(t, dir, "ls-files", "-z", "--others", "--ignored", "--exclude-standard"),
		"\x00") {
		if name != "" {
			must(t, os.Remove(filepath.Join(dir, name)))
		}
	}
	var dirs []string
	must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "build" || filepath.Ext(name) == ".log") {
			dirs = append(dirs, name)
		}
		return err
	}))
	for _, name := range dirs { // git does not know empty directories
		if runGit(t, dir, "ls-files", "--", ":(literal)"+name) == "" {
			must(t, os.RemoveAll(name))
		}
	}
}

// Whatever a task has done, the next owner has the same files and commits, and each owner after
// that. The patch of any of them makes the same files from the commit.
func TestP5_AnyWorkspaceMoves(t *testing.T) {
	t.Parallel()
	// the default would take too long
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		must(t, flag.Set("rapid.checks", "2"))
	}
	source := newRepository(t)
	seed.Check(t, func(rt *rapid.T) {
		o := space(t).Objects
		task := fleet.Task{ID: "t1",
			Repo: &fleet.Repo{URL: source, Ref: rapid.SampledFrom([]string{"", "main", "v1"}).Draw(rt, "ref")}}
		var last *fleet.WorkspacePoint
		var before, beforeGit string
		n := 0
		for range 3 {
			ws, err := newWorkspaces(t).Open(t.Context(), task, o, last)
			if err != nil {
				rt.Fatal(err)
			}
			dir := dirOf(ws)
			if last != nil {
				if now := listing(t, dir); now != before {
					rt.Fatalf("the files differ:\n%s", cmp.Diff(before, now))
				}
				if now := gitState(t, dir); now != beforeGit {
					rt.Fatalf("the repositories differ:\n%s", cmp.Diff(beforeGit, now))
				}
			}
			a := &actor{t: rt, dir: dir, n: n}
			for range rapid.IntRange(1, 3).Draw(rt, "points") {
				for range rapid.IntRange(0, 6).Draw(rt, "changes") {
					a.change()
				}
				last = point(t, ws)
			}
			n = a.n
			runGit(t, dir, "reset", "-q") // the index does not move
			ignoredGone(t, dir)
			before, beforeGit = listing(t, dir), gitState(t, dir)
			checkPatch(t, rt, ws, source, last.Base)
			if err := ws.Close(); err != nil {
				rt.Fatal(err)
			}
			if _, err := os.Lstat(dir); err == nil {
				rt.Fatalf("%s is there after Close", dir)
			}
		}
	})
}

// checkPatch applies the patch of a workspace to a clone of its source.
func checkPatch(t testing.TB, rt *rapid.T, ws fleet.Workspace, source, base string) {
	t.Helper()
	var patch bytes.Buffer
	if err := ws.Patch(context.Background(), &patch); err != nil {
		rt.Fatal(err)
	}
	dir := t.TempDir()
	runGit(t, dir, "clone", "-q", source, ".")
	runGit(t, dir, "checkout", "-q", base)
	file := filepath.Join(t.TempDir(), "patch")
	must(t, os.WriteFile(file, patch.Bytes(), 0o600))
	if patch.Len() > 0 {
		runGit(t, dir, "apply", file)
	}
	normal := func(dir string) string {
		runGit(t, dir, "add", "-A", "-f")
		return runGit(t, dir, "write-tree")
	}
	work := t.TempDir()
	cmd := exec.Command("sh", "-c", `cp -a "$1"/. "$2"`, "sh", dirOf(ws)+"/.", work)
	if out, err := cmd.CombinedOutput(); err != nil {
		rt.Fatalf("%v: %s", err, out)
	}
	if got, want := normal(dir), normal(work); got != want {
		rt.Fatalf("the patch makes other files:\n%s\n%s", cmp.Diff(listing(t, work), listing(t, dir)), patch.String())
	}
}
