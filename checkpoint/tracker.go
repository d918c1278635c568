package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/tool"
)

// TrackerOptions hold what a [Tracker] needs.
type TrackerOptions struct {
	// Recorder records trees for the session.
	Recorder interface {
		Record(ctx context.Context, e env.Environment) (Tree, error)
	}
	// Env is the workspace.
	Env env.Environment
	// Note keeps a point in the session, as [tool.Session].Note does. Points of subagents are kept
	// there, too.
	Note func(ctx context.Context, kind string, data json.RawMessage, text string) error
	// Warn is told, at most once an input, why changes cannot be taken back from now on.
	Warn func(err error)
	// Last is the newest point of a session that goes on, or nil. Killed is the id of a call after
	// it that a kill has ended, or empty.
	Last   *Point
	Killed string
	// Git returns the state of the repository, or nil if it is unknown or there is none. It may be
	// nil.
	Git func(ctx context.Context) *GitState
}

// Tracker records the tree of a workspace around the calls of a session that may change it. Nothing
// is recorded before the first such call. A recording that fails does not stop the session: nothing
// is recorded from then on until [Tracker.NextInput].
type Tracker struct {
	o TrackerOptions

	input atomic.Int64 // counts inputs

	busy    *semaphore.Weighted // 1 while somebody uses the fields below
	running int                 // calls that may change something
	tree    *Tree               // the newest one, if there is one
	noted   env.Hash            // the tree that the newest point ends with, or empty
	killed  string
	git     *GitState // the newest one
	left    *Left     // of the newest point that has one
	failed  int64     // the input in which a recording failed last
	never   bool      // it cannot succeed
}

// NewTracker returns a tracker for one session.
func NewTracker(o TrackerOptions) *Tracker {
	t := &Tracker{o: o, busy: semaphore.NewWeighted(1), failed: -1}
	if o.Last != nil {
		t.noted, t.killed = o.Last.After, o.Killed
	}
	return t
}

// NextInput lets the tracker record again after a failure. It does not wait.
func (t *Tracker) NextInput() { t.input.Add(1) }

// Resumed keeps a point for the call that a kill has ended, so that its changes do not count as
// somebody else's however the session goes on. Call it when Note can be used.
func (t *Tracker) Resumed(ctx context.Context) error {
	if t.busy.Acquire(ctx, 1) != nil {
		return context.Cause(ctx)
	}
	defer t.busy.Release(1)
	return t.noteKilled(ctx)
}

// noteKilled keeps a point without After for the call that a kill has ended, unless the newest
// point is one.
func (t *Tracker) noteKilled(ctx context.Context) error {
	if t.killed == "" || t.noted == env.NoFile {
		return nil
	}
	err := t.note(ctx, Point{Call: t.killed, Before: t.noted})
	if err == nil {
		t.killed, t.noted = "", env.NoFile
	}
	return err
}

// off reports whether nothing is recorded, because a recording has failed in this input.
func (t *Tracker) off() bool { return t.never || t.failed == t.input.Load() }

// Middleware implements [tool.Middleware].
func (t *Tracker) Middleware(next tool.Handler) tool.Handler {
	return func(ctx context.Context, call *tool.Call) (tool.Result, error) {
		if call.Access.Effect == tool.ReadOnly || !t.before(ctx, call) {
			return next(ctx, call)
		}
		defer t.after(ctx, call) // also after a panic
		return next(ctx, call)
	}
}

// before records the tree before a call. It reports whether the call counts as running until after.
func (t *Tracker) before(ctx context.Context, call *tool.Call) bool {
	if t.busy.Acquire(ctx, 1) != nil {
		return false
	}
	defer t.busy.Release(1)
	if t.off() {
		return false
	}
	if t.running == 0 || t.noted == env.NoFile { // otherwise what has changed since was changed by the calls that run
		if err := t.recordBefore(ctx, call); err != nil {
			if ctx.Err() == nil {
				t.fail(err)
			}
			return false
		}
	}
	t.running++
	return true
}

func (t *Tracker) recordBefore(ctx context.Context, call *tool.Call) error {
	if err := t.record(ctx); err != nil {
		return err
	}
	t.git = t.repository(ctx)
	if t.tree.Root == t.noted {
		t.killed = "" // it has changed nothing
		return nil
	}
	if err := t.noteKilled(ctx); err != nil {
		return err
	}
	err := t.note(ctx, Point{Call: call.ID, Before: t.tree.Root})
	if err == nil {
		t.noted = t.tree.Root
	}
	return err
}

func (t *Tracker) repository(ctx context.Context) *GitState {
	if t.o.Git == nil {
		return nil
	}
	return t.o.Git(ctx)
}

// afterInterrupt is how long the recording after a call may go on when the call's context has
// ended. The session abandons calls that take longer.
const afterInterrupt = 1500 * time.Millisecond

// after records the tree after a call. If it cannot, a point without After says that the call's
// changes are unknown.
func (t *Tracker) after(ctx context.Context, call *tool.Call) {
	ctx, cancel := outlast(ctx, afterInterrupt)
	defer cancel()
	// also after ctx: the call would count as running for ever. Others have it as long as their
	// contexts last.
	_ = t.busy.Acquire(context.Background(), 1) // which never ends
	defer t.busy.Release(1)
	t.running--
	// a recording has failed while the call ran, and a point without After was noted then
	if t.off() || t.noted == env.NoFile {
		return
	}
	point := Point{Call: call.ID, Before: t.noted}
	if err := t.record(ctx); err != nil {
		// ctx may be why it has failed
		noting, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterInterrupt)
		defer cancel()
		t.fail(errors.Join(err, t.note(noting, point)))
		return
	}
	point.After = t.tree.Root
	if git := t.repository(ctx); git != nil && t.git != nil && *git != *t.git {
		point.Git, point.GitAfter, t.git = t.git, git, git
	}
	if point.After == point.Before && point.Git == nil {
		return
	}
	if err := t.note(ctx, point); err != nil {
		t.fail(err)
		return
	}
	t.noted = point.After
}

// record records the tree.
func (t *Tracker) record(ctx context.Context) error {
	tree, err := t.o.Recorder.Record(ctx, t.o.Env)
	if err == nil {
		t.tree = &tree
	}
	return err
}

// note keeps a point.
func (t *Tracker) note(ctx context.Context, p Point) error {
	if t.tree != nil && (t.left == nil || !reflect.DeepEqual(t.tree.Left, *t.left)) {
		p.Left = &t.tree.Left
	}
	data, err := json.Marshal(p)
	if err == nil {
		err = t.o.Note(ctx, NoteKind, data, "")
	}
	if err == nil && p.Left != nil {
		t.left = p.Left
	}
	return err
}

// fail stops the recording until the next input. The next point begins with the tree as it is then.
func (t *Tracker) fail(err error) {
	t.failed, t.noted = t.input.Load(), ""
	t.never = t.never || errors.Is(err, errors.ErrUnsupported)
	until := ", until the next input"
	if t.never {
		until = ""
	}
	t.o.Warn(fmt.Errorf("what is changed from now on cannot be taken back%s: %w", until, err))
}

// outlast returns a context that ends some time after ctx does.
func outlast(ctx context.Context, more time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(more, cancel) })
	return longer, func() { stop(); cancel() }
}

// NoteKind is the kind of the notes in which a session keeps its points.
const NoteKind = "checkpoint"

// Point is the data of a note: the trees around one call that may have changed the workspace, or
// around an undo. A point without After is written before a call if the tree is another one than
// the last point's After, so that it is known also after a kill.
type Point struct {
	Call   string   `json:"call,omitempty"` // the id of the call
	Before env.Hash `json:"before"`         // the root of the tree before it
	After  env.Hash `json:"after,omitempty"`
	// Undo says that the change was not the model's: an undo, or the undo of one.
	Undo bool `json:"undo,omitempty"`
	// Redo says that it was the undo of an undo.
	Redo bool `json:"redo,omitempty"`
	// Left says what the tree does not have. It is in the first point of a session, and where it
	// changes.
	Left *Left `json:"left,omitempty"`
	// Git is the state of the repository before the call, if the top directory is in one.
	Git *GitState `json:"git,omitempty"`
	// GitAfter is its state after the call. Nil in a point with an After means that the call has
	// not changed it.
	GitAfter *GitState `json:"git_after,omitempty"`
}

// GitState describes what a repository had checked out. Undo restores it only on request.
type GitState struct {
	Dir    string   `json:"dir"`              // the repository's .git directory, absolute
	Head   string   `json:"head"`             // the content of HEAD, such as "ref: refs/heads/main"
	Commit string   `json:"commit,omitempty"` // what HEAD leads to
	Index  env.Hash `json:"index,omitempty"`  // the object that has the content of the index
}
