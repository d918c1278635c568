package fleet_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/memfleet"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// wrongPlaces makes workspaces that do something else when they are recorded, or their patch is
// written.
type wrongPlaces struct {
	fleet.Workspaces
	point func(ctx context.Context, next func(context.Context) (*fleet.WorkspacePoint, error)) (*fleet.WorkspacePoint,
		error)
	patch func(ctx context.Context, w io.Writer) error
}

func (p wrongPlaces) Open(ctx context.Context, t fleet.Task, o fleet.Objects,
	last *fleet.WorkspacePoint) (fleet.Workspace, error) {
	w, err := p.Workspaces.Open(ctx, t, o, last)
	return wrongPlace{w, p}, err
}

type wrongPlace struct {
	fleet.Workspace
	p wrongPlaces
}

func (w wrongPlace) Point(ctx context.Context) (*fleet.WorkspacePoint, error) {
	if w.p.point == nil {
		return w.Workspace.Point(ctx)
	}
	return w.p.point(ctx, w.Workspace.Point)
}

func (w wrongPlace) Patch(ctx context.Context, to io.Writer) error {
	if w.p.patch == nil {
		return w.Workspace.Patch(ctx, to)
	}
	return w.p.patch(ctx, to)
}

// TestP4_EndedWhileTheWorkspaceHangs ends tasks whose workspace is never recorded.
func TestP4_EndedWhileTheWorkspaceHangs(t *testing.T) {
	t.Parallel()
	for state, end := range map[fleet.State]func(c *fleet.Client) error{
		fleet.Canceled: func(c *fleet.Client) error { return c.Cancel(t.Context(), "t1") },
		fleet.Done:     func(c *fleet.Client) error { return c.Interrupt(t.Context(), "t1") },
	} {
		var f *field
		f = newField(t, memfleet.Options{}, func(*fakellm.Request) fakellm.Turn { return f.effect("one") },
			fakellm.Options{})
		var points atomic.Int64
		hangs := make(chan struct{})
		f.start(f.worker("w1", func(w *fleet.Worker, _ *agent.Options) {
			w.Grace = 100 * time.Millisecond
			w.Workspaces = wrongPlaces{Workspaces: w.Workspaces,
				point: func(ctx context.Context, next func(context.Context) (*fleet.WorkspacePoint,
					error)) (*fleet.WorkspacePoint, error) {
					if points.Add(1) == 2 {
						close(hangs)
						<-ctx.Done()
						return nil, ctx.Err()
					}
					return next(ctx)
				}}
		}))
		f.submit(fleet.Task{ID: "t1", Prompt: "Do it."})
		<-hangs
		if err := end(f.client()); err != nil {
			t.Fatal(err)
		}
		s := f.wait("t1")
		if s.State != state || s.Attempt != 1 {
			t.Errorf("status: %+v", s)
		}
		if state == fleet.Done && (s.Result == nil || s.Result.Reason != agent.ReasonInterrupted) {
			t.Errorf("the result is %+v", s.Result)
		}
	}
}

// TestP4_ClaimIsKeptToTheEnd has a task that failed whose patch takes longer than a claim lasts.
func TestP4_ClaimIsKeptToTheEnd(t *testing.T) {
	t.Parallel()
	var f *field
	f = newField(t, memfleet.Options{}, func(*fakellm.Request) fakellm.Turn { return f.effect("one") },
		fakellm.Options{})
	engine := &cutEngine{Engine: f.engine.Share()}
	var points atomic.Int64
	f.ttl = short
	f.start(f.workerOn(engine, "w1", func(w *fleet.Worker, _ *agent.Options) {
		w.Workspaces = wrongPlaces{Workspaces: w.Workspaces,
			point: func(ctx context.Context, next func(context.Context) (*fleet.WorkspacePoint,
				error)) (*fleet.WorkspacePoint, error) {
				if points.Add(1) == 2 {
					return nil, &fleet.PermanentError{Err: errors.New("too many files")}
				}
				return next(ctx)
			},
			patch: func(context.Context, io.Writer) error { // to when the claim would have ended
				for before, bound := engine.extended.Load(),
					time.Now().Add(3*short); engine.extended.Load() < before+4 && time.Now().Before(bound); {
					time.Sleep(5 * time.Millisecond)
				}
				return nil
			}}
	}))
	f.submit(fleet.Task{ID: "t1", Prompt: "Do it."})
	if s := f.wait("t1"); s.State != fleet.Failed || s.Attempt != 1 ||
		!strings.Contains(s.Reason, "the workspace cannot be recorded: too many files") {
		t.Errorf("status: %+v", s)
	}
}

// TestP4_PatchThatPanics has a workspace with a bug.
func TestP4_PatchThatPanics(t *testing.T) {
	t.Parallel()
	f := newField(t, memfleet.Options{}, fakellm.Script(fakellm.Turn{Text: "Done."}), fakellm.Options{})
	f.start(f.worker("w1", func(w *fleet.Worker, _ *agent.Options) {
		w.Workspaces = wrongPlaces{Workspaces: w.Workspaces, patch: func(context.Context,
			io.Writer) error {
			panic("a bug")
		}}
	}))
	f.submit(fleet.Task{ID: "t1", Prompt: "Do it."})
	if s := f.wait("t1"); s.State != fleet.Done || !strings.Contains(s.Reason, "a bug") {
		t.Errorf("status: %+v", s)
	}
}

// TestP4_UnheldTaskIsLeftAlone has a worker that claims a task and cannot keep it. The journal may
// be somebody else's by then.
func TestP4_UnheldTaskIsLeftAlone(t *testing.T) {
	t.Parallel()
	f := newField(t, memfleet.Options{}, fakellm.Script(fakellm.Turn{Text: "Done."}), fakellm.Options{})
	engine := &cutEngine{Engine: f.engine.Share()}
	engine.noExtend.Store(true)
	f.ttl = short
	stop := f.start(f.workerOn(engine, "w1"))
	f.submit(fleet.Task{ID: "t1", Prompt: "Do it."})
	f.until("another claim", func() bool {
		_, s, err := f.space(fleet.DefaultTenant).Tasks.Get(t.Context(), "t1")
		return err == nil && s.Attempt >= 2
	})
	if err := stop(); err != nil {
		t.Error(err)
	}
	if n := engine.opened.Load(); n > 0 {
		t.Errorf("the journal was opened %d times", n)
	}
	f.start(f.worker("w2"))
	if s := f.wait("t1"); s.State != fleet.Done {
		t.Errorf("status: %+v", s)
	}
}
