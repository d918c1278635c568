package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

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
	// Submit begins the task's input, and works on it to its end. Nil means Session.Submit of the
	// task's prompt.
	Submit func(ctx context.Context) (*agent.Result, error)
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
