//go:build unix

package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/env"
)

// failer is a testing.TB or a rapid.T.
type failer interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
	Context() context.Context
}

// world is a workspace with a session and somebody else, who change it in turns.
type world struct {
	t      failer
	dir    string
	store  checkpoint.Store
	env    env.Environment
	points []checkpoint.Point
	plan   string // the file of the plan
	// recorder records the tree instead of the test, which knows no ignored files.
	recorder *checkpoint.Recorder
}

// newWorld returns a world in an empty directory of this machine.
func newWorld(t failer, dir string, store checkpoint.Store) *world {
	t.Helper()
	top := filepath.Join(dir, "tree")
	if err := os.MkdirAll(top, 0o755); err != nil {
		t.Fatal(err)
	}
	e, err := env.NewLocal(top, env.LocalOptions{AnyNames: true, Locks: filepath.Join(dir, "locks")})
	if err != nil {
		t.Fatal(err)
	}
	return &world{t: t, dir: top, store: store, env: e, plan: filepath.Join(dir, "undo.json")}
}

func testWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, t.TempDir(), newMemory())
	t.Cleanup(func() {
		if err := w.env.(*env.Local).Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// must ends the test for an error.
func (w *world) must(errs ...error) {
	w.t.Helper()
	if err := errors.Join(errs...); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) path(name string) string { return filepath.Join(w.dir, name) }

// put writes a file, with its directories.
func (w *world) put(name, content string) {
	w.t.Helper()
	w.must(os.MkdirAll(filepath.Dir(w.path(name)), 0o755), os.WriteFile(w.path(name), []byte(content), 0o644))
}

func (w *world) get(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(w.path(name))
	w.must(err)
	return string(data)
}

// has reports whether there is something at a path.
func (w *world) has(name string) bool {
	_, err := os.Lstat(w.path(name))
	return err == nil
}

// record records the tree by the operating system alone, in the most simple way.
func (w *world) record() env.Hash {
	w.t.Helper()
	if w.recorder != nil {
		tree, err := w.recorder.Record(w.t.Context(), w.env)
		w.must(err)
		return tree.Root
	}
	batch, err := w.store.Begin(w.t.Context())
	w.must(err)
	root := w.recordDir(batch, w.dir)
	w.must(batch.Commit(w.t.Context(), "session", root))
	return root
}

func (w *world) recordDir(batch checkpoint.Batch, dir string) env.Hash {
	w.t.Helper()
	list, err := os.ReadDir(dir)
	w.must(err)
	var entries []checkpoint.Entry
	for _, d := range list {
		info, err := d.Info()
		w.must(err)
		name := filepath.Join(dir, d.Name())
		e := checkpoint.Entry{Name: checkpoint.Name(d.Name()), Mode: info.Mode() & (fs.ModeType | fs.ModePerm)}
		switch {
		case d.Name() == ".git":
			continue
		case e.Mode.IsDir():
			e.Object = w.recordDir(batch, name)
		case e.Mode.Type() == fs.ModeSymlink:
			e.Mode = fs.ModeSymlink
			var target string
			target, err = os.Readlink(name)
			e.Target = checkpoint.Name(target)
		case e.Mode.IsRegular():
			var data []byte
			if data, err = os.ReadFile(name); err == nil {
				e.Object, e.Size, err = batch.Put(w.t.Context(), bytes.NewReader(data))
			}
		}
		w.must(err)
		entries = append(entries, e)
	}
	data, err := checkpoint.EncodeDir(entries)
	w.must(err)
	hash, _, err := batch.Put(w.t.Context(), bytes.NewReader(data))
	w.must(err)
	return hash
}

// session does something as the session, in a call that is noted.
func (w *world) session(do func()) checkpoint.Point {
	w.t.Helper()
	p := checkpoint.Point{Call: fmt.Sprint("call", len(w.points)), Before: w.record()}
	do()
	p.After = w.record()
	w.points = append(w.points, p)
	return p
}

func (w *world) workspace() checkpoint.Workspace {
	return checkpoint.Workspace{Env: w.env, Store: w.store, Owner: "session",
		Record: func(context.Context, env.Environment) (checkpoint.Tree, error) {
			return checkpoint.Tree{Root: w.record()}, nil
		}}
}

// planFor returns the plan that takes back points.
func (w *world) planFor(o checkpoint.PlanOptions, points ...checkpoint.Point) *checkpoint.Plan {
	w.t.Helper()
	changes, err := checkpoint.Compose(w.t.Context(), w.store, points, w.record())
	w.must(err)
	plan, err := checkpoint.NewPlan(w.t.Context(), w.workspace(), changes, o)
	w.must(err)
	return plan
}

// undo takes back points.
func (w *world) undo(o checkpoint.PlanOptions, points ...checkpoint.Point) checkpoint.Result {
	w.t.Helper()
	r, err := checkpoint.Undo(w.t.Context(), w.workspace(), w.planFor(o, points...), w.plan)
	w.must(err)
	if _, err := os.Lstat(w.plan); !errors.Is(err, fs.ErrNotExist) {
		w.t.Errorf("the plan's file is still there: %v", err)
	}
	return r
}

// left returns what a result left alone, as lines of path and reason.
func left(kept []checkpoint.Kept) string {
	var lines []string
	for _, k := range kept {
		lines = append(lines, k.Path.Shown()+" "+string(k.Reason))
	}
	return strings.Join(lines, "\n")
}

// flat returns all entries of a tree by path. Those of directories have no objects.
func (w *world) flat(root env.Hash) map[string]checkpoint.Entry {
	w.t.Helper()
	all := map[string]checkpoint.Entry{}
	w.must(checkpoint.Walk(w.t.Context(), w.store, root, func(name string, e checkpoint.Entry) error {
		e.Name = checkpoint.Name(path.Base(name))
		if e.Mode.IsDir() {
			e.Object = ""
		}
		all[name] = e
		return nil
	}))
	return all
}

// finish finishes an undo that was interrupted, given the file of its plan.
func finish(ctx context.Context, w checkpoint.Workspace, file string) (checkpoint.Result, error) {
	p, err := checkpoint.ReadPlan(file)
	if err != nil {
		return checkpoint.Result{}, err
	}
	return checkpoint.Undo(ctx, w, p, file)
}

// localWith returns an environment that may also change files in another directory.
func localWith(t *testing.T, dir, other string) env.Environment {
	t.Helper()
	e, err := env.NewLocal(dir, env.LocalOptions{Roots: []string{other}, Locks: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return e
}
