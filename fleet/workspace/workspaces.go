package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/sandbox"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/internal/repourl"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/search"
)

// Local is the name of the environment on this machine, which there always is.
const Local = "local"

// Options are the options of New.
type Options struct {
	// Dir is the directory for workspaces on this machine. Workers of one machine may share it. If
	// it is the same on all machines, a workspace keeps its path when its task moves.
	Dir string
	// Environments holds the places of tasks by name. Without an entry for "local", that is this
	// machine without a sandbox.
	Environments map[string]Environment
	// AllowDir lets tasks work in directories of this machine, and clone repositories of it. It is
	// for workers of a single tenant.
	AllowDir bool
	// Credentials holds what repositories need, by the names that tasks use.
	Credentials map[string]Credential
	// OwnCredentials lets clones use the keys, agent and credential helpers of the worker's own
	// user, for tasks that name no credential. It is for workers of a single tenant.
	OwnCredentials bool
	// CAFile holds certificates to trust, in PEM, instead of the machine's.
	CAFile string
	Limits Limits
}

// Limits bounds what a workspace may need. Zero means the default.
type Limits struct {
	CloneTime  time.Duration // of a clone, 10 minutes
	CloneBytes int64         // of a clone's repository, 4 GiB
	Depth      int           // commits of history, 50; less than 0 means all
	Files      int           // of a workspace, 200,000
	TreeBytes  int64         // of all files of a workspace, 8 GiB
	FileBytes  int64         // of one file that survives the machine, 64 MiB
	// StoredBytes bounds what a task's checkpoints hold beside what was cloned, 8 GiB.
	StoredBytes int64
}

func (l Limits) orDefaults() Limits {
	l.CloneTime = cmp.Or(l.CloneTime, 10*time.Minute)
	l.CloneBytes = cmp.Or(l.CloneBytes, 4<<30)
	l.Depth = cmp.Or(l.Depth, 50)
	l.Files = cmp.Or(l.Files, 200_000)
	l.TreeBytes = cmp.Or(l.TreeBytes, 8<<30)
	l.FileBytes = cmp.Or(l.FileBytes, 64<<20)
	l.StoredBytes = cmp.Or(l.StoredBytes, 8<<30)
	return l
}

// workspaces implements [fleet.Workspaces].
type workspaces struct {
	o Options

	mu sync.Mutex
	// dirs has a channel for each directory that a task names. It holds a value while a task works
	// there.
	dirs map[string]chan struct{}
}

// New returns workspaces. It removes the workspaces of dead workers in Options.Dir.
func New(o Options) (fleet.Workspaces, error) {
	if o.Dir == "" {
		return nil, errors.New("workspace: Options.Dir is empty: name a directory for workspaces")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if o.Dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	for name, e := range o.Environments {
		if err := e.check(name); err != nil {
			return nil, err
		}
	}
	for name, c := range o.Credentials {
		if err := c.check(name); err != nil {
			return nil, err
		}
	}
	o.Limits = o.Limits.orDefaults()
	if err := errors.Join(endAbandoned(o.Dir), sweep(o.Dir)); err != nil {
		return nil, err
	}
	return &workspaces{o: o, dirs: map[string]chan struct{}{}}, nil
}

// Open implements [fleet.Workspaces].
func (w *workspaces) Open(ctx context.Context, t fleet.Task, o fleet.Objects,
	last *fleet.WorkspacePoint) (fleet.Workspace, error) {
	e, err := w.environment(t)
	if err != nil {
		return nil, err
	}
	if err := checkTask(t); err != nil {
		return nil, err
	}
	if t.Dir != "" {
		return w.openInPlace(ctx, t, e)
	}
	ws, err := w.openMade(ctx, t, e, o, last)
	if err != nil {
		if ctx.Err() != nil && !isPermanent(err) {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	return ws, nil
}

// environment returns where a task works.
func (w *workspaces) environment(t fleet.Task) (Environment, error) {
	name := cmp.Or(t.Environment, Local)
	e, ok := w.o.Environments[name]
	if !ok && name != Local {
		return e, permanentf("this worker has no environment %q", repourl.Shown(name))
	}
	if e.Keep && t.Repo != nil {
		return e, permanentf("the environment %q has files of its own: leave the repo out", repourl.Shown(name))
	}
	return e, nil
}

// checkTask returns an error for a task that can have no workspace.
func checkTask(t fleet.Task) error {
	if t.Dir != "" && t.Repo != nil {
		return permanentf("a task has either a repo or a dir")
	}
	for _, id := range []string{t.ID, cmp.Or(t.Tenant, fleet.DefaultTenant)} {
		if err := journal.CheckID(id); err != nil {
			return &fleet.PermanentError{Err: err}
		}
	}
	for _, pattern := range t.Include {
		if _, ok := search.NewRules("/", pattern); !ok && strings.TrimSpace(pattern) != "" {
			return permanentf("the pattern %q of include can match no file", repourl.Shown(pattern))
		}
	}
	return nil
}

// openMade makes the workspace of a task that names no directory.
func (w *workspaces) openMade(ctx context.Context, t fleet.Task, e Environment, o fleet.Objects,
	last *fleet.WorkspacePoint) (_ *made, err error) {
	if err := endAbandoned(w.o.Dir); err != nil {
		return nil, err
	}
	own, err := openDir(filepath.Join(w.o.Dir, cmp.Or(t.Tenant, fleet.DefaultTenant)), t.ID)
	if err != nil {
		return nil, err
	}
	m := &made{task: t, limits: w.o.Limits, own: own, turn: make(chan struct{}, 1)}
	m.closeOnce = sync.OnceValue(m.end)
	defer func() {
		if err != nil {
			err = errors.Join(err, m.Close())
		}
	}()
	for _, dir := range []string{m.dir("home"), m.dir("spool"), m.dir("work"), m.dir("repo.git")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
	}
	if err := m.clone(ctx, w, last); err != nil {
		return nil, err
	}
	if m.place, err = w.place(ctx, t, e, m.dir("work"), last != nil); err != nil {
		return nil, err
	}
	m.store = newStore(o, "tree/"+t.ID+"/", m.dir("spool"), m.base, w.o.Limits.StoredBytes)
	if last == nil {
		err = m.begin(ctx)
	} else {
		err = m.restore(ctx, o, *last)
	}
	if err != nil {
		return nil, err
	}
	return m, m.place.begin()
}

// place opens the place of a workspace. Again says that the workspace was recorded before.
func (w *workspaces) place(ctx context.Context, t fleet.Task, e Environment, dir string, again bool) (*place, error) {
	if len(e.Command) > 0 {
		return openThere(ctx, e, t, again)
	}
	return openHere(dir, e)
}

// openInPlace opens a directory that a task names. Tasks of one directory wait for each other.
func (w *workspaces) openInPlace(ctx context.Context, t fleet.Task, e Environment) (fleet.Workspace, error) {
	if !w.o.AllowDir {
		return nil, permanentf("this worker allows no dir: give a repo, or start it with --allow-dir if it has a " +
			"single tenant")
	}
	if len(e.Command) > 0 {
		return nil, permanentf("a dir is on the worker's machine, and the environment %q is not",
			repourl.Shown(t.Environment))
	}
	if !filepath.IsAbs(t.Dir) {
		return nil, permanentf("dir %q is not an absolute path", repourl.Shown(t.Dir))
	}
	dir, err := filepath.EvalSymlinks(t.Dir)
	if err != nil {
		return nil, permanentf("dir: %w", err)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, permanentf("dir %q is not a directory", repourl.Shown(t.Dir))
	}
	turn := w.turn(dir)
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for another task in %s: %w", repourl.Shown(dir), context.Cause(ctx))
	}
	free := sync.OnceFunc(func() { <-turn })
	p, err := openHere(dir, e)
	if err != nil {
		free()
		return nil, err
	}
	in := &inPlace{place: p, free: free}
	if err := p.begin(); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return in, nil
}

func (w *workspaces) turn(dir string) chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dirs[dir] == nil {
		w.dirs[dir] = make(chan struct{}, 1)
	}
	return w.dirs[dir]
}

// permanentf returns a [fleet.PermanentError].
func permanentf(format string, args ...any) error {
	return &fleet.PermanentError{Err: fmt.Errorf("workspace: "+format, args...)}
}

// isPermanent reports whether an error is permanent.
func isPermanent(err error) bool {
	_, ok := errors.AsType[*fleet.PermanentError](err)
	return ok
}

// inPlace is a directory that a task names. It is neither recorded nor removed. It implements
// [fleet.Workspace].
type inPlace struct {
	place *place
	free  func()
}

// Env implements [fleet.Workspace].
func (p *inPlace) Env() env.Environment { return p.place.task }

// Place returns the directory.
func (p *inPlace) Place() (dir string, command []string) { return p.place.dir, nil }

// Confine returns the sandbox of commands.
func (p *inPlace) Confine() sandbox.Options { return p.place.confine }

// Point implements [fleet.Workspace]. The directory is its own record.
func (p *inPlace) Point(context.Context) (*fleet.WorkspacePoint, error) {
	return &fleet.WorkspacePoint{}, nil
}

// Patch implements [fleet.Workspace]. It writes nothing: what the directory had before is unknown,
// and its user has what is there now.
func (p *inPlace) Patch(context.Context, io.Writer) error { return nil }

// Close implements [fleet.Workspace].
func (p *inPlace) Close() error {
	defer p.free()
	return p.place.Close()
}
