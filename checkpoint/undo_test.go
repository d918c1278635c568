//go:build unix

package checkpoint_test

import (
	"bytes"
	"context"
	"net"
	"os"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/remote"
	"github.com/attractor-go/attractor/env/remote/serve"
)

// Undo gives back bytes, modes, links, empty directories, deletions, and what changed its type; and
// the undo can be undone.
func TestO4_UndoGivesBackTheTree(t *testing.T) { undoEverything(t, testWorld(t)) }

// The same on another machine, recorded over there by a Recorder.
func TestO4_UndoElsewhere(t *testing.T) {
	w := testWorld(t)
	near, far := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- serve.Serve(context.Background(), far) }()
	e, err := remote.New(t.Context(), near, remote.Options{Dir: w.dir, AnyNames: true})
	w.must(err)
	t.Cleanup(func() { w.must(e.Close(), <-served) })
	local := w.env.(*env.Local)
	w.env, w.recorder = e, checkpoint.NewRecorder(checkpoint.RecorderOptions{Store: w.store, Owner: "session"})
	undoEverything(t, w)
	w.env = local
}

func undoEverything(t *testing.T, w *world) {
	t.Helper()
	for _, name := range []string{"src/a.go", "src/deep/b.go", "run.sh", "gone/x", "swap", "case", "~", "new\nline",
		"bad\xff", "tree/in/tree"} {
		w.put(name, "old "+name)
	}
	w.must(os.Chmod(w.path("run.sh"), 0o755), os.MkdirAll(w.path("empty/inner"), 0o700),
		os.Chmod(w.path("empty"), 0o500),
		os.Symlink("src/a.go", w.path("link")), os.Symlink("nowhere\xff", w.path("dangling")),
		os.Symlink("/", w.path("outside")),
		os.Mkdir(w.path("closed"), 0o755), os.WriteFile(w.path("closed/x"), nil, 0o400),
		os.Chmod(w.path("closed"), 0o555))
	t.Cleanup(func() {
		w.must(os.Chmod(w.path("closed"), 0o700)) // so that it can be removed
		if w.has("empty") {
			w.must(os.Chmod(w.path("empty"), 0o700))
		}
	})
	before := w.record()
	p := w.session(func() {
		w.must(os.RemoveAll(w.path("gone")), os.Chmod(w.path("empty"), 0o700), os.RemoveAll(w.path("empty")),
			os.Remove(w.path("link")), os.Remove(w.path("swap")),
			os.Remove(w.path("new\nline")), os.Remove(w.path("bad\xff")), os.Remove(w.path("dangling")),
			os.RemoveAll(w.path("src/deep")),
			os.Rename(w.path("case"), w.path("Case")), os.Remove(w.path("~")), os.Chmod(w.path("run.sh"), 0o600),
			os.Remove(w.path("outside")),
			os.Chmod(w.path("closed"), 0o755), os.RemoveAll(w.path("closed/x")), os.Chmod(w.path("closed"), 0o555))
		w.put("swap/inner/file", "new")
		w.put("outside/file", "new")
		w.put("src/a.go", "new")
		w.put("src/deep", "a file now")
		w.put("made/by/session", "new")
		w.put("~", "home")
		w.must(os.Symlink("made", w.path("link")), os.Symlink("elsewhere", w.path("dangling")),
			os.RemoveAll(w.path("tree/in")), os.Symlink("../src", w.path("tree/in")))
	})
	first := w.undo(checkpoint.PlanOptions{}, p)
	if diff := gocmp.Diff(w.flat(before), w.flat(w.record())); diff != "" || len(first.Left) > 0 {
		t.Fatalf("the tree differs (-before +after the undo), left alone: %v\n%s", first.Left, diff)
	}
	if first.Point.Before != p.After || first.Point.After != before || !first.Point.Undo {
		t.Errorf("the point of the undo is %+v, want from %s to %s", first.Point, p.After, before)
	}
	second := w.undo(checkpoint.PlanOptions{}, first.Point)
	if now := w.record(); now != p.After || len(second.Left) > 0 {
		t.Errorf("after the undo of the undo, left alone: %v\n%s", second.Left,
			gocmp.Diff(w.flat(p.After), w.flat(now)))
	}
}

// What somebody else has changed is told and left alone, unless forced; and then the undo of the
// undo has it again.
func TestO4_ChangesOfOthersStay(t *testing.T) {
	w := testWorld(t)
	for _, name := range []string{"same", "edited", "removed", "between", "mode", "dir/gone", "dir/theirs"} {
		w.put(name, "old "+name)
	}
	before := w.record()
	w.session(func() {
		for _, name := range []string{"same", "edited", "removed", "between", "mode", "new/file"} {
			w.put(name, "by the session "+name)
		}
		w.must(os.RemoveAll(w.path("dir")))
	})
	w.put("between", "by somebody")
	w.session(func() { w.put("between", "by the session again") })
	w.put("edited", "by somebody")
	w.put("new/other", "by somebody")
	w.put("unrelated", "by somebody")
	w.must(os.Remove(w.path("removed")), os.Chmod(w.path("mode"), 0o755))
	w.put("dir", "by somebody")
	now := w.record()

	plan := w.planFor(checkpoint.PlanOptions{}, w.points...)
	want := "between mixed\ndir changed\ndir/gone blocked\ndir/theirs blocked\nedited changed\nmode changed\nnew " +
		"not-empty\nremoved changed"
	if got := left(plan.Left); got != want {
		t.Errorf("the plan leaves alone\n%s\nwant\n%s", got, want)
	}
	if w.record() != now {
		t.Error("making a plan has changed the tree")
	}
	r := w.undo(checkpoint.PlanOptions{}, w.points...)
	if got := left(r.Left); got != want {
		t.Errorf("left alone\n%s\nwant\n%s", got, want)
	}
	for name, content := range map[string]string{"same": "old same", "edited": "by somebody",
		"between": "by the session again",
		"mode":    "by the session mode", "dir": "by somebody", "new/other": "by somebody",
		"unrelated": "by somebody"} {
		if got := w.get(name); got != content {
			t.Errorf("%s is %q, want %q", name, got, content)
		}
	}
	if w.has("removed") || w.has("new/file") {
		t.Error("a file is there that somebody has removed, or that the session made")
	}

	forced := w.undo(checkpoint.PlanOptions{Force: true}, append(w.points, r.Point)...)
	if got := left(forced.Left); got != "new not-empty" {
		t.Errorf("with force, left alone: %s", got)
	}
	w.must(os.RemoveAll(w.path("new")), os.Remove(w.path("unrelated")))
	if diff := gocmp.Diff(w.flat(before), w.flat(w.record())); diff != "" {
		t.Errorf("after a forced undo (-before +now)\n%s", diff)
	}
	w.undo(checkpoint.PlanOptions{}, forced.Point)
	if got := w.get("edited") + w.get("dir"); got != "by somebodyby somebody" {
		t.Errorf("the undo of a forced undo gives %q", got)
	}
}

// A call that was killed has changed nobody knows what.
func TestO4_KilledCall(t *testing.T) {
	w := testWorld(t)
	w.put("a", "old")
	w.put("b", "old")
	killed := checkpoint.Point{Call: "killed", Before: w.record()}
	w.put("a", "half")
	for name, points := range map[string][]checkpoint.Point{
		"last":       {killed},
		"superseded": {killed, {Call: "killed", Before: killed.Before, After: w.record()}},
		"not last":   {killed, {Call: "next", Before: w.record(), After: w.record()}},
	} {
		changes, err := checkpoint.Compose(t.Context(), w.store, points, w.record())
		w.must(err)
		if len(changes) != 1 || changes[0].Path != "a" || changes[0].Unknown != (name != "superseded") {
			t.Errorf("%s: %+v", name, changes)
		}
	}
	if changes, err := checkpoint.Compose(t.Context(), w.store, []checkpoint.Point{killed}, env.NoFile); err != nil ||
		len(changes) > 0 {
		t.Errorf("without a tree to compare: %v, %v", changes, err)
	}
	if r := w.undo(checkpoint.PlanOptions{}, killed); left(r.Left) != "a unknown" || w.get("a") != "half" {
		t.Errorf("%v", r.Left)
	}
	if r := w.undo(checkpoint.PlanOptions{Force: true}, killed); len(r.Left) > 0 || w.get("a") != "old" {
		t.Errorf("with force: %v, %q", r.Left, w.get("a"))
	}
}

// Composed changes have what was before the first and after the last, and nothing of what ends as
// it began.
func TestO4_Compose(t *testing.T) {
	w := testWorld(t)
	w.put("edited", "0")
	w.put("reverted", "0")
	w.put("theirs", "0")
	w.session(func() { w.put("edited", "1"); w.put("reverted", "1"); w.put("brief", "x") })
	w.put("theirs", "1")
	w.session(func() { w.put("edited", "2"); w.put("reverted", "0"); w.must(os.Remove(w.path("brief"))) })
	w.put("edited", "3")
	changes, err := checkpoint.Compose(t.Context(), w.store, w.points, w.record())
	w.must(err)
	if len(changes) != 1 || changes[0].Path != "edited" || changes[0].Mixed ||
		changes[0].Before.Object != env.HashOf([]byte("0")) ||
		changes[0].After.Object != env.HashOf([]byte("2")) {
		t.Errorf("%+v", changes)
	}
}

// A plan never names a path that a repository owns, or one outside of the tree, whatever the
// changes say.
func TestO7_PathsThatAreNeverTouched(t *testing.T) {
	w := testWorld(t)
	w.put(".git/config", "theirs")
	w.put("sub/.GIT/config", "theirs")
	w.put("../secret", "theirs")
	e := &checkpoint.Entry{Mode: 0o644, Object: env.HashOf([]byte("theirs")), Size: 6}
	var changes []checkpoint.Change
	for _, name := range []string{".git/config", ".git", "sub/.GIT/config", "../secret", "a/../../secret", w.path("x"),
		"", ".", "a\x00b"} {
		changes = append(changes, checkpoint.Change{Path: name, After: e})
	}
	plan, err := checkpoint.NewPlan(t.Context(), w.workspace(), changes, checkpoint.PlanOptions{Force: true})
	w.must(err)
	if !plan.Empty() || len(plan.Left) != len(changes) {
		t.Errorf("%+v", plan)
	}
	// Nor does an undo that gets such a plan.
	plan.Paths = []checkpoint.Reversal{{Path: "../secret", Was: e}, {Path: ".git/config", Was: e}}
	plan.Left = nil
	r, err := checkpoint.Undo(t.Context(), w.workspace(), plan, w.plan)
	w.must(err)
	if got := left(r.Left); got != "../secret repository\n.git/config repository" ||
		w.get(".git/config")+w.get("../secret") != "theirstheirs" {
		t.Errorf("left alone: %s", got)
	}
}

// A directory that became a link since the plan leads nowhere: not out of the tree, and not to
// another place in it.
func TestO7_SwappedDirectory(t *testing.T) {
	w := testWorld(t)
	w.put("dir/x", "old")
	w.put("other/x", "by the session")
	p := w.session(func() { w.put("dir/x", "by the session"); w.put("dir/new", "by the session") })
	plan := w.planFor(checkpoint.PlanOptions{}, p)
	w.put("other/new", "by the session")
	w.must(os.RemoveAll(w.path("dir")), os.Symlink("other", w.path("dir")))
	r, err := checkpoint.Undo(t.Context(), w.workspace(), plan, w.plan)
	w.must(err)
	if got := left(r.Left); got != "dir/new blocked\ndir/x blocked" {
		t.Errorf("left alone: %s", got)
	}
	if w.get("other/x")+w.get("other/new") != "by the sessionby the session" {
		t.Error("a file was changed through a link")
	}
	if r.Point.Before != r.Point.After {
		t.Error("the point says that something was changed")
	}
}

// The text of a plan has counts, few lines and no control characters.
func TestO7_PlanText(t *testing.T) {
	w := testWorld(t)
	for _, name := range []string{"a", "b", "c", "evil\x1b[31m\nname", "gone", "theirs"} {
		w.put(name, "old")
	}
	p := w.session(func() {
		for _, name := range []string{"a", "b", "c", "evil\x1b[31m\nname", "made/new", "theirs"} {
			w.put(name, "new")
		}
		w.must(os.Remove(w.path("gone")))
	})
	w.put("theirs", "by somebody")
	text := w.planFor(checkpoint.PlanOptions{}, p).Text(2)
	want := `Put back: 4 paths
  a
  b
  and 2 more
Make again: 1 path
  gone
Remove: 2 paths
  made/new
  made/
Left alone: 1 path
  theirs: changed by somebody else since
`
	if text != want {
		t.Errorf("%s\nwant\n%s", text, want)
	}
	if all := w.planFor(checkpoint.PlanOptions{}, p).Text(10); strings.Contains(all, "\x1b") ||
		!strings.Contains(all, `"evil\x1b[31m\nname"`) {
		t.Errorf("%q", all)
	}
}

// A path below a directory that is not recorded any more is left alone, and does not keep the other
// paths from being put back.
func TestO4_BelowAnUnrecordedDirectory(t *testing.T) {
	w := testWorld(t)
	w.put("closed/f", "old")
	w.put("g", "old")
	p := w.session(func() {
		w.put("closed/f", "new")
		w.put("g", "new")
	})
	entries, err := checkpoint.ReadDirObject(t.Context(), w.store, p.After)
	w.must(err)
	entries[0].Object = ""
	data, err := checkpoint.EncodeDir(entries)
	w.must(err)
	batch, err := w.store.Begin(t.Context())
	w.must(err)
	root, _, err := batch.Put(t.Context(), bytes.NewReader(data))
	w.must(err)
	space := w.workspace()
	space.Record = func(context.Context, env.Environment) (checkpoint.Tree, error) {
		return checkpoint.Tree{Root: root}, nil
	}
	changes, err := checkpoint.Compose(t.Context(), w.store, []checkpoint.Point{p}, root)
	w.must(err)
	plan, err := checkpoint.NewPlan(t.Context(), space, changes, checkpoint.PlanOptions{})
	w.must(err)
	if got := left(plan.Left); got != "closed/f unrecorded" || len(plan.Paths) != 1 {
		t.Errorf("left alone: %s; paths: %+v", got, plan.Paths)
	}
}

// A plan that lacks something is refused before anything is done.
func TestO7_DamagedPlan(t *testing.T) {
	w := testWorld(t)
	for _, text := range []string{`{"version":2,"paths":[{"path":"f"}]}`, `{"version":2,"paths":[`, ``,
		`{"version":1,"paths":[{"path":"f","want":{"mode":420}}]}`, `{"version":2,"paths":[{"path":"base64:?"}]}`} {
		w.must(os.WriteFile(w.plan, []byte(text), 0o600))
		if _, err := finish(t.Context(), w.workspace(), w.plan); err == nil || !strings.Contains(err.Error(),
			"remove the file") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
