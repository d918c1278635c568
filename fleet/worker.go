package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
)

// Worker claims tasks and runs their sessions.
type Worker struct {
	Engine Engine
	// Name is unique among the workers that live. Empty means the name of the machine and a random
	// part.
	Name string
	// Slots bounds the tasks that run at once, 4 unless set. A task that waits for a person keeps
	// its slot.
	Slots int
	// Host opens the session of a task.
	Host Host
	// Workspaces makes the workspaces of tasks.
	Workspaces Workspaces
	// Judge opens where the check of a task's [Eval] runs, when the session has ended. A host that
	// confines commands, or keeps secrets from them, does so here, too: agents write what checks
	// run. Nil means Workspace.Env, and masks nothing.
	Judge func(ctx context.Context, j *Job) (Judged, error)
	// TTL is how long a lease, and a claim, lasts after it was last renewed, 10 s unless set. After
	// a worker's death its tasks go on elsewhere no later than that.
	TTL time.Duration
	// Grace is how long calls that run may go on when the worker gives its tasks away, or a task is
	// ended, 1 min unless set. Then they are ended, and their outcomes are unknown to the next
	// owner.
	Grace time.Duration
	// MaxDeaths is how many workers a task may end before it is poisoned, 3 unless set.
	MaxDeaths int
	// Tenants names the tenants that the worker serves; nil means all.
	Tenants []string
	// Logger gets what the worker does; nil logs nothing.
	Logger *slog.Logger

	since time.Time // of the first Run
}

// Run runs tasks until ctx ends, or somebody drains the worker, and then gives them away between
// two steps: other workers go on with them. It returns nil then. It returns ErrLost if the worker's
// name or lease is somebody else's; nothing that the worker does after that has an effect. Then Run
// may be called again with the same Name: the fleet learns from it that the worker was only cut
// off, and that its tasks have not ended it.
func (w *Worker) Run(ctx context.Context) error {
	if w.Engine == nil || w.Host == nil || w.Workspaces == nil {
		return errors.New("fleet: a worker needs an Engine, a Host and Workspaces")
	}
	if w.Slots < 0 || w.TTL < 0 || w.Grace < 0 || w.MaxDeaths < 0 {
		return errors.New("fleet: Slots, TTL, Grace and MaxDeaths of a worker are not negative; 0 means their defaults")
	}
	if w.since.IsZero() {
		w.since = time.Now()
	}
	r, err := w.start(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // there is nothing to give away
	case err != nil:
		return fmt.Errorf("fleet: %w", err)
	}
	return r.run()
}

// PermanentError is an error that every other attempt would return, too, also on another machine: a
// repository does not exist, a model is unknown. A [Host] and [Workspaces] return it for a task
// that can never be opened, and the task fails. After any other error the task is opened again
// later, a limited number of times.
type PermanentError struct{ Err error }

// Error returns the error's text.
func (e *PermanentError) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e *PermanentError) Unwrap() error { return e.Err }

// Host opens the session of a job. It calls [Job.Attach] with the options of the session before
// that starts.
//
// The worker waits for a Host, the functions of its [Hosted], and [Workspaces] for as long as they
// take: one that ignores the end of its context, or a Close that does not end, holds a slot of the
// worker, and the worker's end, until it returns.
type Host func(ctx context.Context, j *Job) (Hosted, error)

// Hosted is a session that a Host has opened.
type Hosted struct {
	Session *agent.Session
	// Verify checks, while the session is still open, whether a completed input has done what was
	// asked for. An error says why the task has failed nevertheless. It may be nil.
	Verify func(ctx context.Context, result *agent.Result) error
	// Close ends what the host has opened beside the session, after the session has ended. It may
	// be nil.
	Close func() error
}

// Judged is where a task is judged.
type Judged struct {
	Env env.Environment
	// Mask masks secrets in what the check prints. It may be nil.
	Mask func(text string) string
	// Close ends what was opened, and what the check has left running. It may be nil.
	Close func() error
}

// Workspaces makes workspaces.
type Workspaces interface {
	// Open makes the workspace of a task: anew if last is nil, else as it was at the point that the
	// task's session noted last.
	Open(ctx context.Context, t Task, o Objects, last *WorkspacePoint) (Workspace, error)
}

// Workspace is where a task works.
type Workspace interface {
	// Env has the files and commands.
	Env() env.Environment
	// Point records the workspace in the tenant's objects, durably, and returns what Open needs to
	// make it again. The first one, right after a workspace was made anew, pins the commit that
	// later owners clone. Calls wait for each other.
	Point(ctx context.Context) (*WorkspacePoint, error)
	// Patch writes what the task has changed, as a patch that git apply takes, with commits that
	// the task has made included. It writes nothing if nothing was changed.
	Patch(ctx context.Context, w io.Writer) error
	// Close ends the workspace, and removes what it has made on the machine. Directories that a
	// task names stay.
	Close() error
}

// WorkspaceNote is the kind of the note that has a WorkspacePoint.
const WorkspaceNote = "fleet.workspace"

// WorkspacePoint names a recorded workspace. Its fields are those of the Workspaces that made it.
type WorkspacePoint struct {
	Base string `json:"base,omitempty"` // the commit that was cloned
	Root string `json:"root,omitempty"` // of the tree, see package checkpoint
	Pack string `json:"pack,omitempty"` // the object that leads to all those that hold the tree
	Head string `json:"head,omitempty"` // what is checked out: a branch, such as refs/heads/main, or a commit
	// the object that has the branches and tags, if they are not as they were cloned, and their
	// commits
	Git string `json:"git,omitempty"`
}

// The defaults of a Worker.
const (
	defaultSlots     = 4
	defaultTTL       = 10 * time.Second
	defaultGrace     = time.Minute
	defaultMaxDeaths = 3
)

// tenantsEvery is how often a worker looks for other tenants, and for changes of theirs.
const tenantsEvery = 30 * time.Second

// running is a worker that runs.
type running struct {
	Worker
	host      string // the machine's name, or ""
	lease     Lease
	shares    *shares
	spaces    map[string]*Space // by tenant; used by one goroutine at a time
	providers providers
	busy      atomic.Int64 // how many slots have a task

	// life ends when nothing may have an effect any more: with ErrLost, or with nil after
	// everything. Claiming ends with life, with the context of Run, and when the worker is drained.
	life     context.Context
	end      context.CancelCauseFunc
	claiming context.Context
	drain    context.CancelFunc
}

// start takes the lease.
func (w *Worker) start(ctx context.Context) (*running, error) {
	r := &running{Worker: *w, spaces: map[string]*Space{}}
	r.Slots, r.MaxDeaths = cmp.Or(w.Slots, defaultSlots), cmp.Or(w.MaxDeaths, defaultMaxDeaths)
	r.TTL, r.Grace = cmp.Or(w.TTL, defaultTTL), cmp.Or(w.Grace, defaultGrace)
	r.shares = newShares(r.TTL / 4) // much of a claim's hold is left after the wait for it
	if r.Logger == nil {
		r.Logger = slog.New(slog.DiscardHandler)
	}
	var err error
	if r.host, err = os.Hostname(); err != nil {
		r.host = ""
	}
	r.Name = cmp.Or(r.Name, cmp.Or(r.host, "worker")+"-"+uuid.NewString()[:8])
	if err := r.loadTenants(ctx); err != nil {
		return nil, err
	}
	if err := r.acquire(ctx); err != nil {
		return nil, err
	}
	r.life, r.end = context.WithCancelCause(context.WithoutCancel(ctx))
	r.claiming, r.drain = context.WithCancel(ctx)
	context.AfterFunc(r.life, r.drain)
	return r, nil
}

// acquire takes the lease. A lease of this name that nobody renews, such as that of a killed
// process, ends within its time; a worker that lives keeps its own, and the error is ErrLost.
func (r *running) acquire(ctx context.Context) error {
	began := time.Now()
	for {
		lease, err := r.Engine.Leases().Acquire(ctx, r.info(), r.TTL)
		switch {
		case err == nil:
			r.lease = lease
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, ErrLost) && time.Since(began) > 2*r.TTL:
			return fmt.Errorf("the worker %s is running elsewhere: %w", r.Name, err)
		}
		r.Logger.Debug("lease not acquired", "worker", r.Name, "error", err)
		if !pause(ctx, r.TTL/10) {
			return context.Cause(ctx)
		}
	}
}

// info returns the current description of the worker.
func (r *running) info() WorkerInfo {
	return WorkerInfo{Name: r.Name, Host: r.host, Slots: r.Slots, Running: int(r.busy.Load()),
		Draining: r.claiming != nil && r.claiming.Err() != nil, Since: r.since}
}

// run keeps the lease and fills the slots until claiming has ended and every slot is empty.
func (r *running) run() error {
	r.Logger.Info("worker started", "worker", r.Name, "slots", r.Slots)
	var keepers, slots sync.WaitGroup
	keepers.Go(r.keepLease)
	keepers.Go(r.keepTenants)
	for range r.Slots {
		slots.Go(r.fillSlot)
	}
	slots.Wait()
	if r.lapsed() {
		r.end(ErrLost)
	}
	lost := context.Cause(r.life)
	r.end(nil)
	keepers.Wait()
	if lost != nil {
		r.Logger.Warn("worker lost its lease", "worker", r.Name)
		return fmt.Errorf("the worker %s has ended: %w", r.Name, lost)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.life), r.TTL)
	defer cancel()
	if err := r.lease.Release(ctx); err != nil {
		r.Logger.Warn("lease not released; it ends by itself", "worker", r.Name, "error", err)
	}
	r.Logger.Info("worker ended", "worker", r.Name)
	return nil
}

// keepLease renews the lease until life ends. Errors are tolerated up to the lease's end, at which
// life ends, too.
func (r *running) keepLease() {
	for r.life.Err() == nil {
		ctx, cancel := context.WithDeadline(r.life, r.lease.Until())
		err := r.lease.Renew(ctx, r.info())
		cancel()
		switch {
		case r.life.Err() != nil:
			return
		case errors.Is(err, ErrLost), r.lapsed():
			r.end(ErrLost)
			return
		case err != nil:
			r.Logger.Warn("lease not renewed", "worker", r.Name, "error", err)
			pause(r.life, min(r.TTL/20, time.Until(r.lease.Until())))
			continue
		}
		if r.lease.Draining() {
			r.drain()
		}
		pause(r.life, r.TTL/3)
	}
}

// lapsed reports whether the lease has ended by this machine's clock.
func (r *running) lapsed() bool { return !time.Now().Before(r.lease.Until()) }

// fillSlot claims and runs one task after the other until claiming ends.
func (r *running) fillSlot() {
	for r.claiming.Err() == nil && !r.lapsed() {
		sh, wait, change := r.shares.next()
		if sh == nil {
			select {
			case <-change:
			case <-r.claiming.Done():
			}
			continue
		}
		claim, err := r.claim(sh, wait)
		r.shares.done(sh, err == nil)
		if err != nil {
			if !errors.Is(err, context.DeadlineExceeded) && r.claiming.Err() == nil {
				r.Logger.Warn("no claim", "tenant", r.shares.tenant(sh).Name, "error", err)
				pause(r.claiming, r.TTL/10)
			}
			continue
		}
		r.busy.Add(1)
		newJob(r, sh.space, r.shares.tenant(sh), claim).run()
		r.busy.Add(-1)
	}
}

// claim waits for a task of a tenant.
func (r *running) claim(sh *share, wait time.Duration) (Claim, error) {
	ctx, cancel := context.WithTimeout(r.claiming, wait)
	defer cancel()
	claim, err := sh.space.Tasks.Claim(ctx, r.Name, r.TTL)
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return claim, err
}

// keepTenants reads the tenants again from time to time until claiming ends.
func (r *running) keepTenants() {
	for pause(r.claiming, tenantsEvery) {
		if err := r.loadTenants(r.claiming); err != nil && r.claiming.Err() == nil {
			r.Logger.Warn("tenants unknown", "error", err)
		}
	}
}

// loadTenants reads the tenants that the worker serves, and opens their spaces. After an error of
// one tenant it goes on with the others.
func (r *running) loadTenants(ctx context.Context) error {
	tenants, err := r.Engine.Tenants(ctx)
	if err != nil {
		return fmt.Errorf("the tenants of the fleet: %w", err)
	}
	var errs []error
	for _, name := range r.Tenants {
		if !slices.ContainsFunc(tenants, func(t Tenant) bool { return t.Name == name }) {
			errs = append(errs, fmt.Errorf("the fleet has no tenant %q", name))
		}
	}
	// A tenant that comes back is opened anew: the servers have refused its old connection.
	maps.DeleteFunc(r.spaces, func(name string, _ *Space) bool {
		return !slices.ContainsFunc(tenants, func(t Tenant) bool { return t.Name == name })
	})
	var serves []Tenant
	for _, t := range tenants {
		if r.Tenants != nil && !slices.Contains(r.Tenants, t.Name) {
			continue
		}
		if r.spaces[t.Name] == nil {
			space, err := r.Engine.Open(ctx, t.Name)
			if err != nil {
				errs = append(errs, fmt.Errorf("the tenant %s: %w", t.Name, err))
				continue
			}
			r.spaces[t.Name] = space
		}
		serves = append(serves, t)
	}
	r.shares.set(r.spaces, serves)
	return errors.Join(errs...)
}

// pause waits for some time, and reports whether ctx has not ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
