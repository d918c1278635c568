package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/internal/await"
	"github.com/attractor-go/attractor/journal"
)

// machine is one machine of a fleet in memory.
type machine struct {
	t     *testing.T
	table *Memory
	queue *MemoryQueue
	of    fleet.Tenant
	tasks *Tasks
}

func newMachine(t *testing.T, of fleet.Tenant) *machine {
	return (&machine{t, NewMemory(), NewMemoryQueue(of.Limit), of, nil}).other()
}

// other returns another machine of the fleet.
func (m *machine) other() *machine {
	other := *m
	table := m.table.Open(m.t.Context())
	other.tasks = NewTasks(table, m.queue.Open(m.t.Context()), m.of, journal.NewMemoryStore(true), noObjects{},
		NewAsks(table))
	return &other
}

// noObjects are the objects of tasks that have none.
type noObjects struct{ fleet.Objects }

func (noObjects) RemoveTask(context.Context, string) error { return nil }

// add adds a message to the queue of tasks.
func add(tasks *Tasks, writing, id string, text []byte) error {
	_, err := tasks.queue.Add(context.Background(), writing, id, text, tasks.tenant.MaxQueued)
	return err
}

func submit(t *testing.T, tasks fleet.Tasks, id string) {
	t.Helper()
	if _, isNew, err := tasks.Submit(t.Context(), fleet.Task{ID: id, Prompt: "p"}); err != nil || !isNew {
		t.Fatalf("submit %s: %v, %v", id, isNew, err)
	}
}

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

func take(t *testing.T, s fleet.Slots, model string, tokens int) fleet.Slot {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), await.Limit)
	defer cancel()
	slot, err := s.Acquire(ctx, "p", model, tokens)
	if err != nil {
		t.Fatal(err)
	}
	return slot
}

func free(t *testing.T, s fleet.Slots, model string) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	slot, err := s.Acquire(ctx, "p", model, 0)
	if err != nil {
		return false
	}
	if err := slot.Release(t.Context(), 0); err != nil {
		t.Error(err)
	}
	return true
}

// A submission that breaks off after its first message is in the queue, and the next claimer
// completes it.
func TestP3_SubmissionThatBreaksOff(t *testing.T) {
	t.Parallel()
	tasks := newMachine(t, fleet.Tenant{Name: "one", MaxQueued: 1}).tasks
	text := []byte(`{"id":"a","tenant":"one","prompt":"p"}`)
	if err := add(tasks, "another call", "a", text); err != nil {
		t.Fatal(err)
	}
	if _, _, err := tasks.Get(t.Context(), "a"); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("half a task: %v", err)
	}
	c := claimOf(t, tasks, "w", time.Minute)
	if c.Task().Prompt != "p" || stateOf(t, tasks, "a").State != fleet.Running {
		t.Errorf("claimed %+v", c.Task())
	}
	// which thereby reports that the task is new
	if s, err := tasks.load(t.Context(), "a"); err != nil || s.spec.Writing != "another call" {
		t.Errorf("the task is written as %q, %v", s.spec.Writing, err)
	}
	if s, isNew, err := tasks.Submit(t.Context(), fleet.Task{ID: "a", Prompt: "p"}); err != nil || isNew ||
		s.State != fleet.Running {
		t.Errorf("the same again: %+v, %v, %v", s, isNew, err)
	}
	finish(t, c)

	// The same submission completes it, too, although the tenant is at its limit.
	if err := add(tasks, "another call", "b",
		[]byte(`{"id":"b","tenant":"one","prompt":"p"}`)); err != nil {
		t.Fatal(err)
	}
	if s, isNew, err := tasks.Submit(t.Context(), fleet.Task{ID: "b", Prompt: "p"}); err != nil || !isNew ||
		s.State != fleet.Queued {
		t.Errorf("completed: %+v, %v, %v", s, isNew, err)
	}
	finish(t, claimOf(t, tasks, "w", time.Minute))
	noClaim(t, tasks, 300*time.Millisecond)
}

// The server may deliver a task again whose owner lives, such as after a crash in which it forgot
// whom it gave the task to.
func TestP4_DeliveredTwiceIsOwnedOnce(t *testing.T) {
	t.Parallel()
	m := newMachine(t, fleet.Tenant{Name: "one"})
	a, b := m.tasks, m.other().tasks
	submit(t, a, "t")
	first := claimOf(t, a, "first", time.Minute).(*Claim)
	first.m.Delay(0)
	noClaim(t, b, 500*time.Millisecond)
	if err := first.Extend(t.Context()); err != nil {
		t.Error(err)
	}
	finish(t, first)
}

// An owner that dies between the status that it writes and the message of the queue leaves a task
// that is done all the same.
func TestP3_DiesBeforeTheQueueKnows(t *testing.T) {
	t.Parallel()
	tasks := newMachine(t, fleet.Tenant{Name: "one", Limit: 1}).tasks
	const hold = 300 * time.Millisecond
	for i, state := range []fleet.State{fleet.Done, fleet.Queued, fleet.Paused} {
		id := fmt.Sprintf("t%d", i)
		submit(t, tasks, id)
		c := claimOf(t, tasks, "w", hold).(*Claim)
		s := with(c.Status(), state)
		if state == fleet.Paused {
			s.NotBefore = time.Now().Add(1500 * time.Millisecond).UTC()
		}
		data, err := json.Marshal(statusRecord{Status: s, Claimed: c.claimed, Hold: fleet.Duration(hold)})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.store(t.Context(), data); err != nil {
			t.Fatal(err)
		}
		if state == fleet.Done {
			continue
		}
		again := claimOf(t, tasks, "next", time.Minute)
		if got := again.Status(); got.ID != id || len(got.Deaths) > 0 || got.Attempt != 2 {
			t.Errorf("%s: claimed %+v", state, got)
		}
		if time.Now().Before(s.NotBefore) {
			t.Errorf("%s: claimed too early", state)
		}
		finish(t, again)
	}
	if s := stateOf(t, tasks, "t0"); s.State != fleet.Done || s.Attempt != 1 {
		t.Errorf("the done one: %+v", s)
	}
	noClaim(t, tasks, 300*time.Millisecond)
}

// TestP3_WatcherForgetsFinalTasks checks that who watches all tasks does not keep those that have
// ended.
func TestP3_WatcherForgetsFinalTasks(t *testing.T) {
	w := watched{Tasks: &Tasks{}, all: map[string]*watchedTask{}}
	seq := uint64(0)
	look := func(kind string, v any) (states []fleet.State) {
		t.Helper()
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		seq++
		for _, id := range w.take(Record{Key: taskKey("a.b", kind), Data: data, Seq: seq}) {
			status, changed, err := w.look(id)
			if err != nil {
				t.Fatal(err)
			}
			if changed {
				states = append(states, status.State)
			}
		}
		return states
	}
	status := func(state fleet.State) statusRecord {
		return statusRecord{Status: fleet.Status{ID: "a.b", State: state}}
	}
	for i, step := range []struct {
		kind  string
		value any
		want  fleet.State
	}{
		{specKind, fleet.Task{ID: "a.b"}, fleet.Queued}, {statusKind, status(fleet.Running), fleet.Running},
		{statusKind, status(fleet.Done), fleet.Done},
		{cancelKind, nil, ""}, {statusKind, status(fleet.Done), ""}, {specKind, fleet.Task{ID: "a.b"}, fleet.Queued},
		{cancelKind, nil, fleet.Canceled},
	} {
		got := look(step.kind, step.value)
		if want := (step.want != ""); (len(got) == 1 && got[0] == step.want) != want || len(got) > 1 {
			t.Errorf("step %d: %q, not %q", i, got, step.want)
		}
		if known := len(w.all); known != 0 && (step.want == "" || step.want.Final()) {
			t.Errorf("step %d: %d tasks are kept", i, known)
		}
	}
}

func TestP3_RemovedWhileDelivered(t *testing.T) {
	t.Parallel()
	tasks := newMachine(t, fleet.Tenant{Name: "one"}).tasks
	submit(t, tasks, "a")
	m, err := tasks.queue.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := tasks.Cancel(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if err := tasks.Remove(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	if c, err := tasks.take(t.Context(), m, "w", time.Minute); c != nil || err != nil {
		t.Errorf("claimed %+v, %v", c, err)
	}
	if _, _, err := tasks.Get(t.Context(), "a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is back: %v", err)
	}
}

// An update whose acknowledgement is lost, and which the server writes after the call has failed,
// does not cost the claim.
func TestP4_OwnLateUpdateLosesNothing(t *testing.T) {
	t.Parallel()
	tasks := newMachine(t, fleet.Tenant{Name: "one"}).tasks
	submit(t, tasks, "a")
	c := claimOf(t, tasks, "w", time.Minute).(*Claim)
	late := func() {
		t.Helper()
		s, err := tasks.load(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(statusRecord{Status: with(c.Status(), fleet.Running), Claimed: c.claimed,
			Hold: fleet.Duration(c.hold)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tasks.records.put(t.Context(), taskKey("a", statusKind), data, s.status.Seq, 0); err != nil {
			t.Fatal(err)
		}
	}
	late()
	if err := tasks.records.Remove(t.Context(), taskKey("a", claimKind)); err != nil {
		t.Fatal(err)
	}
	c.beat.Seq = 1 // as after a heartbeat whose answer was lost, too
	if err := c.Extend(t.Context()); err != nil {
		t.Errorf("Extend: %v", err)
	}
	late()
	finish(t, c)
	if s := stateOf(t, tasks, "a"); s.State != fleet.Done {
		t.Errorf("%+v", s)
	}
}

func TestP6_SlotOfADeadHolder(t *testing.T) {
	t.Parallel()
	const hold = time.Second
	memory := NewMemory()
	open := func() fleet.Slots {
		return NewSlots(memory.Open(t.Context()), []fleet.SlotLimit{{Provider: "p", Slots: 1}}, hold)
	}
	a, b := open(), open()
	alive := take(t, a, "m", 0)
	end := time.Now().Add(2 * hold)
	for time.Now().Before(end) {
		if free(t, b, "m") {
			t.Fatal("the slot of a living holder is free")
		}
	}
	if err := alive.Release(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	dead := take(t, a, "m", 0).(*slot)
	dead.parts[0].keeper.end() // as if its machine was cut off
	next := take(t, b, "m", 0)
	// The one that was cut off comes back and gives back what is not its own any more.
	if err := dead.Release(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if free(t, a, "m") {
		t.Error("the slot was given back by somebody who did not have it")
	}
	if err := next.Release(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if !free(t, a, "m") {
		t.Error("the slot is lost")
	}
}

// By the holder's clock the lease has ended, although the server has not noticed.
func TestP4_LeaseThatEndsHere(t *testing.T) {
	t.Parallel()
	got, err := NewLeases(NewMemory().Open(t.Context())).Acquire(t.Context(), fleet.WorkerInfo{Name: "w"}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	l := got.(*Lease)
	l.until = time.Now()
	if err := l.Renew(t.Context(), fleet.WorkerInfo{}); !errors.Is(err, fleet.ErrLost) {
		t.Errorf("renewed: %v", err)
	}
	l.until = time.Now().Add(time.Hour)
	if err := l.Renew(t.Context(), fleet.WorkerInfo{}); !errors.Is(err, fleet.ErrLost) {
		t.Errorf("renewed after it was lost: %v", err)
	}
}

// A renewal whose acknowledgement got lost does not lose the lease.
func TestP4_LostAcknowledgement(t *testing.T) {
	t.Parallel()
	a := NewLeases(NewMemory().Open(t.Context()))
	got, err := a.Acquire(t.Context(), fleet.WorkerInfo{Name: "w"}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	l := got.(*Lease)
	before := l.seq
	if err := l.Renew(t.Context(), fleet.WorkerInfo{}); err != nil {
		t.Fatal(err)
	}
	l.seq = before // as if it had not been told
	for i := 0; ; i++ {
		if err := l.Renew(t.Context(), fleet.WorkerInfo{}); err == nil {
			break
		} else if errors.Is(err, fleet.ErrLost) || i > 3 {
			t.Fatalf("renewed: %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.Renew(ctx, fleet.WorkerInfo{}); err == nil || errors.Is(err, fleet.ErrLost) {
		t.Errorf("renewed without time: %v", err)
	}
	if err := l.Renew(t.Context(), fleet.WorkerInfo{}); err != nil {
		t.Errorf("renewed after that: %v", err)
	}
}

// lostAnswers is a table that stores the next renewal, whose answer is lost.
type lostAnswers struct {
	Table
	lose atomic.Bool
}

func (l *lostAnswers) Put(ctx context.Context, writing, key string, data []byte, after uint64,
	ttl time.Duration) (uint64, error) {
	seq, err := l.Table.Put(ctx, writing, key, data, after, ttl)
	if err == nil && after > 0 && l.lose.CompareAndSwap(true, false) {
		return 0, errors.New("the answer is lost")
	}
	return seq, err
}

// A holder whose renewal was stored without its knowledge keeps its slot, and can give it back.
func TestP6_SlotWhoseRenewalIsNotAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hold = 8 * time.Second
		l := &lostAnswers{Table: NewMemory().Open(t.Context())}
		s := NewSlots(l, []fleet.SlotLimit{{Provider: "p", Slots: 1}}, hold)
		soon := func() (fleet.Slot, error) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return s.Acquire(ctx, "p", "m", 0)
		}
		// with and without renewals after it
		for _, held := range []time.Duration{3 * hold, hold/4 + 500*time.Millisecond} {
			slot, err := soon()
			if err != nil {
				t.Fatalf("a slot that was given back: %v", err)
			}
			l.lose.Store(true)
			time.Sleep(held)
			if l.lose.Load() {
				t.Fatal("it was not renewed")
			}
			if _, err := soon(); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("a slot that is held after %v: %v", held, err)
			}
			if err := slot.Release(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			if keys, err := l.Keys(t.Context(), slotPrefix+"*.*"); len(keys) > 0 || err != nil {
				t.Fatalf("after the release there are %q: %v", keys, err)
			}
		}
	})
}
