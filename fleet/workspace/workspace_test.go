package workspace_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/natsfleet"
	"github.com/attractor-go/attractor/fleet/workspace"
)

// A workspace is made again on another machine as it was at its last point: files, commits, what is
// checked out.
func TestP5_SurvivesItsMachine(t *testing.T) {
	t.Parallel()
	source := newRepository(t)
	o := space(t).Objects
	task := fleet.Task{ID: "t1", Repo: &fleet.Repo{URL: source}, Include: []string{"build/keep"}}
	first := open(t, newWorkspaces(t), task, o, nil)
	dir := dirOf(first)
	if got, want := listing(t, dir), listing(t, source); got != want {
		t.Errorf("the clone differs:\n%s", cmp.Diff(want, got))
	}
	initial := point(t, first)
	if head := runGit(t, source, "rev-parse", "HEAD"); initial.Base != head || initial.Head != "refs/heads/main" ||
		initial.Git != "" {
		t.Errorf("the first point is %+v, want base %s", initial, head)
	}
	if s := runGit(t, dir, "status", "--porcelain"); s != "" {
		t.Errorf("the clone has changes: %s", s)
	}
	do(t, first, `git config user.name A; git config user.email a@example.com
		echo more >> README.md; rm two.txt; mkdir -p build deep/er; echo kept > build/keep; echo lost > build/lost; ln -s nowhere dangling
		echo changed >> kept.log; git add -A; git commit -qm three; git checkout -qb topic; echo 4 > four; git add four; git commit -qm four
		git tag light; chmod 755 four; mv src source; printf '\0\1' > binary; chmod 700 deep; git stash -q; git stash apply -q; touch 'odd
name' 'a b'; echo forced > build/forced; git add -f build/forced; git commit -qm forced; git branch c++-ü; echo again >> kept.log`)
	last := point(t, first)
	if last.Git == "" || last.Head != "refs/heads/topic" {
		t.Errorf("the last point is %+v", last)
	}
	if again := point(t, first); *again != *last {
		t.Errorf("a point without changes is %+v after %+v", again, last)
	}
	// The source moves on, and the first machine is gone.
	write(t, source, map[string]string{"later": "x"})
	runGit(t, source, "add", "-A")
	runGit(t, source, "commit", "-q", "-m", "later")

	second := open(t, newWorkspaces(t), task, o, last)
	must(t, os.Remove(filepath.Join(dir, "build", "lost"))) // ignored, and not named
	if got, want := listing(t, dirOf(second)), listing(t, dir); got != want {
		t.Errorf("the files differ:\n%s", cmp.Diff(want, got))
	}
	runGit(t, dir, "reset", "-q") // the index is not restored
	if got, want := gitState(t, dirOf(second)), gitState(t, dir); got != want {
		t.Errorf("the repositories differ:\n%s", cmp.Diff(want, got))
	}
	if p := point(t, second); p.Root != last.Root || p.Base != last.Base || p.Head != last.Head || p.Git != last.Git {
		t.Errorf("the second owner's first point is %+v, want %+v", p, last)
	}
	// And once more, from the initial one.
	third := open(t, newWorkspaces(t), task, o, initial)
	if s := runGit(t, dirOf(third), "status", "--porcelain", "--branch"); s != "## main...origin/main" {
		t.Errorf("the third has %s", s)
	}
}

// The patch makes the files of the workspace from those of the commit.
func TestP5_PatchApplies(t *testing.T) {
	t.Parallel()
	source := newRepository(t)
	task := fleet.Task{ID: "t1", Repo: &fleet.Repo{URL: source}}
	ws := open(t, newWorkspaces(t), task, space(t).Objects, nil)
	var none bytes.Buffer
	must(t, ws.Patch(t.Context(), &none))
	if none.Len() != 0 {
		t.Errorf("an unchanged workspace has the patch %s", none.String())
	}
	do(t, ws, `git config user.name A; git config user.email a@example.com
		echo more >> README.md; git commit -qam three; rm -r vendor; echo file > vendor; chmod +x two.txt; ln -sf README.md link; printf 'a\0b' > bin
		rm src/main.go; mkdir -p src/main.go; echo new > src/main.go/x; echo changed > kept.log; touch 'odd
name' '-dash' 'trailing ' "quote'\""; rm run.sh empty; ln -s x run.sh; echo ignored > x.log`)
	var patch bytes.Buffer
	must(t, ws.Patch(t.Context(), &patch))
	file := filepath.Join(t.TempDir(), "patch")
	must(t, os.WriteFile(file, patch.Bytes(), 0o600))
	runGit(t, source, "apply", file)
	must(t, os.Remove(filepath.Join(dirOf(ws), "x.log")))
	if got, want := listing(t, source), listing(t, dirOf(ws)); got != want {
		t.Errorf("the patch makes other files:\n%s\n%s", cmp.Diff(want, got), patch.String())
	}
}

// Files above the limit are not recorded. Those of the commit are there nevertheless, as the commit
// has them.
func TestP5_LargeFilesOfTheCommit(t *testing.T) {
	t.Parallel()
	source := newRepository(t)
	write(t, source, map[string]string{"large": noise(1, 3000), "dir/large too": noise(2, 3000)})
	runGit(t, source, "add", "-A")
	runGit(t, source, "commit", "-q", "-m", "large")
	small := func(o *workspace.Options) { o.Limits.FileBytes = 2000 }
	o := space(t).Objects
	task := fleet.Task{ID: "t1", Repo: &fleet.Repo{URL: source}}
	ws := open(t, newWorkspaces(t, small), task, o, nil)
	do(t, ws, "echo x > x; rm 'dir/large too'")
	write(t, dirOf(ws), map[string]string{"larger": noise(3, 3000)})
	last := point(t, ws)
	var patch bytes.Buffer
	must(t, ws.Patch(t.Context(), &patch))
	if text := patch.String(); strings.Count(text, "diff --git") != 2 || !strings.Contains(text, "b/x") ||
		!strings.Contains(text, "deleted file") {
		t.Errorf("the patch is %s", text)
	}
	again := open(t, newWorkspaces(t, small), task, o, last)
	must(t, os.Remove(filepath.Join(dirOf(ws), "larger")))
	if got, want := listing(t, dirOf(again)), listing(t, dirOf(ws)); got != want {
		t.Errorf("it moved as %s, and was %s", got, want)
	}
}

// On real servers it is the same.
func TestP5_OverJetStream(t *testing.T) {
	t.Parallel()
	e, err := natsfleet.OpenEmbedded(t.Context(), t.TempDir(), fleet.Budget{})
	must(t, err)
	t.Cleanup(func() { must(t, e.Close()) })
	s, err := e.Open(t.Context(), fleet.DefaultTenant)
	must(t, err)
	task := fleet.Task{ID: "t1", Repo: &fleet.Repo{URL: newRepository(t)}}
	ws := open(t, newWorkspaces(t), task, s.Objects, nil)
	write(t, dirOf(ws), map[string]string{"large": noise(1, 1<<20)})
	do(t, ws, "git add -A; git -c user.name=A -c user.email=a@example.com commit -qm x; echo y > y; rm two.txt")
	last := point(t, ws)
	again := open(t, newWorkspaces(t), task, s.Objects, last)
	if got, want := listing(t, dirOf(again))+gitState(t, dirOf(again)), listing(t, dirOf(ws))+gitState(t,
		dirOf(ws)); got != want {
		t.Error("it moved as something else")
	}
}

// A repository that has other line ends in its files than in its commits is not taken for changed.
func TestP5_LineEnds(t *testing.T) {
	t.Parallel()
	source := newRepository(t)
	write(t, source, map[string]string{".gitattributes": "*.bat text eol=crlf\n", "a.bat": "x\n", "b.bat": "y\n"})
	runGit(t, source, "add", "-A")
	runGit(t, source, "commit", "-q", "-m", "line ends")
	o := space(t).Objects
	task := fleet.Task{ID: "t1", Repo: &fleet.Repo{URL: source}}
	ws := open(t, newWorkspaces(t), task, o, nil)
	if data, err := os.ReadFile(filepath.Join(dirOf(ws), "a.bat")); err != nil || string(data) != "x\r\n" {
		t.Fatalf("the clone has %q, %v", data, err)
	}
	do(t, ws, `printf 'x\r\nmore\r\n' > a.bat`)
	var patch bytes.Buffer
	must(t, ws.Patch(t.Context(), &patch))
	if text := patch.String(); strings.Count(text, "diff --git") != 1 || !strings.Contains(text, "\n x\n+more\n") {
		t.Errorf("the patch is %q", text)
	}
	again := open(t, newWorkspaces(t), task, o, point(t, ws))
	if got, want := listing(t, dirOf(again))+gitState(t, dirOf(again)), listing(t, dirOf(ws))+gitState(t,
		dirOf(ws)); got != want {
		t.Errorf("it moved as %s, and was %s", got, want)
	}
}
