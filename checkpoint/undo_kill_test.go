//go:build unix

package checkpoint_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/seed"
)

var undoKills = flag.Int("undo.kills", 4, "how often TestO7_UndoKilledAtAnyTime kills an undo")

// The variables of the process that is killed: the directory of its world, and the operation around
// which it kills itself, if any.
const (
	killDirVar = "CHECKPOINT_TEST_UNDO"
	killAtVar  = "CHECKPOINT_TEST_KILL_AT"
)

// mortal is an environment that prints a line before and after each change, and kills its process
// at one of them.
type mortal struct {
	*env.Local
	lines, last int
}

// around makes a change, and says so.
func (m *mortal) around(do func() error) error {
	m.tick()
	err := do()
	m.tick()
	return err
}

func (m *mortal) tick() {
	if m.lines++; m.lines == m.last {
		if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
			panic(err)
		}
		select {}
	}
	fmt.Println("change", m.lines)
}

func (m *mortal) Replace(ctx context.Context, name string, was env.Hash, data []byte, perm fs.FileMode) error {
	return m.around(func() error { return m.Local.Replace(ctx, name, was, data, perm) })
}

func (m *mortal) Delete(ctx context.Context, name string, was env.Hash) error {
	return m.around(func() error { return m.Local.Delete(ctx, name, was) })
}

func (m *mortal) Remove(ctx context.Context, name string) error {
	return m.around(func() error { return m.Local.Remove(ctx, name) })
}

func (m *mortal) Mkdir(ctx context.Context, name string, perm fs.FileMode) error {
	return m.around(func() error { return m.Local.Mkdir(ctx, name, perm) })
}

func (m *mortal) Symlink(ctx context.Context, target, name string) error {
	return m.around(func() error { return m.Local.Symlink(ctx, target, name) })
}

func (m *mortal) Chmod(ctx context.Context, name string, perm fs.FileMode) error {
	return m.around(func() error { return m.Local.Chmod(ctx, name, perm) })
}

// killable returns a world in a directory, with a store that survives its process.
func killable(t *testing.T, dir, store string) *world {
	t.Helper()
	s, err := checkpoint.OpenDir(store, checkpoint.DirOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, dir, s)
	t.Cleanup(func() { w.must(w.env.(*env.Local).Close()) })
	return w
}

// changed makes the tree before a session and what the session changes. Its roots are always the
// same.
func (w *world) changed() (before env.Hash, p checkpoint.Point) {
	w.t.Helper()
	for _, name := range []string{"edited", "gone", "dir/gone", "swapped/file", "theirs", "mode"} {
		w.put(name, strings.Repeat("old "+name+"\n", 1000))
	}
	w.must(os.Symlink("gone", w.path("link")), os.MkdirAll(w.path("empty"), 0o710), os.Chmod(w.path("dir/gone"), 0o600))
	before = w.record()
	return before, w.session(func() {
		w.put("edited", "new\n")
		w.put("made/new", "new\n")
		w.put("theirs", "new\n")
		w.must(os.Remove(w.path("gone")), os.RemoveAll(w.path("dir")), os.RemoveAll(w.path("swapped")),
			os.Remove(w.path("empty")),
			os.Remove(w.path("link")), os.Symlink("made", w.path("link")), os.Chmod(w.path("mode"), 0o755),
			os.Symlink("made", w.path("swapped")))
	})
}

// The process that is killed: it makes the changes, and takes them back.
func TestO7_KilledUndo(t *testing.T) {
	dir := os.Getenv(killDirVar)
	if dir == "" {
		t.Skip("it is a part of other tests")
	}
	w := killable(t, dir, filepath.Join(filepath.Dir(dir), "store"))
	_, p := w.changed()
	at, err := strconv.Atoi(os.Getenv(killAtVar))
	w.must(err)
	plan := w.planFor(checkpoint.PlanOptions{}, p)
	fmt.Println("ready")
	w.env = &mortal{Local: w.env.(*env.Local), last: at}
	_, err = checkpoint.Undo(t.Context(), w.workspace(), plan, w.plan)
	w.must(err)
	fmt.Println("done")
	w.env = w.env.(*mortal).Local
}

// killed runs an undo in another process. It is killed around its change number at, or when it has
// printed so many lines. killed returns its world, and whether the undo came to its end.
func killed(t *testing.T, parent string, at, lines int) (w *world, done bool) {
	t.Helper()
	dir, err := os.MkdirTemp(parent, "")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestO7_KilledUndo$")
	cmd.Env = append(os.Environ(), killDirVar+"="+dir, killAtVar+"="+strconv.Itoa(at))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	ready := false
	for in := bufio.NewScanner(out); in.Scan(); {
		ready = ready || in.Text() == "ready"
		done = done || in.Text() == "done"
		if lines--; lines == 0 {
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) || !ready && lines > 1 {
		t.Fatalf("the undo did not begin: %v", err)
	}
	return killable(t, dir, filepath.Join(parent, "store")), done
}

// An undo that is killed around any of its changes is finished to the same tree, with the same
// result; and what somebody else changes in between stays.
func TestO7_UndoKilledAroundEachChange(t *testing.T) {
	parent := t.TempDir()
	reference := killable(t, filepath.Join(parent, "reference"), filepath.Join(parent, "store"))
	before, p := reference.changed()
	want := reference.undo(checkpoint.PlanOptions{}, p)
	if reference.record() != before || len(want.Left) > 0 {
		t.Fatalf("the undo is not complete: %v", want.Left)
	}
	for at := 1; ; at++ {
		w, done := killed(t, parent, at, 0)
		if done {
			if at < 20 {
				t.Errorf("the undo has only %d changes", at/2)
			}
			return
		}
		if _, err := checkpoint.Undo(t.Context(), w.workspace(), &checkpoint.Plan{}, w.plan); !errors.Is(err,
			checkpoint.ErrUnfinished) {
			t.Errorf("another undo: %v, want ErrUnfinished", err)
		}
		got, err := finish(t.Context(), w.workspace(), w.plan)
		w.must(err)
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("killed around change %d, the result differs (-want +got):\n%s", at, diff)
		}
		w.checkFinished(before)
	}
}

// checkFinished reports whether the tree is the one that is wanted, and nothing is left of the
// undo.
func (w *world) checkFinished(want env.Hash) {
	w.t.Helper()
	if now := w.record(); now != want {
		w.t.Errorf("the tree differs (-before +finished):\n%s", gocmp.Diff(w.flat(want), w.flat(now)))
	}
	if _, err := os.Lstat(w.plan); !errors.Is(err, fs.ErrNotExist) {
		w.t.Errorf("the plan's file is still there: %v", err)
	}
}

// The same for kills at random times, also while a file is being written.
func TestO7_UndoKilledAtAnyTime(t *testing.T) {
	parent := t.TempDir()
	reference := killable(t, filepath.Join(parent, "reference"), filepath.Join(parent, "store"))
	before, _ := reference.changed()
	dice := seed.New(t)
	for range *undoKills {
		w, done := killed(t, parent, 0, 1+dice.IntN(30))
		if done {
			w.checkFinished(before)
			continue
		}
		if _, err := finish(t.Context(), w.workspace(), w.plan); errors.Is(err, fs.ErrNotExist) {
			continue // it had not begun, or was at its end
		} else if err != nil {
			t.Fatal(err)
		}
		w.checkFinished(before)
	}
}

// What somebody else changes between a kill and the end of the undo stays and is named. The undo's
// temporary files are removed, and no others.
func TestO7_OthersAfterAKill(t *testing.T) {
	parent := t.TempDir()
	w, done := killed(t, parent, 5, 0)
	if done {
		t.Fatal("the undo was not killed")
	}
	w.put("theirs", "by somebody\n")
	w.put("made/new", "by somebody\n")
	w.put("dir", "by somebody\n")
	ours, others := ".attractor-"+strings.Repeat("A", 26)+".tmp", ".attractor-"+strings.Repeat("B", 26)+".tmp"
	w.put(ours, "old edited\nold edi")
	w.put(others, "by somebody\n")
	r, err := finish(t.Context(), w.workspace(), w.plan)
	w.must(err)
	if got, want := left(r.Left),
		"dir changed\ndir/gone blocked\nmade not-empty\nmade/new changed\ntheirs changed"; got != want {
		t.Errorf("left alone\n%s\nwant\n%s", got, want)
	}
	if got := w.get("theirs") + w.get("made/new") + w.get("dir") + w.get(others); got != strings.Repeat("by somebody\n",
		4) {
		t.Errorf("what somebody else has changed is %q", got)
	}
	if w.has(ours) {
		t.Error("a temporary file of the undo is left")
	}
	if got := w.get("edited"); got != strings.Repeat("old edited\n", 1000) {
		t.Errorf("a file was not restored: %.20q", got)
	}
}

// An undo whose point could not be noted is not over: it is noted when the undo is finished, and a
// point that was noted twice counts once.
func TestO7_PointIsNotedBeforeTheEnd(t *testing.T) {
	w := killable(t, t.TempDir(), filepath.Join(t.TempDir(), "store"))
	before, p := w.changed()
	plan, failure := w.planFor(checkpoint.PlanOptions{}, p), errors.New("no room for a note")
	s := w.workspace()
	s.Done = func(context.Context, checkpoint.Result) error { return failure }
	if _, err := checkpoint.Undo(t.Context(), s, plan, w.plan); !errors.Is(err, failure) {
		t.Fatalf("%v, want %v", err, failure)
	}
	noted := []checkpoint.Point{p}
	s.Done = func(_ context.Context, r checkpoint.Result) error {
		noted = append(noted, r.Point, r.Point)
		return nil
	}
	_, err := finish(t.Context(), s, w.plan)
	w.must(err)
	w.checkFinished(before)
	if changes, err := checkpoint.Compose(t.Context(), w.store, noted, env.NoFile); len(noted) != 3 || err != nil ||
		len(changes) > 0 {
		t.Errorf("%d points have the changes %+v, %v", len(noted), changes, err)
	}
	changes, err := checkpoint.Compose(t.Context(), w.store, noted[1:], env.NoFile)
	w.must(err)
	for _, c := range changes {
		if c.Mixed {
			t.Errorf("%s counts as changed by somebody else", c.Path)
		}
	}
}

// An undo that is canceled, or whose connection is lost, ends with that error and can be finished.
func TestO7_InterruptedUndo(t *testing.T) {
	w := killable(t, t.TempDir(), filepath.Join(t.TempDir(), "store"))
	before, p := w.changed()
	plan, local := w.planFor(checkpoint.PlanOptions{}, p), w.env.(*env.Local)
	ctx, cancel := context.WithCancel(t.Context())
	w.env = &meddling{Local: local, meddle: cancel}
	if _, err := checkpoint.Undo(ctx, w.workspace(), plan, w.plan); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	w.env = &lost{Local: local, after: 3}
	if _, err := finish(t.Context(), w.workspace(), w.plan); !errors.Is(err, env.ErrLost) {
		t.Errorf("lost: %v", err)
	}
	w.env = local
	if now := w.record(); now == before || now == p.After {
		t.Error("the undo was not interrupted in its middle")
	}
	r, err := finish(t.Context(), w.workspace(), w.plan)
	w.must(err)
	if len(r.Left) > 0 {
		t.Errorf("left alone: %v", r.Left)
	}
	w.checkFinished(before)
}

// lost is an environment whose connection breaks after some removals.
type lost struct {
	*env.Local
	after int
}

func (l *lost) Delete(ctx context.Context, name string, was env.Hash) error {
	return l.remove(name, func() error { return l.Local.Delete(ctx, name, was) })
}

func (l *lost) Remove(ctx context.Context, name string) error {
	return l.remove(name, func() error { return l.Local.Remove(ctx, name) })
}

func (l *lost) remove(name string, do func() error) error {
	if l.after--; l.after < 0 {
		return &fs.PathError{Op: "remove", Path: name, Err: env.ErrLost}
	}
	return do()
}
