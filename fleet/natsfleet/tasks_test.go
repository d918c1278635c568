package natsfleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/internal/engine"
	"github.com/attractor-go/attractor/internal/await"
)

// hosted is a fleet on a server of this process that can be started again.
type hosted struct {
	t      *testing.T
	config Config
	server *Server
}

// tasks are those of a space here.
type tasks = engine.Tasks

const testToken = "a token of the operator"

// host starts a server with tenants.
func host(t *testing.T, limits []fleet.SlotLimit, tenants ...fleet.Tenant) *hosted {
	h := &hosted{t: t, config: Config{Store: t.TempDir(), Operator: testToken, Slots: limits, Shards: 1}}
	for _, tenant := range tenants {
		h.config.Tenants = append(h.config.Tenants, Tenant{Tenant: tenant})
	}
	h.start()
	t.Cleanup(h.stop)
	return h
}

func (h *hosted) start() {
	h.t.Helper()
	s, err := StartServer(context.Background(), h.config)
	if err != nil {
		h.t.Fatal(err)
	}
	h.server = s
}

func (h *hosted) stop() {
	if err := h.server.Close(); err != nil {
		h.t.Error(err)
	}
}

// engine opens an engine, as one machine has it.
func (h *hosted) engine() *natsEngine {
	h.t.Helper()
	e, err := h.server.engine(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = e.Close() }) // it may be closed already
	return e
}

// space opens the space of a tenant, as one machine has it.
func (h *hosted) space(tenant string) *space {
	h.t.Helper()
	e := h.engine()
	if _, err := e.Open(h.t.Context(), tenant); err != nil {
		h.t.Fatal(err)
	}
	return inside(e, tenant)
}

// inside returns the space that an engine has opened, with its account.
func inside(e fleet.Engine, tenant string) *space { return e.(*natsEngine).spaces[tenant] }

// tasks returns the tasks of a tenant, as one machine has them.
func (h *hosted) tasks(tenant string) *tasks { return h.space(tenant).Tasks.(*tasks) }

func one(limit, queued int) fleet.Tenant {
	return fleet.Tenant{Name: "one", Limit: limit, MaxQueued: queued}
}

// submit submits tasks.
func submit(t *testing.T, tasks fleet.Tasks, ids ...string) {
	t.Helper()
	for _, id := range ids {
		s, isNew, err := tasks.Submit(t.Context(), fleet.Task{ID: id, Prompt: "prompt of " + id})
		if err != nil || !isNew || s.ID != id || s.State != fleet.Queued || s.Submitted.IsZero() {
			t.Fatalf("submit %s: %+v, new %v, %v", id, s, isNew, err)
		}
	}
}

// claimOf claims the next task, which has to be there.
func claimOf(t *testing.T, tasks fleet.Tasks, worker string, hold time.Duration) fleet.Claim {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), await.Limit)
	defer cancel()
	c, err := tasks.Claim(ctx, worker, hold)
	if err != nil {
		t.Fatalf("%s claims: %v", worker, err)
	}
	return c
}

// noClaim checks that nothing is due for a while.
func noClaim(t *testing.T, tasks fleet.Tasks, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if c, err := tasks.Claim(ctx, "greedy", time.Minute); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("there is something to claim: %+v, %v", c, err)
	}
}

func with(s fleet.Status, state fleet.State) fleet.Status { s.State = state; return s }

func finish(t *testing.T, c fleet.Claim) {
	t.Helper()
	if err := c.Finish(t.Context(), with(c.Status(), fleet.Done)); err != nil {
		t.Fatal(err)
	}
}

func stateOf(t *testing.T, tasks fleet.Tasks, id string) fleet.Status {
	t.Helper()
	_, s, err := tasks.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestP3_SubmittedOnce(t *testing.T) {
	t.Parallel()
	tasks := host(t, nil, one(0, 0)).tasks("one")
	submit(t, tasks, "a.b", "c")
	for range 2 {
		if s, isNew, err := tasks.Submit(t.Context(), fleet.Task{ID: "a.b", Prompt: "prompt of a.b",
			Tenant: "one"}); err != nil || isNew || s.State != fleet.Queued {
			t.Errorf("the same again: %+v, %v, %v", s, isNew, err)
		}
	}
	if _, _, err := tasks.Submit(t.Context(), fleet.Task{ID: "a.b", Prompt: "another"}); !errors.Is(err,
		fleet.ErrDifferent) {
		t.Errorf("another task: %v", err)
	}
	for _, bad := range []fleet.Task{{ID: "x", Tenant: "other"}, {ID: "a/b"}, {}, {ID: "*"}, {ID: ">"}} {
		if _, _, err := tasks.Submit(t.Context(), bad); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if _, _, err := tasks.Get(t.Context(), "*"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("get *: %v", err)
	}
	first, second := claimOf(t, tasks, "w", time.Minute), claimOf(t, tasks, "w", time.Minute)
	if first.Task().ID != "a.b" || second.Task().ID != "c" || first.Task().Prompt != "prompt of a.b" {
		t.Errorf("claimed %+v, then %+v", first.Task(), second.Task())
	}
	finish(t, first)
	if s, isNew, err := tasks.Submit(t.Context(), fleet.Task{ID: "a.b", Prompt: "prompt of a.b"}); err != nil ||
		isNew || s.State != fleet.Done {
		t.Errorf("the same again after its end: %+v, %v, %v", s, isNew, err)
	}
	noClaim(t, tasks, 300*time.Millisecond)
}

// A holder whose clock stood still is told, although it believes that its claim holds.
func TestP4_StoppedClockIsTold(t *testing.T) {
	t.Parallel()
	h := host(t, nil, one(0, 0))
	a, b := h.tasks("one"), h.tasks("one")
	submit(t, a, "t")
	first := claimOf(t, a, "first", 300*time.Millisecond)
	second := claimOf(t, b, "second", time.Minute)
	first.(interface{ StopClock() }).StopClock()
	if err := first.Extend(t.Context()); !errors.Is(err, fleet.ErrLost) {
		t.Errorf("extend: %v", err)
	}
	first.(interface{ StopClock() }).StopClock()
	if err := first.Finish(t.Context(), with(first.Status(), fleet.Done)); !errors.Is(err, fleet.ErrLost) {
		t.Errorf("finish: %v", err)
	}
	if err := second.Extend(t.Context()); err != nil {
		t.Errorf("the second: %v", err)
	}
}

func TestP3_ReturnedTask(t *testing.T) {
	t.Parallel()
	h := host(t, nil, one(1, 0))
	tasks := h.tasks("one")
	submit(t, tasks, "a", "b")
	c := claimOf(t, tasks, "first", time.Minute)
	if err := c.Return(t.Context(), with(c.Status(), fleet.Running)); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("returned as running: %v", err)
	}
	if err := c.Return(t.Context(), with(c.Status(), fleet.Queued)); err != nil {
		t.Fatal(err)
	}
	c = claimOf(t, tasks, "second", time.Minute)
	if s := c.Status(); s.ID != "a" || s.Attempt != 2 || len(s.Deaths) > 0 {
		t.Errorf("claimed again: %+v", s)
	}
	// A paused task does not take from the tenant's limit, and is due at its time, also if the
	// server is started again meanwhile.
	s := with(c.Status(), fleet.Paused)
	s.NotBefore, s.Reason = time.Now().Add(3*time.Second).UTC(), "the provider is down"
	if err := c.Return(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	finish(t, claimOf(t, tasks, "w", time.Minute))
	noClaim(t, tasks, 300*time.Millisecond)
	h.stop()
	h.start()
	tasks = h.tasks("one")
	if got := stateOf(t, tasks, "a"); got.State != fleet.Paused || got.Reason != s.Reason ||
		!got.NotBefore.Equal(s.NotBefore) {
		t.Errorf("paused: %+v", got)
	}
	c = claimOf(t, tasks, "third", time.Minute)
	if now := time.Now(); now.Before(s.NotBefore) {
		t.Errorf("claimed %v too early", s.NotBefore.Sub(now))
	}
	if s := c.Status(); s.ID != "a" || s.Attempt != 3 || len(s.Deaths) > 0 || !s.NotBefore.IsZero() || s.Reason != "" {
		t.Errorf("claimed again: %+v", s)
	}
}

func TestP3_Cancel(t *testing.T) {
	t.Parallel()
	h := host(t, nil, one(1, 0))
	space := h.space("one")
	tasks := space.Tasks
	submit(t, tasks, "waiting", "running", "done", "returned")
	cancel := func(id string) {
		t.Helper()
		if err := tasks.Cancel(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	cancel("waiting")
	if s := stateOf(t, tasks, "waiting"); s.State != fleet.Canceled || s.Ended.IsZero() {
		t.Errorf("it waits no more: %+v", s)
	}
	c := claimOf(t, tasks, "w", time.Minute)
	if c.Task().ID != "running" || c.Canceled() {
		t.Fatalf("claimed %s, canceled %v", c.Task().ID, c.Canceled())
	}
	cancel("running")
	if s := stateOf(t, tasks, "running"); s.State != fleet.Running {
		t.Errorf("its owner ends it, nobody else: %+v", s)
	}
	if err := c.Extend(t.Context()); err != nil || !c.Canceled() {
		t.Errorf("the owner does not learn: %v", err)
	}
	if err := c.Finish(t.Context(), with(c.Status(), fleet.Canceled)); err != nil {
		t.Fatal(err)
	}
	finish(t, claimOf(t, tasks, "w", time.Minute))
	cancel("done")
	if s := stateOf(t, tasks, "done"); s.State != fleet.Done {
		t.Errorf("what is done stays: %+v", s)
	}
	c = claimOf(t, tasks, "w", time.Minute)
	cancel("returned")
	if err := c.Return(t.Context(), with(c.Status(), fleet.Queued)); err != nil {
		t.Fatal(err)
	}
	if s := stateOf(t, tasks, "returned"); s.State != fleet.Canceled {
		t.Errorf("given back, it is canceled: %+v", s)
	}
	noClaim(t, tasks, 300*time.Millisecond)
	if err := tasks.Cancel(t.Context(), "unknown"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("unknown: %v", err)
	}
	if info, err := space.queue.stream.Info(t.Context()); err != nil || info.State.Msgs != 0 {
		t.Errorf("left in the queue: %+v, %v", info, err)
	}
}

// A canceled task takes nothing from its tenant's limit, although the server had delivered it
// before.
func TestP6_CanceledTaskIsNotClaimed(t *testing.T) {
	t.Parallel()
	space := host(t, nil, one(2, 0)).space("one")
	tasks := space.Tasks
	submit(t, tasks, "running", "a")
	claimOf(t, tasks, "w", time.Minute)
	c := claimOf(t, tasks, "w", time.Minute)
	if err := c.Return(t.Context(), with(c.Status(), fleet.Queued)); err != nil {
		t.Fatal(err)
	}
	if err := tasks.Cancel(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	await.For(t, "one claim fewer", func() bool {
		info, err := space.queue.workers.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return info.NumAckPending <= 1
	})
}

// Somebody cancels while somebody claims: whatever is seen, it does not change from final to
// something else.
func TestP3_CancelAgainstClaim(t *testing.T) {
	t.Parallel()
	h := host(t, nil, one(0, 0))
	a, b := h.tasks("one"), h.tasks("one")
	for i := range 40 {
		id := fmt.Sprintf("t%d", i)
		submit(t, a, id)
		ctx, cancel := context.WithTimeout(t.Context(), await.Limit)
		var all sync.WaitGroup
		var c fleet.Claim
		var claimed atomic.Bool
		all.Go(func() {
			short, end := context.WithTimeout(ctx, 300*time.Millisecond)
			defer end()
			c, _ = b.Claim(short, "w", time.Minute) // without one it was canceled
			claimed.Store(c != nil)
		})
		all.Go(func() {
			if err := a.Cancel(ctx, id); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			final := false
			for ctx.Err() == nil && !final {
				_, s, err := a.Get(ctx, id)
				final = err == nil && s.State.Final()
				if s.State == fleet.Running && claimed.Load() {
					break
				}
			}
			for range 3 {
				_, s, err := a.Get(ctx, id)
				if final && !s.State.Final() {
					t.Errorf("it was final, and is %+v (%v)", s, err)
				}
			}
		})
		all.Wait()
		cancel()
		if s := stateOf(t, a, id); (c == nil) != (s.State == fleet.Canceled) {
			t.Errorf("claimed %v, but %+v", c != nil, s)
		}
		if c != nil {
			if err := c.Extend(t.Context()); err != nil || !c.Canceled() {
				t.Errorf("the owner does not learn: %v", err)
			}
			finish(t, c)
		}
	}
}

func TestP7_RestartKeepsTasks(t *testing.T) {
	t.Parallel()
	h := host(t, nil, one(0, 0))
	tasks := h.tasks("one")
	submit(t, tasks, "done", "running", "waiting", "canceled")
	c := claimOf(t, tasks, "w", time.Minute)
	s := with(c.Status(), fleet.Done)
	s.Result = &agent.Result{Text: "it works"}
	if err := c.Finish(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	running := claimOf(t, tasks, "w", time.Minute)
	if err := tasks.Cancel(t.Context(), "canceled"); err != nil {
		t.Fatal(err)
	}
	h.stop()
	h.start()
	again := h.tasks("one")
	for id, want := range map[string]fleet.State{"done": fleet.Done, "running": fleet.Running, "waiting": fleet.Queued,
		"canceled": fleet.Canceled} {
		if s := stateOf(t, again, id); s.State != want {
			t.Errorf("%s: %+v", id, s)
		}
	}
	if s := stateOf(t, again, "done"); s.Result == nil || s.Result.Text != "it works" {
		t.Errorf("the result: %+v", s.Result)
	}
	next := claimOf(t, again, "w2", time.Minute)
	if next.Task().ID != "waiting" {
		t.Errorf("claimed %s", next.Task().ID)
	}
	noClaim(t, again, 300*time.Millisecond)
	_ = running // its connection was to the server that is gone
}
