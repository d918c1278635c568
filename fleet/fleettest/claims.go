package fleettest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/fleet"
)

var claimChecks = []check{
	{name: "P4_Claim", run: claims},
	{name: "P4_ClaimWaits", run: claimWaits},
	{name: "P4_ClaimExpires", run: claimExpires},
	{name: "P4_ClaimIsExtended", run: claimIsExtended},
	{name: "P4_ClaimersThatDie", run: claimersThatDie, options: limited(3, 0)},
	{name: "P4_Finish", run: finishes},
	{name: "P4_Return", run: returns},
	{name: "P4_StatesThatDoNotFit", run: statesThatDoNotFit},
	{name: "P6_Limit", run: limits, options: limited(2, 0)},
}

// claim claims a task for longer than a check lasts.
func (t *tester) claim(s *fleet.Space, worker string) fleet.Claim {
	t.Helper()
	return t.claimFor(s, worker, long)
}

func (t *tester) claimFor(s *fleet.Space, worker string, hold time.Duration) fleet.Claim {
	t.Helper()
	c, err := s.Tasks.Claim(t.ctx, worker, hold)
	t.ok(err)
	return c
}

// finish finishes a task.
func (t *tester) finish(c fleet.Claim, state fleet.State) {
	t.Helper()
	status := c.Status()
	status.State, status.Ended = state, time.Now()
	t.ok(c.Finish(t.ctx, status))
}

// giveBack returns a task.
func (t *tester) giveBack(c fleet.Claim, state fleet.State, notBefore time.Time) {
	t.Helper()
	status := c.Status()
	status.State, status.NotBefore = state, notBefore
	t.ok(c.Return(t.ctx, status))
}

// nothingDue checks that there is nothing to claim.
func (t *tester) nothingDue(s *fleet.Space) {
	t.Helper()
	c, err := s.Tasks.Claim(t.short(), "nobody", long)
	if err == nil {
		t.Fatalf("claimed %s, which is not due", c.Task().ID)
	}
	t.is(err, context.DeadlineExceeded, "Claim of nothing")
}

// lost checks that a claim that somebody else has changes nothing. A call that its holder has made
// before may be repeated.
func (t *tester) lost(s *fleet.Space, c fleet.Claim) {
	t.Helper()
	before := t.status(s, c.Task().ID)
	status := c.Status()
	status.State, status.Reason = fleet.Running, "a zombie"
	t.is(c.Extend(t.ctx), fleet.ErrLost, "Extend")
	t.is(c.Update(t.ctx, status), fleet.ErrLost, "Update")
	again := c.Status().State == fleet.Queued
	status.State = fleet.Queued
	if err := c.Return(t.ctx, status); err != nil || !again {
		t.is(err, fleet.ErrLost, "Return")
	}
	status.State = fleet.Failed
	t.is(c.Finish(t.ctx, status), fleet.ErrLost, "Finish")
	if after := t.status(s, c.Task().ID); !cmp.Equal(before, after) {
		t.Errorf("a claim that was lost has changed the status: %s", cmp.Diff(before, after))
	}
}

// claims checks what a claim has, and that its holder alone writes the status.
func claims(t *tester) {
	a, b := t.own(), t.own()
	task := fullTask("t")
	_, _, err := a.Tasks.Submit(t.ctx, task)
	t.ok(err)
	c := t.claim(b, "w")
	if diff := cmp.Diff(task, c.Task()); diff != "" {
		t.Errorf("the task of the claim: %s", diff)
	}
	status := c.Status()
	if status.ID != "t" || status.State != fleet.Running || status.Worker != "w" || status.Attempt != 1 ||
		len(status.Deaths) > 0 || status.Started.IsZero() || !cmp.Equal(status.Labels, task.Labels) {
		t.Errorf("the status of the claim is %+v", status)
	}
	if got := t.status(a, "t"); !cmp.Equal(got, status) {
		t.Errorf("Get returns another status than the claim's: %s", cmp.Diff(status, got))
	}
	status.Reason, status.Waits, status.ID, status.Tenant = "asks", true, "other", "other"
	t.ok(c.Update(t.ctx, status))
	status.ID, status.Tenant = "t", fleet.DefaultTenant
	for _, got := range []fleet.Status{t.status(a, "t"), c.Status()} {
		if diff := cmp.Diff(status, got); diff != "" {
			t.Errorf("after Update: %s", diff)
		}
	}
	_, _, err = a.Tasks.Get(t.ctx, "other")
	t.is(err, fs.ErrNotExist, "Get of an id that a holder has written")
	t.nothingDue(a)
}

// claimWaits checks that a claim waits for a task, that a claim whose context has ended takes none,
// and that tasks are claimed about in the order in which they were submitted.
func claimWaits(t *tester) {
	a, b := t.own(), t.own()
	ended, end := context.WithCancel(t.ctx)
	end()
	_, err := a.Tasks.Claim(ended, "w", long)
	t.is(err, context.Canceled, "Claim after the end of its context")
	t.in(5, func(int) {
		if c, err := a.Tasks.Claim(t.short(), "impatient", long); err == nil {
			t.Errorf("claimed %s of nothing", c.Task().ID)
		}
	})
	got := make(chan string)
	go func() {
		c, err := a.Tasks.Claim(t.ctx, "patient", long)
		if err != nil {
			t.Error(err)
			got <- ""
			return
		}
		got <- c.Task().ID
	}()
	t.submit(b, "t")
	if id := <-got; id != "t" {
		t.Errorf("who waits gets %q, want t", id)
	}
	for i := range 12 {
		t.submit(b, fmt.Sprint(i))
	}
	for i := range 12 {
		c := t.claim(a, "w")
		var n int
		if _, err := fmt.Sscan(c.Task().ID, &n); err != nil || n < i-2 || n > i+2 {
			t.Errorf("task %s is claimed as number %d", c.Task().ID, i)
		}
	}
}

// claimExpires checks that the task of a claim that nobody extends goes to another owner, not
// before its time, and that the first one has nothing more of it.
func claimExpires(t *tester) {
	a, b := t.own(), t.own()
	t.submit(a, "t")
	made := time.Now()
	first := t.claimFor(a, "first", 8*t.Unit)
	second := t.claimFor(b, "second", 25*t.Unit)
	if d := time.Since(made); d < 8*t.Unit {
		t.Errorf("the claim expires after %v, and was made for %v", d, 8*t.Unit)
	}
	status := second.Status()
	if status.Attempt != 2 || status.Worker != "second" || len(status.Deaths) != 1 ||
		status.Deaths[0].Worker != "first" || status.Deaths[0].At.IsZero() {
		t.Fatalf("after a death the status is %+v", status)
	}
	if !status.Started.Equal(first.Status().Started) {
		t.Errorf("the task has started at %v, and with its second owner at %v", first.Status().Started, status.Started)
	}
	t.lost(b, first)
	status.Deaths[0].Left = []string{"shell: make"}
	t.ok(second.Update(t.ctx, status))
	third := t.claim(a, "third")
	status = third.Status()
	if status.Attempt != 3 || len(status.Deaths) != 2 || status.Deaths[1].Worker != "second" ||
		len(status.Deaths[0].Left) != 1 {
		t.Errorf("after two deaths the status is %+v", status)
	}
	t.lost(a, second)
	t.finish(third, fleet.Done)
	t.lost(b, first)
	t.state(a, "t", fleet.Done)
}

// claimIsExtended extends a claim for longer than it was made for, while somebody else waits for
// the task. If the machine was too busy to do so, it tries again.
func claimIsExtended(t *tester) {
	a, b := t.own(), t.own()
	for try := 0; ; try++ {
		id := fmt.Sprint("t", try)
		t.submit(a, id)
		ctx, cancel := context.WithCancel(t.ctx)
		made := time.Now()
		c := t.claimFor(a, "owner", 15*t.Unit)
		var stolen atomic.Bool
		var thief sync.WaitGroup
		thief.Go(func() {
			if c, err := b.Tasks.Claim(ctx, "thief", long); err == nil {
				stolen.Store(true)
				t.finish(c, fleet.Done)
			}
		})
		kept := t.keeps(made, 15*t.Unit, func() error { return c.Extend(t.ctx) })
		cancel()
		thief.Wait()
		if kept && stolen.Load() {
			t.Error("a claim that was extended in time was somebody else's in the meantime")
		}
		if kept {
			return
		}
		if !stolen.Load() {
			t.finish(t.claim(a, "cleaner"), fleet.Done)
		}
	}
}

// keeps extends something that was made for a while, for twice as long. It reports whether that was
// never late: this process may have been paused.
func (t *tester) keeps(made time.Time, hold time.Duration, extend func() error) bool {
	tick := time.NewTicker(hold / 8)
	defer tick.Stop()
	for last := made; time.Since(made) < 2*hold; <-tick.C {
		sent := time.Now()
		err := extend()
		if t.ctx.Err() != nil {
			t.Fatal("the machine is too busy")
		}
		if time.Since(last) > hold*3/4 {
			return false
		}
		t.ok(err)
		last = sent
	}
	return true
}

// claimersThatDie lets many claimers on three machines, of which some die, finish tasks. Each is
// done once, each death is counted, and no more run at once than may.
func claimersThatDie(t *tester) {
	const n = 12
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	spaces := []*fleet.Space{t.own(), t.own(), t.own()}
	for i := range n {
		t.submit(spaces[0], fmt.Sprint(i))
	}
	var running, most, done atomic.Int32
	t.in(6, func(i int) {
		for {
			c, err := spaces[i%3].Tasks.Claim(ctx, fmt.Sprint("w", i), 10*t.Unit)
			if err != nil {
				if ctx.Err() == nil {
					t.Error(err)
				}
				return
			}
			status := c.Status()
			if status.Attempt < 2 {
				continue // it dies
			}
			now := running.Add(1)
			for m := most.Load(); now > m && !most.CompareAndSwap(m, now); m = most.Load() {
			}
			held := c.Extend(t.ctx)
			running.Add(-1)
			status.State = fleet.Done
			finished := c.Finish(t.ctx, status)
			if finished == nil && done.Add(1) == n {
				cancel()
			}
			for _, err := range []error{held, finished} {
				if err != nil && !errors.Is(err, fleet.ErrLost) {
					t.Error(err)
				}
			}
		}
	})
	if most.Load() > 3 || done.Load() != n {
		t.Errorf("%d of %d tasks were finished, %d at once, want 3 at most", done.Load(), n, most.Load())
	}
	for _, status := range all(t, spaces[0].Tasks.List(t.ctx)) {
		if status.State != fleet.Done || status.Attempt < 2 || len(status.Deaths) != status.Attempt-1 {
			t.Errorf("at the end: %+v", status)
		}
	}
}

// limits checks how many tasks run at once: a task that was given back, is paused, or whose worker
// has died does not count.
func limits(t *tester) {
	a, b := t.own(), t.own()
	t.submit(a, "1", "2", "3", "4", "5")
	first := t.claim(a, "w")
	t.claimFor(b, "dies", 10*t.Unit)
	t.finish(first, fleet.Done)
	t.finish(t.claim(b, "w"), fleet.Failed)
	fourth, fifth := t.claim(a, "w"), t.claim(b, "w")
	t.nothingDue(a)
	t.nothingDue(b)
	t.giveBack(fourth, fleet.Queued, time.Time{})
	fourth = t.claim(b, "w")
	t.nothingDue(a)
	t.giveBack(fourth, fleet.Paused, time.Now().Add(long))
	t.finish(t.claim(a, "w"), fleet.Done)
	t.finish(fifth, fleet.Done)
	t.nothingDue(b)
}

// finishes checks that a final status stays as it was written.
func finishes(t *tester) {
	a, b := t.own(), t.own()
	for _, state := range []fleet.State{fleet.Done, fleet.Failed, fleet.Canceled, fleet.Poisoned} {
		id := string(state)
		t.submit(a, id)
		c := t.claim(a, "w")
		want := c.Status()
		want.State, want.Reason, want.Ended = state, "because", time.Now().UTC()
		want.Result = &agent.Result{Text: "the answer \u2028"}
		want.Artifacts = []fleet.Artifact{{Name: "patch", Size: 5, Hash: "ab"}}
		t.ok(c.Finish(t.ctx, want))
		if err := c.Finish(t.ctx, want); err != nil && !errors.Is(err, fleet.ErrLost) {
			t.Errorf("the same Finish again = %v, want nil or ErrLost", err)
		}
		other := want
		other.State, other.Reason = fleet.Running, "alive"
		t.is(c.Update(t.ctx, other), fleet.ErrLost, "Update after Finish")
		other.State = fleet.Queued
		t.is(c.Return(t.ctx, other), fleet.ErrLost, "Return after Finish")
		t.is(c.Extend(t.ctx), fleet.ErrLost, "Extend after Finish")
		if diff := cmp.Diff(asJSON(t, want), asJSON(t, t.status(b, id))); diff != "" {
			t.Errorf("after the end: %s", diff)
		}
	}
	t.nothingDue(b)
}

// asJSON returns a status as it is encoded.
func asJSON(t *tester, s fleet.Status) string {
	t.Helper()
	text, err := json.Marshal(s)
	t.ok(err)
	return string(text)
}

// returns checks that a task that was given back is due at once, or at its time and not before.
func returns(t *tester) {
	a, b := t.own(), t.own()
	t.submit(a, "t")
	c := t.claim(a, "a")
	t.giveBack(c, fleet.Queued, time.Time{})
	t.state(b, "t", fleet.Queued)
	next := t.claim(b, "b")
	if got := next.Status(); len(got.Deaths) > 0 || got.Attempt != 2 || got.Worker != "b" ||
		got.State != fleet.Running {
		t.Errorf("after Return and Claim the status is %+v", got)
	}
	t.lost(b, c)
	due := time.Now().Add(15 * t.Unit)
	t.giveBack(next, fleet.Paused, due)
	if got := t.status(a, "t"); got.State != fleet.Paused || !got.NotBefore.Equal(due) {
		t.Errorf("after Return until %v the status is %+v", due, got)
	}
	t.submit(a, "other")
	if c = t.claim(a, "b"); c.Task().ID != "other" {
		t.Errorf("claimed %s, which is not due", c.Task().ID)
	}
	c = t.claim(b, "b")
	if now := time.Now(); c.Task().ID != "t" || now.Before(due) {
		t.Errorf("claimed %s at %v, want t at %v", c.Task().ID, now, due)
	}
	if got := c.Status(); len(got.Deaths) > 0 || !got.NotBefore.IsZero() {
		t.Errorf("after the time has come the status is %+v", got)
	}
}

// statesThatDoNotFit checks that each call takes its own states only.
func statesThatDoNotFit(t *tester) {
	s := t.own()
	t.submit(s, "t")
	c := t.claim(s, "w")
	for name, call := range map[string]struct {
		do  func(context.Context, fleet.Status) error
		bad []fleet.State
	}{
		"Update": {c.Update, []fleet.State{"", fleet.Queued, fleet.Paused, fleet.Done, "other"}},
		"Finish": {c.Finish, []fleet.State{"", fleet.Queued, fleet.Paused, fleet.Running, "other"}},
		"Return": {c.Return, []fleet.State{"", fleet.Running, fleet.Done, fleet.Canceled, "other"}},
	} {
		for _, state := range call.bad {
			status := c.Status()
			status.State = state
			t.is(call.do(t.ctx, status), fs.ErrInvalid, fmt.Sprintf("%s with %q", name, state))
		}
	}
	t.state(s, "t", fleet.Running)
	t.ok(c.Extend(t.ctx))
	t.finish(c, fleet.Done)
}
