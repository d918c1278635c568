package attractor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/sessions"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/undo"
)

// checkpoints records the workspace of a session.
type checkpoints struct {
	store     *checkpoint.Dir
	dir       string // of the store
	workspace string
	owner     string               // the session's id
	recorder  *checkpoint.Recorder // nil if nothing is recorded
	tracker   *checkpoint.Tracker
	session   atomic.Pointer[agent.Session] // nil before the session has begun
	release   func() error                  // ends the use of the workspace
}

// openCheckpoints registers the session as a user of its workspace, and adds the middleware that
// records its changes.
func (s *Setup) openCheckpoints(ctx context.Context, c *config) error {
	if c.Checkpoints == "" {
		return nil
	}
	workspace := undo.Workspace(s.EnvCommand(), s.Machine.WorkDir())
	owner := cmp.Or(s.Options.ID, "a session that is not kept")
	points, err := enterWorkspace(ctx, c.Checkpoints, workspace, owner, func(owner string) {
		s.warnings.add("checkpoints", "the store of checkpoints was full, so the changes of the session "+
			sessions.ShortID(owner)+" can no longer be taken back")
	})
	var used *checkpoint.InUseError
	switch {
	case errors.As(err, &used):
		return fail(ErrConfig, "%w; wait until that is done", err)
	case err != nil:
		s.warnings.add("checkpoints", "changes cannot be taken back: "+err.Error())
		return nil
	}
	s.checkpoints = points
	if len(undo.Unfinished(c.Checkpoints, workspace)) > 0 {
		s.warnings.add("checkpoints",
			"an undo in this directory was interrupted; to finish it, end the session and run: attractor undo")
	}
	if c.NoCheckpoints || c.Store == nil || c.Mode == permit.ModeReadOnly {
		return nil
	}
	points.recorder = undo.NewRecorder(points.store, c.Checkpoints, workspace, s.Options.ID)
	o := checkpoint.TrackerOptions{Recorder: points.recorder, Env: s.Machine, Note: points.note,
		Warn: func(err error) { s.warnings.add("checkpoints", err.Error()) }, Git: s.repository(points.recorder)}
	if c.was != nil {
		if err := points.goOn(ctx, c, c.was, &o); err != nil {
			s.warnings.add("checkpoints", "the changes of the session until now cannot be taken back: "+err.Error())
		}
	}
	points.tracker = checkpoint.NewTracker(o)
	s.Options.Middleware = append([]tool.Middleware{s.inDir(points.tracker.Middleware)}, s.Options.Middleware...)
	return nil
}

// repository returns a function that returns the state of the repository, or nil if it cannot be
// read. Only the first failure is a warning.
func (s *Setup) repository(r *checkpoint.Recorder) func(context.Context) *checkpoint.GitState {
	var told atomic.Bool
	return func(ctx context.Context) *checkpoint.GitState {
		state, err := r.GitState(ctx, s.Machine)
		if err != nil {
			if ctx.Err() == nil && told.CompareAndSwap(false, true) {
				s.warnings.add("checkpoints",
					"attractor undo --git will not put the repository back, because its state is not recorded: "+
						err.Error())
			}
			return nil
		}
		return state
	}
}

// enterWorkspace opens the store in a directory and registers an owner as a user of a workspace.
func enterWorkspace(ctx context.Context, dir, workspace, owner string,
	evicted func(owner string)) (*checkpoints, error) {
	store, err := checkpoint.OpenDir(dir, checkpoint.DirOptions{Evicted: evicted})
	if err != nil {
		return nil, err
	}
	release, err := store.Use(ctx, workspace, owner)
	if err != nil {
		return nil, err
	}
	return &checkpoints{store: store, dir: dir, workspace: workspace, owner: owner, release: release}, nil
}

// goOn sets the options to continue the recording of a resumed session. A fork becomes an owner of
// the trees of the part that it has copied.
func (p *checkpoints) goOn(ctx context.Context, c *config, was *agent.State, o *checkpoint.TrackerOptions) error {
	note, ok := was.Notes[checkpoint.NoteKind]
	if !ok {
		return nil
	}
	o.Last = new(checkpoint.Point)
	if err := json.Unmarshal(note.Data, o.Last); err != nil {
		return err
	}
	if i := slices.IndexFunc(was.Calls, func(call agent.OpenCall) bool {
		return call.Intended && call.Result == nil
	}); i >= 0 {
		o.Killed = was.Calls[i].ID
	}
	if c.Fork == "" {
		return nil
	}
	trees, err := undo.ReadStored(ctx, c.Store, p.owner)
	if err != nil {
		return err
	}
	return p.keep(ctx, trees.Roots())
}

// noteKilled notes in the session that a kill has ended one of its calls. The journal does not show
// that once the call has a result.
func (s *Setup) noteKilled(ctx context.Context) {
	if s.checkpoints == nil || s.checkpoints.tracker == nil {
		return
	}
	if err := s.checkpoints.tracker.Resumed(ctx); err != nil {
		s.warnings.add("checkpoints",
			"what a call changed that was ended by a kill will look like changes by somebody else: "+err.Error())
	}
}

// keep makes the session an owner of trees.
func (p *checkpoints) keep(ctx context.Context, roots []env.Hash) error {
	for _, root := range roots {
		batch, err := p.store.Begin(ctx)
		if err == nil {
			err = errors.Join(batch.Commit(ctx, p.owner, root), batch.Close())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// note keeps a note in the session.
func (p *checkpoints) note(ctx context.Context, kind string, data json.RawMessage, text string) error {
	session := p.session.Load()
	if session == nil {
		return errors.New("the session has not begun")
	}
	return session.Note(ctx, kind, data, text)
}

// listenForInputs tells the checkpoints of each input of the session.
func (s *Setup) listenForInputs() {
	if s.checkpoints == nil || s.checkpoints.tracker == nil {
		return
	}
	s.onEvent(func(ev agent.Event) {
		if _, ok := ev.(*agent.UserInput); ok {
			s.checkpoints.tracker.NextInput()
		}
	})
}

// closeCheckpoints ends the use of the workspace.
func (s *Setup) closeCheckpoints() error {
	p := s.checkpoints
	if p == nil {
		return nil
	}
	var err error
	if p.recorder != nil {
		err = p.recorder.Close()
	}
	if err = errors.Join(err, p.release()); err != nil {
		return fmt.Errorf("checkpoints: %w", err)
	}
	return nil
}
