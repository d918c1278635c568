package fleet_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/memfleet"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/tool"
)

// held is a model whose first answer of one turn is held back until it is let go.
type held struct {
	turn    int
	came    chan struct{} // closed when the request is there
	letGo   chan struct{}
	isFirst atomic.Bool
}

func newHeld(turn int) *held {
	return &held{turn: turn, came: make(chan struct{}), letGo: make(chan struct{})}
}

func (h *held) answer(r *fakellm.Request, turns []fakellm.Turn) fakellm.Turn {
	if r.Turn() == h.turn && h.isFirst.CompareAndSwap(false, true) {
		close(h.came)
		<-h.letGo
	}
	return fakellm.Script(turns...)(r)
}

// TestP4_ZombieAppendsNothing cuts a worker off while it waits for the model. When the answer
// comes, with a call, another worker has the task.
func TestP4_ZombieAppendsNothing(t *testing.T) {
	t.Parallel()
	h := newHeld(1)
	var f *field
	f = newField(t, memfleet.Options{}, func(r *fakellm.Request) fakellm.Turn {
		return h.answer(r, []fakellm.Turn{f.effect("one", "echo kept > a.txt"), f.effect("two", "cat a.txt"),
			{Text: "Done."}})
	}, fakellm.Options{})
	f.submit(fleet.Task{ID: "t1", Prompt: "Do it."})
	cut := &cutEngine{Engine: f.engine.Share()}
	var log journal.Log
	f.ttl = short
	w1 := f.workerOn(cut, "w1")
	host := w1.Host
	w1.Host = func(ctx context.Context, j *fleet.Job) (fleet.Hosted, error) {
		log = j.Journal
		return host(ctx, j)
	}
	stop := f.start(w1)
	<-h.came
	cut.cut.Store(true)
	f.start(f.worker("w2"))
	s := f.wait("t1")
	close(h.letGo)
	if err := stop(); !errors.Is(err, fleet.ErrLost) {
		t.Errorf("the zombie's Run: %v", err)
	}
	if err := log.Append(t.Context(), log.Len()+1, journal.Record{Kind: "zombie"}); !errors.Is(err,
		journal.ErrConflict) {
		t.Errorf("the zombie's append: %v", err)
	}
	if s.State != fleet.Done || s.Worker != "w2" || s.Attempt != 2 || len(s.Deaths) != 1 ||
		s.Deaths[0].Worker != "w1" || len(s.Deaths[0].Left) != 0 {
		t.Errorf("status: %+v", s)
	}
	if got := f.effects(); got["one"] != 1 || got["two"] != 1 {
		t.Errorf("effects: %v", got)
	}
	results := f.results("t1")
	if len(results) != 2 || !strings.Contains(results[1], "kept") {
		t.Errorf("the workspace did not go on: %q", results)
	}
	f.replays("t1")
}

// replays checks that the journal of a task is that of one session.
func (f *field) replays(id string) {
	f.t.Helper()
	log, err := f.space(fleet.DefaultTenant).Journals.Read(f.t.Context(), id)
	if err != nil {
		f.t.Fatal(err)
	}
	defer log.Close()
	if err := agent.Replay(f.t.Context(), log, agent.ReplayOptions{}); err != nil {
		f.t.Errorf("replay of %s: %v", id, err)
	}
}

// TestP4_StoppedBetweenRecordAndEffect stops a worker when a call is recorded and has not done
// anything yet. When it comes back, its lease has ended.
func TestP4_StoppedBetweenRecordAndEffect(t *testing.T) {
	t.Parallel()
	var f *field
	f = newField(t, memfleet.Options{}, func(r *fakellm.Request) fakellm.Turn {
		return fakellm.Script(f.effect("once"), fakellm.Turn{Text: "Done."})(r)
	}, fakellm.Options{})
	f.submit(fleet.Task{ID: "t1", Prompt: "Do it."})
	cut := &cutEngine{Engine: f.engine.Share()}
	begun, back, refused := make(chan struct{}), make(chan struct{}), make(chan error, 2)
	f.ttl = short
	stop := f.start(f.workerOn(cut, "w1", func(_ *fleet.Worker, o *agent.Options) {
		i := 0
		for o.Profile.Tools[i].Name != "shell" {
			i++
		}
		stopped := o.Profile.Tools[i]
		stopped.Run = func(ctx context.Context, call *tool.Call) (tool.Result, error) {
			close(begun)
			<-back
			_, err := call.Env.Start(context.WithoutCancel(ctx), env.Command{Script: "echo zombie >> " + f.out})
			refused <- err
			refused <- call.Env.WriteFile(context.WithoutCancel(ctx), f.out, []byte("zombie\n"), 0o644)
			return tool.Result{}, err
		}
		o.Tools = append(o.Tools, stopped)
	}))
	<-begun
	cut.cut.Store(true)
	if err := stop(); !errors.Is(err, fleet.ErrLost) {
		t.Errorf("the zombie's Run: %v", err)
	}
	close(back)
	for range 2 {
		if err := <-refused; err == nil || !strings.Contains(err.Error(), "hold on the task") {
			t.Errorf("the zombie's effect: %v", err)
		}
	}
	f.start(f.worker("w2"))
	s := f.wait("t1")
	if s.State != fleet.Done || len(s.Deaths) != 1 || len(s.Deaths[0].Left) != 1 ||
		!strings.HasPrefix(s.Deaths[0].Left[0], "shell {") {
		t.Errorf("status: %+v", s)
	}
	if got := f.effects(); len(got) != 0 { // the model is told that the outcome is unknown, and goes on
		t.Errorf("effects: %v", got)
	}
	if results := f.results("t1"); len(results) != 1 || !strings.Contains(results[0], "outcome is unknown") {
		t.Errorf("the model was told: %q", results)
	}
	f.replays("t1")
}

// TestP4_TakeoverInACall cuts a worker off while a command runs: its effect is not repeated.
func TestP4_TakeoverInACall(t *testing.T) {
	t.Parallel()
	var f *field
	f = newField(t, memfleet.Options{}, func(r *fakellm.Request) fakellm.Turn {
		return fakellm.Script(f.effect("one"), shell("echo two >> "+f.out, "sleep 60"), f.effect("three"),
			fakellm.Turn{Text: "Done."})(r)
	}, fakellm.Options{})
	f.submit(fleet.Task{ID: "t1", Prompt: "Do it."})
	cut := &cutEngine{Engine: f.engine.Share()}
	f.ttl = short
	stop := f.start(f.workerOn(cut, "w1"))
	f.until("the second effect", func() bool { return f.effects()["two"] == 1 })
	cut.cut.Store(true)
	f.start(f.worker("w2"))
	s := f.wait("t1")
	if err := stop(); !errors.Is(err, fleet.ErrLost) {
		t.Errorf("the zombie's Run: %v", err)
	}
	if s.State != fleet.Done || s.Result.Text != "Done." || s.Result.ToolRounds != 3 || len(s.Deaths) != 1 ||
		len(s.Deaths[0].Left) != 1 {
		t.Errorf("status: %+v, result %+v", s, s.Result)
	}
	if got := f.effects(); got["one"] != 1 || got["two"] != 1 || got["three"] != 1 {
		t.Errorf("effects: %v", got)
	}
	if results := f.results("t1"); len(results) != 3 || !strings.Contains(results[1], "outcome is unknown") {
		t.Errorf("the model was told: %q", results)
	}
}

// TestP4_DrainLeavesNothingUnknown drains a worker while a command runs: it ends first, and another
// worker goes on.
func TestP4_DrainLeavesNothingUnknown(t *testing.T) {
	t.Parallel()
	var f *field
	f = newField(t, memfleet.Options{}, func(r *fakellm.Request) fakellm.Turn {
		return fakellm.Script(shell("echo begun >> "+f.out, "sleep 3", "echo ended >> "+f.out, "echo kept > a.txt"),
			f.effect("next", "cat a.txt"), fakellm.Turn{Text: "Done."})(r)
	}, fakellm.Options{})
	f.submit(fleet.Task{ID: "t1", Prompt: "Do it."})
	f.ttl = short
	stop := f.start(f.worker("w1"))
	f.until("the effect", func() bool { return f.effects()["begun"] == 1 })
	if err := f.engine.Leases().Drain(t.Context(), "w1"); err != nil {
		t.Fatal(err)
	}
	f.until("the worker's end", func() bool {
		_, s, err := f.space(fleet.DefaultTenant).Tasks.Get(t.Context(), "t1")
		return err == nil && s.State == fleet.Queued
	})
	f.start(f.worker("w2"))
	s := f.wait("t1")
	if err := stop(); err != nil {
		t.Errorf("Run of the drained worker: %v", err)
	}
	if s.State != fleet.Done || s.Attempt != 2 || len(s.Deaths) != 0 {
		t.Errorf("status: %+v", s)
	}
	if got := f.effects(); got["begun"] != 1 || got["ended"] != 1 || got["next"] != 1 {
		t.Errorf("effects: %v", got)
	}
	if results := f.results("t1"); len(results) != 2 || strings.Contains(results[0], "unknown") ||
		!strings.Contains(results[1], "kept") {
		t.Errorf("the model was told: %q", results)
	}
	f.replays("t1")
}

// TestP4_Poisoned has a task that ends its workers.
func TestP4_Poisoned(t *testing.T) {
	t.Parallel()
	var f *field
	f = newField(t, memfleet.Options{}, func(r *fakellm.Request) fakellm.Turn {
		turn := shell("echo begun >> "+f.out, "sleep 60")
		turn.Text = "I try again."
		return turn
	}, fakellm.Options{})
	f.submit(fleet.Task{ID: "t1", Prompt: "Do it."})
	f.ttl = short
	for n := 1; n <= 2; n++ {
		cut := &cutEngine{Engine: f.engine.Share()}
		stop := f.start(f.workerOn(cut, "w", func(w *fleet.Worker, _ *agent.Options) { w.MaxDeaths = 2 }))
		f.until("another effect", func() bool { return f.effects()["begun"] == n })
		cut.cut.Store(true)
		if err := stop(); !errors.Is(err, fleet.ErrLost) {
			t.Fatal(err)
		}
	}
	f.start(f.worker("last", func(w *fleet.Worker, _ *agent.Options) { w.MaxDeaths = 2 }))
	s := f.wait("t1")
	if s.State != fleet.Poisoned || len(s.Deaths) != 2 || len(s.Deaths[1].Left) != 1 ||
		!strings.Contains(s.Deaths[1].Left[0], "sleep 60") {
		t.Errorf("status: %+v", s)
	}
	if got := f.effects(); got["begun"] != 2 {
		t.Errorf("effects: %v", got)
	}
}

// TestP4_CutOff has a worker that is cut off from the engine again and again, as by a server that
// restarts, and comes back: that is no reason to give the task up.
func TestP4_CutOff(t *testing.T) {
	t.Parallel()
	const times = 3
	var f *field
	f = newField(t, memfleet.Options{}, func(r *fakellm.Request) fakellm.Turn {
		if r.N > times {
			return fakellm.Turn{Text: "Done."}
		}
		return shell("echo begun >> "+f.out, "sleep 60")
	}, fakellm.Options{})
	f.submit(fleet.Task{ID: "t1", Prompt: "Do it."})
	cut := &cutEngine{Engine: f.engine.Share()}
	f.ttl = short
	w := f.workerOn(cut, "w", func(w *fleet.Worker, _ *agent.Options) { w.MaxDeaths = 2 })
	for n := 1; n <= times; n++ {
		stop := f.start(w)
		f.until("another effect", func() bool { return f.effects()["begun"] == n })
		cut.cut.Store(true)
		if err := stop(); !errors.Is(err, fleet.ErrLost) {
			t.Fatal(err)
		}
		cut.cut.Store(false)
	}
	f.start(w)
	s := f.wait("t1")
	if s.State != fleet.Done || len(s.Deaths) != times {
		t.Errorf("status: %+v", s)
	}
	for i, d := range s.Deaths {
		if d.Survived != (i < times-1) || len(d.Left) != 1 { // nothing is known yet of the last one
			t.Errorf("death: %+v", d)
		}
	}
}

// TestP4_DiedBeforeTheLastStatus cuts a worker off when the session has ended, and its status is
// not written.
func TestP4_DiedBeforeTheLastStatus(t *testing.T) {
	t.Parallel()
	var f *field
	f = newField(t, memfleet.Options{}, func(r *fakellm.Request) fakellm.Turn {
		return fakellm.Script(f.effect("one", "echo kept > a.txt"), fakellm.Turn{Text: "Done."})(r)
	}, fakellm.Options{})
	var verified atomic.Int64
	verifying := func(w *fleet.Worker) *fleet.Worker {
		host := w.Host
		w.Host = func(ctx context.Context, j *fleet.Job) (fleet.Hosted, error) {
			h, err := host(ctx, j)
			h.Verify = func(context.Context, *agent.Result) error {
				verified.Add(1)
				return nil
			}
			return h, err
		}
		return w
	}
	cut := &cutEngine{Engine: f.engine.Share()}
	cut.noFinish.Store(true)
	f.submit(fleet.Task{ID: "good", Prompt: "Do it."})
	f.ttl = short
	stop := f.start(verifying(f.workerOn(cut, "w1")))
	f.until("the end of the session", cut.cut.Load)
	f.start(verifying(f.worker("w2")))
	s := f.wait("good")
	if err := stop(); !errors.Is(err, fleet.ErrLost) {
		t.Error(err)
	}
	if s.State != fleet.Done || s.Worker != "w2" || s.Result.Text != "Done." || s.Result.Turns != 2 ||
		len(s.Artifacts) != 1 || s.Artifacts[0].Name != "patch" {
		t.Errorf("status: %+v, result %+v", s, s.Result)
	}
	if n := len(f.model.Requests()); n != 2 || verified.Load() != 2 || f.effects()["one"] != 1 {
		t.Errorf("%d requests, verified %d times, effects %v", n, verified.Load(), f.effects())
	}
	ends := 0
	for _, e := range f.projected("good") {
		if e.Head().Kind == agent.KindProcessingEnd {
			ends++
		}
	}
	if ends != 1 {
		t.Errorf("the input ended %d times", ends)
	}
}

// TestP4_DiedAfterAnEnd cuts a worker off when the session has stopped at a limit, or failed: the
// next one writes that down, and asks the model nothing.
func TestP4_DiedAfterAnEnd(t *testing.T) {
	t.Parallel()
	notFound := fakellm.Options{Faults: map[int]fakellm.Fault{1: {Kind: fakellm.FaultStatus,
		Status: http.StatusNotFound}}}
	for name, c := range map[string]struct {
		model fakellm.Options
		state fleet.State
		why   agent.Reason
	}{
		"at a limit": {fakellm.Options{}, fleet.Done, agent.ReasonMaxTurns},
		"failed":     {notFound, fleet.Failed, agent.ReasonFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var f *field
			f = newField(t, memfleet.Options{}, func(r *fakellm.Request) fakellm.Turn {
				return fakellm.Script(f.effect("one"), fakellm.Turn{Text: "Done."})(r)
			}, c.model)
			cut := &cutEngine{Engine: f.engine.Share()}
			cut.noFinish.Store(true)
			f.submit(fleet.Task{ID: "t", Prompt: "Do it.", Agent: fleet.Spec{MaxTurns: 1}})
			f.ttl = short
			f.start(f.workerOn(cut, "w1"))
			f.until("the end of the session", cut.cut.Load)
			f.start(f.worker("w2"))
			s := f.wait("t")
			if s.State != c.state || s.Worker != "w2" || s.Result == nil || s.Result.Reason != c.why {
				t.Errorf("status: %+v, result %+v", s, s.Result)
			}
			if n := len(f.model.Requests()); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}
