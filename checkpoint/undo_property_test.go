//go:build unix

package checkpoint_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/seed"
)

// actor changes the tree at random. Contents and permissions tell who has written them.
type actor struct {
	w       *world
	t       *rapid.T
	who     string
	modes   []fs.FileMode // of files
	dirs    []fs.FileMode
	written int
}

// elems are the elements of random paths: few, so that they meet.
var elems = []string{"a", "b", "A", "~", "new\nline", "\xff"}

func (a *actor) name() string {
	name := rapid.SampledFrom(elems).Draw(a.t, "name")
	for range rapid.IntRange(0, 2).Draw(a.t, "depth") {
		name += "/" + rapid.SampledFrom(elems).Draw(a.t, "name")
	}
	return name
}

// change makes one random change. It may fail, as when a directory is a file.
func (a *actor) change() {
	a.written++
	name, to := a.w.path(a.name()), a.w.path(a.name())
	switch rapid.IntRange(0, 7).Draw(a.t, a.who) {
	case 0, 1, 2:
		content := fmt.Sprint(a.who, a.written)
		a.expect(os.MkdirAll(filepath.Dir(name), a.dirs[0]), os.WriteFile(name, []byte(content), a.modes[0]))
	case 3:
		a.expect(os.RemoveAll(name))
	case 4:
		a.expect(os.MkdirAll(name, a.dirs[0]))
	case 5:
		a.expect(os.Symlink(fmt.Sprint(a.who, a.written, "\xff"), name))
	case 6:
		a.expect(os.Rename(name, to))
	case 7:
		a.chmod(name)
	}
}

func (a *actor) chmod(name string) {
	info, err := os.Lstat(name)
	switch {
	case err != nil || info.Mode()&fs.ModeSymlink != 0:
	case info.IsDir():
		a.expect(os.Chmod(name, rapid.SampledFrom(a.dirs).Draw(a.t, "mode")))
	default:
		a.expect(os.Chmod(name, rapid.SampledFrom(a.modes).Draw(a.t, "mode")))
	}
}

// expect allows the errors of changes that are not possible.
func (a *actor) expect(errs ...error) {
	for _, err := range errs {
		possible := err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) ||
			errors.Is(err, syscall.ENOTDIR) ||
			errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTEMPTY) ||
			errors.Is(err, syscall.ELOOP)
		if !possible {
			a.t.Fatal(err)
		}
	}
}

// actors returns the session and somebody else.
func (w *world) actors(t *rapid.T) (session, others *actor) {
	return &actor{w: w, t: t, who: "session", modes: []fs.FileMode{0o644, 0o600, 0o755},
			dirs: []fs.FileMode{0o755, 0o700, 0o500}},
		&actor{w: w, t: t, who: "others", modes: []fs.FileMode{0o640, 0o666}, dirs: []fs.FileMode{0o711, 0o750}}
}

// rapidWorld calls check with worlds.
func rapidWorld(t *testing.T, check func(*rapid.T, *world)) {
	t.Helper()
	parent := t.TempDir()
	// the default would take too long
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		if err := checks.Value.Set("25"); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := checks.Value.Set(checks.DefValue); err != nil {
				t.Error(err)
			}
		}()
	}
	seed.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(parent, "")
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, dir, newMemory())
		check(t, w)
		w.must(w.env.(*env.Local).Close(), os.RemoveAll(dir))
	})
}

// Undo gives back the tree before any of the session's changes, and the undo of the undo the tree
// after them.
func TestO4_RandomChanges(t *testing.T) {
	rapidWorld(t, func(t *rapid.T, w *world) {
		if rapid.Bool().Draw(t, "a recorder") {
			w.recorder = checkpoint.NewRecorder(checkpoint.RecorderOptions{Store: w.store, Owner: "session"})
		}
		session, others := w.actors(t)
		for range rapid.IntRange(0, 12).Draw(t, "before") {
			others.change()
		}
		before := w.record()
		for range rapid.IntRange(1, 4).Draw(t, "calls") {
			w.session(func() {
				for range rapid.IntRange(0, 6).Draw(t, "changes") {
					session.change()
				}
			})
		}
		after := w.record()
		first := w.undo(checkpoint.PlanOptions{}, w.points...)
		if now := w.record(); now != before || len(first.Left) > 0 {
			t.Fatalf("left alone: %v; the tree differs (-before +after the undo):\n%s", first.Left,
				gocmp.Diff(w.flat(before), w.flat(now)))
		}
		if first.Point.Before != after || first.Point.After != before {
			t.Errorf("the point of the undo is %+v, want from %s to %s", first.Point, after, before)
		}
		second := w.undo(checkpoint.PlanOptions{}, first.Point)
		if now := w.record(); now != after || len(second.Left) > 0 {
			t.Fatalf("left alone: %v; the tree differs (-after the session +after the second undo):\n%s", second.Left,
				gocmp.Diff(w.flat(after), w.flat(now)))
		}
	})
}

// meddling is the environment of an undo while which somebody else changes the tree, at random
// moments before an operation.
type meddling struct {
	*env.Local
	meddle func()
	// deletes, when set, is called before a file is deleted. Delete compares contents only:
	// permissions that the file got after the undo has looked at it are lost with it.
	deletes func(name string)
}

func (m *meddling) Resolve(ctx context.Context, name string) (string, error) {
	m.meddle()
	return m.Local.Resolve(ctx, name)
}

func (m *meddling) Replace(ctx context.Context, name string, was env.Hash, data []byte, perm fs.FileMode) error {
	m.meddle()
	return m.Local.Replace(ctx, name, was, data, perm)
}

func (m *meddling) Delete(ctx context.Context, name string, was env.Hash) error {
	m.meddle()
	if m.deletes != nil {
		m.deletes(strings.TrimPrefix(name, "./"))
	}
	return m.Local.Delete(ctx, name, was)
}

func (m *meddling) Mkdir(ctx context.Context, name string, perm fs.FileMode) error {
	m.meddle()
	return m.Local.Mkdir(ctx, name, perm)
}

func (m *meddling) Symlink(ctx context.Context, target, name string) error {
	m.meddle()
	return m.Local.Symlink(ctx, target, name)
}

// theirs tracks what somebody else has written last, by path.
type theirs struct {
	w       *world
	last    map[string]checkpoint.Entry
	touched map[string]bool // since the undo began
}

// by runs changes, and notes what they have written.
func (l *theirs) by(others bool, do func()) {
	was := l.w.flat(l.w.record())
	do()
	now := l.w.flat(l.w.record())
	for name := range was {
		if _, there := now[name]; !there {
			delete(l.last, name)
			l.touched[name] = others
		}
	}
	for name, entry := range now {
		switch {
		case entry == was[name]:
		case others:
			if old, there := was[name]; there && old.Mode.IsRegular() && old.Object == entry.Object &&
				l.last[name].Object != entry.Object {
				entry.Object = "" // only the permissions are theirs
			}
			l.last[name] = entry
			l.touched[name] = true
		default:
			delete(l.last, name)
		}
	}
}

// Whatever somebody else has written last, before an undo and while it runs, is still there after
// it; every change of the session is taken back or named; and the undo of the undo neither loses
// anything of somebody else's.
func TestO7_RandomChangesOfOthers(t *testing.T) {
	rapidWorld(t, func(t *rapid.T, w *world) {
		session, others := w.actors(t)
		written := &theirs{w, map[string]checkpoint.Entry{}, map[string]bool{}}
		for range rapid.IntRange(0, 8).Draw(t, "before") {
			session.change()
		}
		for range rapid.IntRange(1, 5).Draw(t, "turns") {
			written.by(false, func() {
				w.session(func() {
					for range rapid.IntRange(1, 4).Draw(t, "changes") {
						session.change()
					}
				})
			})
			written.by(true, func() {
				for range rapid.IntRange(0, 2).Draw(t, "of others") {
					others.change()
				}
			})
		}
		often := rapid.IntRange(1, 10).Draw(t, "how seldom")
		w.env = &meddling{Local: w.env.(*env.Local), meddle: func() {
			if rapid.IntRange(0, often).Draw(t, "meddle") == 0 {
				written.by(true, others.change)
			}
		}, deletes: func(name string) {
			if entry, there := written.last[name]; there && entry.Object == "" {
				delete(written.last, name)
			}
		}}
		first := w.checkUndo(t, written, w.points...)
		w.checkUndo(t, written, first.Point)
		w.env = w.env.(*meddling).Local
	})
}

// checkUndo takes back points and checks what became of the tree.
func (w *world) checkUndo(t *rapid.T, written *theirs, points ...checkpoint.Point) checkpoint.Result {
	t.Helper()
	changes, err := checkpoint.Compose(t.Context(), w.store, points, env.NoFile)
	w.must(err)
	plan, err := checkpoint.NewPlan(t.Context(), w.workspace(), changes, checkpoint.PlanOptions{})
	w.must(err)
	clear(written.touched)
	r, err := checkpoint.Undo(t.Context(), w.workspace(), plan, w.plan)
	w.must(err)
	now := w.flat(w.record())
	for name, entry := range written.last {
		got := now[name]
		if entry.Object == "" {
			got.Object, got.Size, entry.Size = "", 0, 0
		}
		if got.Mode.IsDir() && looksLikeTheSessions(changes, name, entry, written.touched[name]) {
			continue
		}
		if got != entry {
			t.Errorf("%q, which somebody else has written last, is %+v, want %+v", name, got, entry)
		}
	}
	named := map[string]bool{}
	for _, kept := range r.Left {
		named[string(kept.Path)] = true
	}
	for _, c := range changes {
		made := c.Before == nil && now[c.Path].Mode.IsDir() && slices.ContainsFunc(r.Restored,
			func(below checkpoint.Name) bool {
				_, there := now[string(below)] // the session has removed it after somebody else had put it there
				return there && strings.HasPrefix(string(below), c.Path+"/")
			})
		if got, there := now[c.Path]; !named[c.Path] && !written.touched[c.Path] && !made &&
			!isEntry(c.Before, got, there) {
			t.Errorf("%q is neither as before (%+v, now %+v) nor named", c.Path, c.Before, got)
		}
	}
	return r
}

// looksLikeTheSessions reports whether somebody else has given a directory the permissions that the
// session, or an undo that is taken back, had left it with, or while the undo runs those that it
// gives it for the time being. The undo cannot know that these are not its own to change.
func looksLikeTheSessions(changes []checkpoint.Change, name string, entry checkpoint.Entry, meanwhile bool) bool {
	return slices.ContainsFunc(changes, func(c checkpoint.Change) bool {
		if c.Path != name || c.After == nil || !c.After.Mode.IsDir() || !entry.Mode.IsDir() {
			return false
		}
		left, mode := c.After.Mode.Perm(), entry.Mode.Perm()
		return mode == left || meanwhile && mode == left|0o700
	})
}

// isEntry reports whether an entry is the expected one.
func isEntry(want *checkpoint.Entry, got checkpoint.Entry, there bool) bool {
	if want == nil || !there {
		return (want == nil) == !there
	}
	return want.Mode == got.Mode && want.Target == got.Target && (want.Mode.IsDir() || want.Object == got.Object)
}
