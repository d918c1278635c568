package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/memfleet"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// TestP6_OutagePausesTasks has a provider that does not answer for longer than the sessions try.
func TestP6_OutagePausesTasks(t *testing.T) {
	t.Parallel()
	faults := map[int]fakellm.Fault{}
	for n := 2; n <= 7; n++ {
		faults[n] = fakellm.Fault{Kind: fakellm.FaultStatus, Status: http.StatusServiceUnavailable}
	}
	var f *field
	f = newField(t, memfleet.Options{}, func(r *fakellm.Request) fakellm.Turn {
		return fakellm.Script(f.effect(strings.SplitN(r.Messages[0].Parts.Text(), ".", 2)[0]),
			fakellm.Turn{Text: "Done."})(r)
	}, fakellm.Options{Faults: faults})
	f.ttl = short
	f.start(f.worker("w1", func(w *fleet.Worker, _ *agent.Options) { w.Slots = 2 }))
	f.submit(fleet.Task{ID: "t1", Prompt: "one."})
	first := f.follow("t1", 1)
	f.submit(fleet.Task{ID: "t2", Prompt: "two."})
	for _, id := range []string{"t1", "t2"} {
		if s := f.wait(id); s.State != fleet.Done || s.Failures != 0 || s.Attempt < 2 {
			t.Errorf("%s: %+v", id, s)
		}
	}
	if got := f.effects(); got["one"] != 1 || got["two"] != 1 {
		t.Errorf("effects: %v", got)
	}
	w := <-first
	if w.err != nil || !strings.Contains(fmt.Sprint(w.statuses), "paused") {
		t.Errorf("statuses: %v, %v", w.statuses, w.err)
	}
	if n := len(f.model.Requests()); n > 4+6+4 {
		t.Errorf("the provider was asked %d times", n)
	}
}

// TestP6_RefusedByTheModelFails has failures that no waiting mends.
func TestP6_RefusedByTheModelFails(t *testing.T) {
	t.Parallel()
	f := newField(t, memfleet.Options{}, fakellm.Script(fakellm.Turn{Text: "Done."}),
		fakellm.Options{Faults: map[int]fakellm.Fault{1: {Kind: fakellm.FaultStatus, Status: http.StatusNotFound}}})
	f.start(f.worker("w1"))
	f.submit(fleet.Task{ID: "t1", Prompt: "Do it.", Agent: fleet.Spec{Model: "unknown"}})
	if s := f.wait("t1"); s.State != fleet.Failed || !strings.Contains(s.Reason, "not found") || s.Attempt != 1 {
		t.Errorf("status: %+v", s)
	}
}

// TestP6_OnlyOneTaskFails has a model that answers other tasks meanwhile: there is no outage, and
// only that task waits.
func TestP6_OnlyOneTaskFails(t *testing.T) {
	t.Parallel()
	faults := map[int]fakellm.Fault{1: {Kind: fakellm.FaultReset}, 3: {Kind: fakellm.FaultReset}}
	f := newField(t, memfleet.Options{}, fakellm.Script(fakellm.Turn{Text: "Done."}), fakellm.Options{Faults: faults})
	retries := make(chan struct{}, 9)
	f.ttl = short
	f.start(f.worker("w1", func(w *fleet.Worker, o *agent.Options) {
		w.Slots, o.Retry.Base = 2, 5*time.Second // so that the other task is first
		o.Retry.Jitter = func() float64 { return 1 }
		o.OnEvent = func(e agent.Event) {
			if e.Head().Kind == agent.KindLLMRetry {
				retries <- struct{}{}
			}
		}
	}))
	f.submit(fleet.Task{ID: "fails", Prompt: "Do it."})
	<-retries
	f.submit(fleet.Task{ID: "other", Prompt: "Do it."})
	if s := f.wait("other"); s.State != fleet.Done {
		t.Errorf("status: %+v", s)
	}
	f.until("the pause", func() bool {
		_, s, err := f.space(fleet.DefaultTenant).Tasks.Get(t.Context(), "fails")
		if strings.Contains(s.Reason, "the provider anthropic does not answer") {
			t.Errorf("the provider counts as one that does not answer: %+v", s)
		}
		return err == nil && (s.State == fleet.Paused || s.State.Final())
	})
	if s := f.wait("fails"); s.State != fleet.Done || s.Attempt != 2 {
		t.Errorf("status: %+v", s)
	}
}

// TestP6_PauseOfAnotherWorker has a provider of which another worker has found that it does not
// answer: it is not asked.
func TestP6_PauseOfAnotherWorker(t *testing.T) {
	t.Parallel()
	f := newField(t, memfleet.Options{}, fakellm.Script(fakellm.Turn{Text: "Done."}), fakellm.Options{})
	if err := f.engine.Slots().Pause(t.Context(), "anthropic", time.Now().Add(5*time.Second), "it burns"); err != nil {
		t.Fatal(err)
	}
	f.start(f.worker("w1"))
	f.submit(fleet.Task{ID: "t1", Prompt: "Do it."})
	paused := fleet.Status{}
	f.until("the pause", func() bool {
		_, s, err := f.space(fleet.DefaultTenant).Tasks.Get(t.Context(), "t1")
		paused = s
		return err == nil && (s.State == fleet.Paused || s.State.Final())
	})
	if paused.State != fleet.Paused || !strings.Contains(paused.Reason, "it burns") || paused.NotBefore.IsZero() ||
		len(f.model.Requests()) != 0 {
		t.Errorf("status: %+v, %d requests", paused, len(f.model.Requests()))
	}
	if s := f.wait("t1"); s.State != fleet.Done {
		t.Errorf("status: %+v", s)
	}
}

// TestP6_Weights has two tenants with more tasks than the worker can run.
func TestP6_Weights(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var order []string
	f := newField(t, memfleet.Options{Tenants: []fleet.Tenant{{Name: "big", Weight: 3}, {Name: "small"},
		{Name: "idle", Weight: 9}}},
		func(r *fakellm.Request) fakellm.Turn {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, r.Messages[0].Parts.Text())
			return fakellm.Turn{Text: "Done."}
		}, fakellm.Options{})
	for n := range 12 {
		for _, tenant := range []string{"small", "big"} {
			task := fleet.Task{ID: fmt.Sprintf("t%d", n), Tenant: tenant, Prompt: tenant}
			if _, _, err := fleet.NewClient(f.space(tenant)).Submit(t.Context(), task); err != nil {
				t.Fatal(err)
			}
		}
	}
	f.start(f.worker("w1"))
	for n := range 12 {
		f.waitOf("small", fmt.Sprintf("t%d", n))
		f.waitOf("big", fmt.Sprintf("t%d", n))
	}
	big := 0
	for _, tenant := range order[:12] {
		if tenant == "big" {
			big++
		}
	}
	if big < 8 || big > 10 { // 9, and one more or less until both are known to have tasks
		t.Errorf("of the first 12 tasks %d are the big tenant's: %v", big, order)
	}
}

// TestP6_TenantAtItsLimit has a tenant whose one task goes on and on.
func TestP6_TenantAtItsLimit(t *testing.T) {
	t.Parallel()
	letGo := make(chan struct{})
	f := newField(t, memfleet.Options{Tenants: []fleet.Tenant{{Name: "a", Limit: 1, Weight: 9}, {Name: "b"}}},
		func(r *fakellm.Request) fakellm.Turn {
			if r.Messages[0].Parts.Text() == "a" {
				<-letGo
			}
			return fakellm.Turn{Text: "Done."}
		}, fakellm.Options{})
	for _, tenant := range []string{"a", "b"} {
		for n := range 3 {
			task := fleet.Task{ID: fmt.Sprintf("t%d", n), Prompt: tenant}
			if _, _, err := fleet.NewClient(f.space(tenant)).Submit(t.Context(), task); err != nil {
				t.Fatal(err)
			}
		}
	}
	f.start(f.worker("w1", func(w *fleet.Worker, _ *agent.Options) { w.Slots = 2 }))
	for n := range 3 {
		f.waitOf("b", fmt.Sprintf("t%d", n))
	}
	close(letGo)
	for n := range 3 {
		f.waitOf("a", fmt.Sprintf("t%d", n))
	}
}

// TestP6_TenantsBudget has a tenant that has spent what it may.
func TestP6_TenantsBudget(t *testing.T) {
	t.Parallel()
	var f *field
	f = newField(t, memfleet.Options{Tenants: []fleet.Tenant{{Name: fleet.DefaultTenant,
		Budget: fleet.Budget{Tokens: 20_000}}}},
		func(r *fakellm.Request) fakellm.Turn {
			return f.effect("again")
		}, fakellm.Options{})
	f.start(f.worker("w1", func(_ *fleet.Worker, o *agent.Options) { o.Request.MaxTokens = 1000 }))
	f.submit(fleet.Task{ID: "t1", Prompt: "Do it."})
	s := f.wait("t1")
	if s.State != fleet.Done || s.Result.Reason != agent.ReasonBudgetTokens || s.Result.Usage.Total() > 20_000 ||
		s.Result.Turns == 0 {
		t.Errorf("status: %+v, result %+v", s, s.Result)
	}
	f.submit(fleet.Task{ID: "t2", Prompt: "Do it, too."})
	if s := f.wait("t2"); s.State != fleet.Done || s.Result.Reason != agent.ReasonBudgetTokens ||
		s.Result.Usage.Total() > 5_000 {
		t.Errorf("status: %+v, result %+v", s, s.Result)
	}
}

// TestP6_WorkspacesThatCannotBeOpened has workspaces that fail for a while, and for good.
func TestP6_WorkspacesThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	f := newField(t, memfleet.Options{}, fakellm.Script(fakellm.Turn{Text: "Done."}), fakellm.Options{})
	var mu sync.Mutex
	opened := map[string]int{}
	places := &places{t: t, open: func(task fleet.Task) error {
		mu.Lock()
		defer mu.Unlock()
		opened[task.ID]++
		switch {
		case task.ID == "never":
			return &fleet.PermanentError{Err: errors.New("the repository does not exist")}
		case task.ID == "panics":
			panic("a bug")
		case opened[task.ID] < 3:
			return errors.New("the network is slow")
		}
		return nil
	}}
	f.ttl = short
	f.start(f.worker("w1", func(w *fleet.Worker, _ *agent.Options) {
		w.Workspaces, w.Slots = places, 3
	}))
	for _, id := range []string{"never", "panics", "later"} {
		f.submit(fleet.Task{ID: id, Prompt: "Do it."})
	}
	if s := f.wait("never"); s.State != fleet.Failed || !strings.Contains(s.Reason, "the repository does not exist") ||
		s.Attempt != 1 {
		t.Errorf("status: %+v", s)
	}
	if s := f.wait("panics"); s.State != fleet.Failed || !strings.Contains(s.Reason, "a bug") || s.Attempt != 1 {
		t.Errorf("status: %+v", s)
	}
	if s := f.wait("later"); s.State != fleet.Done || s.Attempt != 3 || s.Failures != 0 {
		t.Errorf("status: %+v", s)
	}
}

// TestP6_Deadline has a task that does not end in time.
func TestP6_Deadline(t *testing.T) {
	t.Parallel()
	var f *field
	f = newField(t, memfleet.Options{}, func(*fakellm.Request) fakellm.Turn {
		return shell("echo begun >> "+f.out, "sleep 60")
	}, fakellm.Options{})
	f.start(f.worker("w1"))
	f.submit(fleet.Task{ID: "t1", Prompt: "Do it.", Deadline: time.Now().Add(5 * time.Second)})
	s := f.wait("t1")
	if s.State != fleet.Failed || !strings.Contains(s.Reason, "deadline") || s.Result == nil || s.Result.Turns != 1 {
		t.Errorf("status: %+v, result %+v", s, s.Result)
	}
	_, _, err := f.client().Submit(context.Background(),
		fleet.Task{ID: "t2", Prompt: "Do it.", Deadline: time.Now().Add(-time.Second)})
	if err == nil || !strings.Contains(err.Error(), "deadline") {
		t.Errorf("a task behind its deadline: %v", err)
	}
	if _, isNew, err := f.client().Submit(context.Background(), fleet.Task{ID: "t1", Prompt: "Do it.",
		Deadline: s.Submitted.Add(-time.Hour)}); isNew || err == nil {
		t.Errorf("another task under the same id: %v, %v", isNew, err)
	}
}

// TestP6_SlotsOfAllWorkers has one slot, which one worker's model call holds, and another worker
// that is drained while it waits for it.
func TestP6_SlotsOfAllWorkers(t *testing.T) {
	t.Parallel()
	h := newHeld(0)
	f := newField(t, memfleet.Options{Limits: []fleet.SlotLimit{{Provider: "anthropic", Slots: 1}}},
		func(r *fakellm.Request) fakellm.Turn {
			return h.answer(r, []fakellm.Turn{{Text: "Done."}})
		}, fakellm.Options{})
	f.submit(fleet.Task{ID: "holds", Prompt: "Do it."})
	f.start(f.worker("w1"))
	<-h.came
	f.submit(fleet.Task{ID: "waits", Prompt: "Do it."})
	stop := f.start(f.worker("w2"))
	status := func(id string) fleet.Status {
		_, s, err := f.space(fleet.DefaultTenant).Tasks.Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	f.until("the session", func() bool {
		return status("waits").State == fleet.Running && len(f.projected("waits")) > 2
	})
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if s := status("waits"); s.State != fleet.Queued || len(s.Deaths) != 0 || len(f.model.Requests()) != 1 {
		t.Errorf("status: %+v, %d requests", s, len(f.model.Requests()))
	}
	close(h.letGo)
	for _, id := range []string{"holds", "waits"} {
		if s := f.wait(id); s.State != fleet.Done || s.Failures != 0 {
			t.Errorf("%s: %+v", id, s)
		}
	}
}
