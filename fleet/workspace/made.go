package workspace

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/internal/repourl"
)

// made is a workspace that was made for a task: a clone of its repository, or an empty directory.
// It implements [fleet.Workspace].
type made struct {
	task   fleet.Task
	limits Limits
	own    *lockedDir
	place  *place
	cloned *clone // nil without a repository
	base   *base
	store  *store

	turn chan struct{} // holds a value while the workspace is recorded

	recorder *checkpoint.Recorder
	include  []string
	initial  *refs  // of the workspace when it was made anew
	refs     *refs  // as they were recorded last
	git      string // the object that has them; empty if they are the initial ones

	closeOnce func() error
}

// dir returns a directory of the workspace on this machine.
func (m *made) dir(name string) string { return filepath.Join(m.own.path, name) }

// clone clones the repository, at the commit that the first owner began with.
func (m *made) clone(ctx context.Context, w *workspaces, last *fleet.WorkspacePoint) (err error) {
	if m.task.Repo == nil {
		m.initial = &refs{V: 1}
		return nil
	}
	commit := ""
	if last != nil {
		if commit = last.Base; !fullCommit(commit) {
			return permanentf("the last point of the task names no commit")
		}
	}
	if m.cloned, err = w.clone(ctx, m.task, m.dir("repo.git"), m.dir("home"), commit); err != nil {
		return err
	}
	if last != nil && last.Git == "" && (&refs{Head: last.Head}).check() == nil {
		m.cloned.head = cmp.Or(last.Head, m.cloned.head)
	}
	spool := ""
	if last != nil { // the files will be written from there
		spool = m.dir("spool")
	}
	if m.base, err = newBase(ctx, m.cloned, m.limits.FileBytes, spool); err != nil {
		return err
	}
	m.initial, err = m.cloned.refs()
	return err
}

// begin makes the workspace anew.
func (m *made) begin(ctx context.Context) error {
	m.refs = m.initial
	if m.cloned != nil {
		if err := makeRepository(ctx, m.place.setup, m.cloned, m.initial, nil); err != nil {
			return err
		}
		if err := checkout(ctx, m.place.setup); err != nil {
			return err
		}
		if _, err := m.includeTracked(ctx); err != nil {
			return err
		}
	}
	m.newRecorder()
	return nil
}

// includeTracked includes, in what is recorded, the ignored files that the cloned commit has. It
// returns them.
func (m *made) includeTracked(ctx context.Context) ([]string, error) {
	tracked, err := trackedIgnored(ctx, m.place.setup, m.cloned.base)
	m.include = patterns(tracked)
	return tracked, err
}

// restore makes the workspace as it was at a point.
func (m *made) restore(ctx context.Context, o fleet.Objects, last fleet.WorkspacePoint) error {
	if err := m.store.load(ctx, last.Pack); err != nil {
		return err
	}
	if err := m.restoreRepository(ctx, o, last); err != nil {
		return err
	}
	if _, err := checkpoint.Write(ctx, m.store, env.Hash(last.Root), m.place.setup); err != nil {
		return fmt.Errorf("workspace: restoring the files: %w", err)
	}
	left, err := unrecorded(ctx, m.store, env.Hash(last.Root))
	if err != nil {
		return err
	}
	var tracked []string
	if m.cloned != nil {
		if tracked, err = m.includeTracked(ctx); err != nil {
			return err
		}
	}
	if m.cloned != nil || last.Git != "" {
		if err := settle(ctx, m.place.setup, tracked, left); err != nil {
			return err
		}
	}
	m.newRecorder()
	return nil
}

// unrecorded returns the files of a tree whose contents were not recorded, such as large ones.
func unrecorded(ctx context.Context, s checkpoint.Store, root env.Hash) (list []string, err error) {
	err = checkpoint.Walk(ctx, s, root, func(path string, e checkpoint.Entry) error {
		if !e.Recorded() && e.Mode.IsRegular() {
			list = append(list, path)
		}
		return nil
	})
	return list, err
}

// restoreRepository makes the repository as it was at a point.
func (m *made) restoreRepository(ctx context.Context, o fleet.Objects, last fleet.WorkspacePoint) error {
	m.git = last.Git
	if last.Git == "" {
		if m.refs = m.initial; m.cloned == nil {
			return nil
		}
		return makeRepository(ctx, m.place.setup, m.cloned, m.initial, nil)
	}
	m.initial = nil // it is unknown on which branch the task began
	if !strings.HasPrefix(last.Git, m.store.prefix) {
		return fmt.Errorf("workspace: %q is not the name of recorded commits", repourl.Shown(last.Git))
	}
	r, pack, end, err := openRefs(ctx, o, last.Git)
	if err != nil {
		return err
	}
	r.Head = cmp.Or(last.Head, r.Head)
	m.refs = r
	if err = r.check(); err == nil {
		err = makeRepository(ctx, m.place.setup, m.cloned, r, pack)
	}
	return errors.Join(err, end())
}

// newRecorder sets a recorder that has recorded nothing.
func (m *made) newRecorder() {
	m.recorder = checkpoint.NewRecorder(checkpoint.RecorderOptions{Store: m.store, Owner: m.task.ID,
		MaxFiles: m.limits.Files, MaxBytes: m.limits.TreeBytes, MaxFile: m.limits.FileBytes,
		Include: slices.Concat(m.task.Include, m.include)})
}

// Env implements [fleet.Workspace].
func (m *made) Env() env.Environment { return m.place.task }

// Place returns where the workspace is, for a host that opens it itself: its directory, and the
// command of its environment, nil for this machine.
func (m *made) Place() (dir string, command []string) { return m.place.dir, m.place.command }

// Confine returns the sandbox of commands on this machine, for a host that opens the workspace
// itself.
func (m *made) Confine() sandbox.Options { return m.place.confine }

// Point implements [fleet.Workspace].
func (m *made) Point(ctx context.Context) (*fleet.WorkspacePoint, error) {
	end, err := m.alone(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	if m.store.long() {
		m.store.restart()
		m.newRecorder()
	}
	tree, err := m.recorder.Record(ctx, m.place.task)
	if err != nil {
		return nil, err
	}
	p := &fleet.WorkspacePoint{Root: string(tree.Root), Pack: m.store.pack()}
	if m.cloned != nil {
		p.Base = m.cloned.base
	}
	if err := m.recordRepository(ctx, p); err != nil {
		return nil, err
	}
	return p, nil
}

// alone waits until no other call records the workspace. The caller calls end.
func (m *made) alone(ctx context.Context) (end func(), err error) {
	select {
	case m.turn <- struct{}{}:
		return func() { <-m.turn }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// recordRepository adds the repository to a point.
func (m *made) recordRepository(ctx context.Context, p *fleet.WorkspacePoint) error {
	now, err := readRefs(ctx, m.place.task)
	if err != nil {
		return err
	}
	if now == nil || now.check() != nil { // it is missing or could not be restored: record the last one
		now = m.refs
	}
	p.Head = now.Head
	switch {
	case m.initial != nil && now.same(m.initial) && now.Head == m.initial.Head:
		m.git = ""
	case m.git != "" && now.same(m.refs) && (now.Head == m.refs.Head || strings.HasPrefix(now.Head, "refs/")):
	default:
		name := m.store.prefix + "git-" + rand.Text()
		if err := m.store.storeRefs(ctx, m.place.task, name, p.Base, now); err != nil {
			return err
		}
		m.git = name
	}
	m.refs = now
	p.Git = m.git
	return nil
}

// Close implements [fleet.Workspace].
func (m *made) Close() error { return m.closeOnce() }

func (m *made) end() error {
	var errs []error
	if m.place != nil {
		errs = append(errs, m.place.Close())
	}
	return errors.Join(append(errs, m.own.remove())...)
}
