package workspace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/workspace"
)

// elsewhere is an environment behind a command, with directories below dir, that notes in a file
// what becomes of it.
func elsewhere(dir string) workspace.Environment {
	note := func(what string) []string {
		return []string{"sh", "-c", `printf '%s\n' "$1" >> "$2"`, "sh", what + " {tenant} {task}",
			filepath.Join(dir, "notes")}
	}
	return workspace.Environment{Command: []string{"env", helperVar + "=1", os.Args[0], "serve"},
		Create: note("create"), Destroy: note("destroy"), Dir: dir + "/{task}-{name}"}
}

// A workspace behind a command is one as any other, and may move between there and here.
func TestP5_BehindACommand(t *testing.T) {
	t.Parallel()
	source, there := newRepository(t), t.TempDir()
	far := func(o *workspace.Options) { o.Environments = map[string]workspace.Environment{"far": elsewhere(there)} }
	w := newWorkspaces(t, far)
	o := space(t).Objects
	task := fleet.Task{ID: "t1", Environment: "far", Repo: &fleet.Repo{URL: source}}
	ws, err := w.Open(t.Context(), task, o, nil)
	must(t, err)
	dir := dirOf(ws)
	if filepath.Dir(dir) != there || !strings.HasPrefix(filepath.Base(dir), "t1-") {
		t.Errorf("the directory is %s", dir)
	}
	if got, want := listing(t, dir), listing(t, source); got != want {
		t.Errorf("the clone differs: %s\n%s", got, want)
	}
	first := point(t, ws)
	do(t, ws, `git config user.name A; git config user.email a@example.com; echo x > "a b"; git add .; git commit -qm x; rm two.txt; ln -s a l`)
	last := point(t, ws)
	if first.Root == last.Root || last.Git == "" {
		t.Errorf("the points are %+v and %+v", first, last)
	}
	var patch bytes.Buffer
	must(t, ws.Patch(t.Context(), &patch))
	if !strings.Contains(patch.String(), "a b") || !strings.Contains(patch.String(), "deleted file") {
		t.Errorf("the patch is %s", patch.String())
	}
	want, wantLog := listing(t, dir), runGit(t, dir, "log", "--format=%H")
	must(t, ws.Close())
	if left, err := os.ReadDir(there); err != nil || len(left) != 1 {
		t.Errorf("left there: %v %v", left, err)
	}
	here := task
	here.Environment = ""
	for _, task := range []fleet.Task{task, here} {
		again := open(t, newWorkspaces(t, far), task, o, last)
		if got := listing(t, dirOf(again)); got != want {
			t.Errorf("the files differ: %s\n%s", got, want)
		}
		if got := runGit(t, dirOf(again), "log", "--format=%H"); got != wantLog {
			t.Errorf("the commits differ: %s\n%s", got, wantLog)
		}
	}
	notes, err := os.ReadFile(filepath.Join(there, "notes"))
	must(t, err)
	want = "destroy default t1\ncreate default t1\ndestroy default t1\ndestroy default t1\ncreate default t1\n"
	if string(notes) != want {
		t.Errorf("the environment saw %s", notes)
	}
}

// What an environment cannot do is said.
func TestP5_PlacesThatCannotBe(t *testing.T) {
	t.Parallel()
	full := t.TempDir()
	write(t, full, map[string]string{"x": "y"})
	bad := elsewhere(t.TempDir())
	bad.Create = []string{"sh", "-c", "echo out of boxes >&2; exit 3"}
	w := newWorkspaces(t, func(o *workspace.Options) {
		o.Environments = map[string]workspace.Environment{
			"full":    {Command: []string{"env", helperVar + "=1", os.Args[0], "serve"}, Dir: full},
			"bad":     bad,
			"nowhere": {Command: []string{filepath.Join(full, "none")}},
		}
	})
	for name, want := range map[string]string{"full": "is not empty", "bad": "out of boxes", "nowhere": "none",
		"unknown": `no environment "unknown"`} {
		_, err := w.Open(t.Context(), fleet.Task{ID: "t1", Environment: name}, space(t).Objects, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	for name, e := range map[string]workspace.Environment{"x": {Dir: "/x"}, "y": {Sandbox: "none"},
		"z": {Command: []string{"a"}, Sandbox: "workspace"}, "k": {Command: []string{"a"}, Keep: true}} {
		if _, err := workspace.New(workspace.Options{Dir: t.TempDir(),
			Environments: map[string]workspace.Environment{name: e}}); err == nil {
			t.Errorf("the environment %+v is taken", e)
		}
	}
	if data, err := os.ReadFile(filepath.Join(full, "x")); err != nil || string(data) != "y" {
		t.Errorf("the operator's directory has %s, %v", data, err)
	}
}

// A directory that a task names is used as it is, by one task at a time, and only where that is
// allowed.
func TestP9_DirectoriesInPlace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{"x": "y"})
	o := space(t).Objects
	tight := newWorkspaces(t, func(o *workspace.Options) { o.AllowDir = false })
	_, err := tight.Open(t.Context(), fleet.Task{ID: "t1", Dir: dir}, o, nil)
	if _, ok := errors.AsType[*fleet.PermanentError](err); !ok || !strings.Contains(err.Error(), "--allow-dir") {
		t.Errorf("a worker that allows no directories says %v", err)
	}
	w := newWorkspaces(t)
	for _, wrong := range []string{"relative", filepath.Join(dir, "none"), filepath.Join(dir, "x")} {
		_, err := w.Open(t.Context(), fleet.Task{ID: "t1", Dir: wrong}, o, nil)
		if _, ok := errors.AsType[*fleet.PermanentError](err); !ok {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	first := open(t, w, fleet.Task{ID: "t1", Dir: dir}, o, nil)
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(dir, link))
	ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, errors.New("no patience"))
	defer cancel()
	if _, err := w.Open(ctx, fleet.Task{ID: "t2", Dir: link}, o, nil); err == nil || !strings.Contains(err.Error(),
		"no patience") {
		t.Errorf("a second task in the directory: %v", err)
	}
	opened := make(chan error, 1)
	go func() {
		ws, err := w.Open(t.Context(), fleet.Task{ID: "t2", Dir: link}, o, nil)
		if err == nil {
			err = ws.Close()
		}
		opened <- err
	}()
	do(t, first, "echo z > x")
	must(t, first.Close())
	must(t, <-opened)
	if data, err := os.ReadFile(filepath.Join(dir, "x")); err != nil || string(data) != "z\n" {
		t.Errorf("the file has %q, %v", data, err)
	}
	must(t, first.Close()) // a second time does nothing
}

// A task of an image begins with the files of its directory, and the next owner has them as the
// last one left them.
func TestP5_KeptDirectory(t *testing.T) {
	t.Parallel()
	image := func() (dir string, w fleet.Workspaces) {
		dir = t.TempDir()
		write(t, dir, map[string]string{"given": "1\n", "gone": "2\n"})
		return dir, newWorkspaces(t, func(o *workspace.Options) {
			o.Environments = map[string]workspace.Environment{"box": {Dir: dir, Keep: true,
				Command: []string{"env", helperVar + "=1", os.Args[0], "serve"}}}
		})
	}
	dir, w := image()
	o, task := space(t).Objects, fleet.Task{ID: "t1", Environment: "box"}
	ws := open(t, w, task, o, nil)
	if dirOf(ws) != dir {
		t.Errorf("the task works in %s", dirOf(ws))
	}
	point(t, ws)
	do(t, ws, `cat given >new; rm gone`)
	last := point(t, ws)
	next, w := image()
	again := open(t, w, task, o, last)
	if got, want := listing(t, next), listing(t, dir); got != want || strings.Contains(got, "gone") ||
		!strings.Contains(got, "new") {
		t.Errorf("it moved as %s, and was %s", got, want)
	}
	must(t, again.Close())
	must(t, ws.Close())
	if _, err := os.Stat(filepath.Join(dir, "given")); err != nil {
		t.Error(err)
	}
	_, err := w.Open(t.Context(), fleet.Task{ID: "t2", Environment: "box", Repo: &fleet.Repo{URL: dir}}, o, nil)
	if err == nil || !strings.Contains(err.Error(), "leave the repo out") {
		t.Errorf("a repository there: %v", err)
	}
}

// Without a repository a workspace begins empty, and moves with what the task has made, a
// repository of its own included.
func TestP5_EmptyWorkspace(t *testing.T) {
	t.Parallel()
	o := space(t).Objects
	task := fleet.Task{ID: "t1"}
	ws := open(t, newWorkspaces(t), task, o, nil)
	if got := listing(t, dirOf(ws)); got != "" {
		t.Errorf("it begins with %s", got)
	}
	point(t, ws)
	do(t, ws, `git init -q -b trunk; git config user.name A; git config user.email a@example.com; echo a > a; git add a; git commit -qm a; echo b > b`)
	last := point(t, ws)
	var patch bytes.Buffer
	must(t, ws.Patch(t.Context(), &patch))
	if !strings.Contains(patch.String(), "+++ b/a") || !strings.Contains(patch.String(), "+++ b/b") {
		t.Errorf("the patch is %s", patch.String())
	}
	again := open(t, newWorkspaces(t), task, o, last)
	if got, want := listing(t, dirOf(again))+gitState(t, dirOf(again)), listing(t, dirOf(ws))+gitState(t,
		dirOf(ws)); got != want {
		t.Errorf("it moved as %s, and was %s", got, want)
	}
}

// Two owners on one machine, of which one does not know yet that it is none, have directories of
// their own. What a process leaves that died is removed, also if nobody may write there.
func TestP4_OwnersOnOneMachine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(o *workspace.Options) { o.Dir = dir }
	o := space(t).Objects
	task := fleet.Task{ID: "t1", Tenant: "acme"}
	first := open(t, newWorkspaces(t, in), task, o, nil)
	do(t, first, "echo a > a")
	p := point(t, first)
	second := open(t, newWorkspaces(t, in), task, o, p)
	if dirOf(first) == dirOf(second) {
		t.Fatalf("both have %s", dirOf(first))
	}
	if want := filepath.Join(dir, "acme", "t1", "work"); dirOf(first) != want {
		t.Errorf("the first has %s instead of %s", dirOf(first), want)
	}
	dead := filepath.Join(dir, "acme", "dead")
	write(t, dead, map[string]string{"work/a/b": "c"})
	must(t, os.WriteFile(dead+"~lock", nil, 0o600))
	must(t, os.Chmod(filepath.Join(dead, "work", "a"), 0))
	newWorkspaces(t, in)
	if _, err := os.Lstat(dead); err == nil {
		t.Error("what a dead process has left is there")
	}
	if got := listing(t, dirOf(second)); !strings.Contains(got, `"a\n"`) {
		t.Errorf("the second has %s", got)
	}
}

// TestP9_IDsThatLookLikeLocks has a task whose id is that of another one and the end of many lock
// files' names.
func TestP9_IDsThatLookLikeLocks(t *testing.T) {
	t.Parallel()
	o := workspace.Options{Dir: t.TempDir()}
	w, err := workspace.New(o)
	must(t, err)
	for _, id := range []string{"a", "a.lock", "a.lock.lock"} {
		open(t, w, fleet.Task{ID: id}, space(t).Objects, nil)
	}
	if ws := open(t, w, fleet.Task{ID: "a"}, space(t).Objects, nil); filepath.Base(filepath.Dir(dirOf(ws))) != "a~2" {
		t.Errorf("the second workspace of a is %s", dirOf(ws))
	}
	_, err = workspace.New(o)
	must(t, err)
}

// A task can leave a directory that nobody may write.
func TestP5_UnwritableDirectories(t *testing.T) {
	t.Parallel()
	o := space(t).Objects
	ws := open(t, newWorkspaces(t), fleet.Task{ID: "t1"}, o, nil)
	do(t, ws, "mkdir -p a/b; echo c > a/b/c; chmod 500 a/b a")
	p := point(t, ws)
	again := open(t, newWorkspaces(t), fleet.Task{ID: "t1"}, o, p)
	if got, want := listing(t, dirOf(again)), listing(t, dirOf(ws)); got != want {
		t.Errorf("it moved as %s, and was %s", got, want)
	}
	for i, w := range []fleet.Workspace{ws, again} {
		must(t, w.Close())
		if _, err := os.Lstat(dirOf(w)); err == nil {
			t.Error(fmt.Sprint(i), "is there after Close")
		}
	}
}

// Env is that of the task.
func TestP5_Environment(t *testing.T) {
	t.Parallel()
	ws := open(t, newWorkspaces(t), fleet.Task{ID: "t1"}, space(t).Objects, nil)
	if c := env.ConfinementOf(ws.Env()).Containment; c == "unknown" || ws.Env().WorkDir() != dirOf(ws) {
		t.Errorf("the environment is %s in %s, not %s", c, ws.Env().WorkDir(), dirOf(ws))
	}
}
