package fleettest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
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
	{name: "P4_ClaimInOrder", run: claimInOrder},
	{name: "P4_ClaimExpires", run: claimExpires},
	{name: "P4_ClaimExpiresAgain", run: claimExpiresAgain},
	{name: "P4_ClaimIsExtended", run: claimIsExtended},
	{name: "P4_LateOwner", run: lateOwner},
	{name: "P4_Finish", run: finishes},
	{name: "P4_Return", run: returns},
	{name: "P4_ReturnUntil", run: returnsUntil},
	{name: "P4_StatesThatDoNotFit", run: statesThatDoNotFit},
}

// claimed is a claim, and when it was made at the earliest.
type claimed struct {
	fleet.Claim
	made time.Time
}

// claim claims a task for longer than a check lasts.
func (t *tester) claim(s fleet.Space, worker string) claimed {
	t.Helper()
	return t.claimFor(s, worker, long)
}

func (t *tester) claimFor(s fleet.Space, worker string, hold time.Duration) claimed {
	t.Helper()
	made := time.Now()
	c, err := s.Tasks().Claim(t.ctx, worker, hold)
	t.ok(err)
	return claimed{c, made}
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
func (t *tester) nothingDue(s fleet.Space) {
	t.Helper()
	c, err := s.Tasks().Claim(t.short(), "nobody", long)
	if err == nil {
		t.Fatalf("claimed %s, which is not due", c.Task().ID)
	}
	t.is(err, context.DeadlineExceeded, "Claim of nothing")
}

// lost checks that a claim that somebody else has changes nothing. A call that its holder has made
// before may be repeated.
func (t *tester) lost(s fleet.Space, c fleet.Claim) {
	t.Helper()
	before := t.status(s, c.Task().ID)
	status := c.Status()
	status.State, status.Reason = fleet.Running, "a zombie"
	t.is(c.Extend(t.ctx), fleet.ErrLost, "Extend")
	t.is(c.Update(t.ctx, status), fleet.ErrLost, "Update")
	for _, state := range []fleet.State{fleet.Queued, fleet.Paused} {
		again := c.Status().State == state
		status.State = state
		if err := c.Return(t.ctx, status); err != nil || !again {
			t.is(err, fleet.ErrLost, "Return")
		}
	}
	for _, state := range []fleet.State{fleet.Done, fleet.Failed, fleet.Poisoned} {
		status.State = state
		t.is(c.Finish(t.ctx, status), fleet.ErrLost, "Finish")
	}
	if after := t.status(s, c.Task().ID); !cmp.Equal(before, after) {
		t.Errorf("a claim that was lost has changed the status: %s", cmp.Diff(before, after))
	}
}

func claims(t *tester) {
	a, b := t.own(), t.own()
	task := fullTask("t")
	_, _, err := a.Tasks().Submit(t.ctx, task)
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
	if got := t.status(a, "t"); got.Reason != "asks" || !got.Waits || got.ID != "t" ||
		got.Tenant != fleet.DefaultTenant {
		t.Errorf("after Update the status is %+v", got)
	}
	if got := c.Status(); got.Reason != "asks" || !got.Waits {
		t.Errorf("after Update the claim's status is %+v", got)
	}
	_, _, err = a.Tasks().Get(t.ctx, "other")
	t.is(err, fs.ErrNotExist, "Get of an id that a holder has written")
	t.nothingDue(a)
}

// claimWaits checks that a claim waits for a task, and that a claim whose context has ended takes
// none.
func claimWaits(t *tester) {
	a, b := t.own(), t.own()
	ended, end := context.WithCancel(t.ctx)
	end()
	_, err := a.Tasks().Claim(ended, "w", long)
	t.is(err, context.Canceled, "Claim after the end of its context")
	var waited sync.WaitGroup
	for range 5 {
		waited.Go(func() {
			if c, err := a.Tasks().Claim(t.short(), "impatient", long); err == nil {
				t.Errorf("claimed %s of nothing", c.Task().ID)
			}
		})
	}
	waited.Wait()
	got := make(chan string)
	go func() {
		c, err := a.Tasks().Claim(t.ctx, "patient", long)
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
}

func claimInOrder(t *tester) {
	s := t.own()
	for i := range 12 {
		t.submit(s, fmt.Sprint(i))
	}
	for i := range 12 {
		c := t.claim(s, "w")
		var n int
		if _, err := fmt.Sscan(c.Task().ID, &n); err != nil || n < i-2 || n > i+2 {
			t.Errorf("task %s is claimed as number %d", c.Task().ID, i)
		}
	}
}

func claimExpires(t *tester) {
	a, b := t.own(), t.own()
	t.submit(a, "t")
	first := t.claimFor(a, "first", 8*t.Unit)
	second := t.claim(b, "second")
	if now := time.Now(); now.Before(first.made.Add(8 * t.Unit)) {
		t.Errorf("the claim expires after %v, and was made for %v", now.Sub(first.made), 8*t.Unit)
	}
	status := second.Status()
	if status.Attempt != 2 || status.Worker != "second" || len(status.Deaths) != 1 ||
		status.Deaths[0].Worker != "first" || status.Deaths[0].At.IsZero() {
		t.Errorf("after a death the status is %+v", status)
	}
	if !status.Started.Equal(first.Status().Started) {
		t.Errorf("the task has started at %v, and with its second owner at %v", first.Status().Started, status.Started)
	}
	t.lost(b, first)
	t.finish(second, fleet.Done)
	t.lost(b, first)
	t.state(a, "t", fleet.Done)
}

func claimExpiresAgain(t *tester) {
	s := t.own()
	t.submit(s, "t")
	t.claimFor(s, "a", 5*t.Unit)
	c := t.claimFor(s, "b", 25*t.Unit)
	status := c.Status()
	status.Deaths[0].Left = []string{"shell: make"}
	t.ok(c.Update(t.ctx, status))
	t.giveBack(t.claimFor(s, "c", long), fleet.Queued, time.Time{})
	status = t.claim(s, "d").Status()
	var deaths []string
	for _, d := range status.Deaths {
		deaths = append(deaths, d.Worker)
	}
	if !slices.Equal(deaths, []string{"a", "b"}) || status.Attempt != 4 ||
		!slices.Equal(status.Deaths[0].Left, []string{"shell: make"}) {
		t.Errorf("after the deaths of a and b, and a return of c, the status is %+v", status)
	}
}

// claimIsExtended extends a claim for longer than it was made for, while somebody else waits for
// the task.
func claimIsExtended(t *tester) {
	for !t.keeps() {
		if t.ctx.Err() != nil {
			t.Fatal("the machine is too busy")
		}
	}
}

// keeps reports whether a claim was extended in time. It checks that nobody else got the task if it
// was.
func (t *tester) keeps() bool {
	a, b := t.own(), t.own()
	id := fmt.Sprint("t", time.Now().UnixNano())
	t.submit(a, id)
	c := t.claimFor(a, "owner", 15*t.Unit)
	ctx, cancel := context.WithCancel(t.ctx)
	var stolen atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if c, err := b.Tasks().Claim(ctx, "thief", long); err == nil {
			stolen.Store(true)
			t.finish(c, fleet.Done)
		}
	}()
	last, kept := t.extends(c, 30*t.Unit)
	cancel()
	<-ended
	kept = kept && time.Since(last) <= 11*t.Unit // this process may have been paused
	if kept && stolen.Load() {
		t.Error("a claim that was extended in time was somebody else's in the meantime")
	}
	if !stolen.Load() && !kept {
		t.finish(t.claim(a, "cleaner"), fleet.Done)
	} else if !stolen.Load() {
		t.finish(c, fleet.Done)
	}
	return kept
}

// extends extends a claim for some time. It returns when it did so last, and whether it was never
// late.
func (t *tester) extends(c claimed, during time.Duration) (last time.Time, kept bool) {
	tick := time.NewTicker(2 * t.Unit)
	defer tick.Stop()
	for last = c.made; time.Since(c.made) < during; <-tick.C {
		sent := time.Now()
		err := c.Extend(t.ctx)
		if time.Since(last) > 11*t.Unit {
			return last, false
		}
		t.ok(err)
		last = sent
	}
	return last, true
}

// lateOwner checks that an owner that is late keeps the task or loses it, and not both.
func lateOwner(t *tester) {
	a, b := t.own(), t.own()
	t.submit(a, "t")
	c := t.claimFor(a, "late", 4*t.Unit)
	t.eventually("the claim expires", func() bool { return time.Since(c.made) > 6*t.Unit })
	switch err := c.Extend(t.ctx); {
	case err == nil:
		t.nothingDueFor(b, 2*t.Unit)
	case !errors.Is(err, fleet.ErrLost):
		t.Errorf("Extend of an expired claim = %v, want ErrLost", err)
	}
	t.finish(t.claim(b, "next"), fleet.Done)
	t.lost(a, c)
}

// nothingDueFor checks that there is nothing to claim for a while.
func (t *tester) nothingDueFor(s fleet.Space, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.ctx, d)
	defer cancel()
	if c, err := s.Tasks().Claim(ctx, "nobody", long); err == nil {
		t.Fatalf("claimed %s, which is not due", c.Task().ID)
	}
}

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
		if diff := cmp.Diff(asJSON(t, want), asJSON(t, t.status(b, id))); diff != "" {
			t.Errorf("after Finish: %s", diff)
		}
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
func asJSON(t *tester, s fleet.Status) map[string]any {
	t.Helper()
	text, err := json.Marshal(s)
	t.ok(err)
	var m map[string]any
	t.ok(json.Unmarshal(text, &m))
	return m
}

func returns(t *tester) {
	a, b := t.own(), t.own()
	t.submit(a, "t")
	c := t.claim(a, "a")
	status := c.Status()
	status.State, status.Reason = fleet.Queued, "drained"
	t.ok(c.Return(t.ctx, status))
	if got := t.status(b, "t"); got.State != fleet.Queued || got.Reason != "drained" {
		t.Errorf("after Return the status is %+v", got)
	}
	next := t.claim(b, "b")
	if got := next.Status(); len(got.Deaths) > 0 || got.Attempt != 2 || got.Worker != "b" ||
		got.State != fleet.Running {
		t.Errorf("after Return and Claim the status is %+v", got)
	}
	t.lost(b, c)
	t.finish(next, fleet.Done)
}

// returnsUntil checks that a task is due at its time, not before, and not later than somebody can
// wait for.
func returnsUntil(t *tester) {
	s := t.own()
	for _, state := range []fleet.State{fleet.Paused, fleet.Queued} {
		id := string(state)
		t.submit(s, id)
		due := time.Now().Add(15 * t.Unit)
		t.giveBack(t.claim(s, "a"), state, due)
		if got := t.status(s, id); got.State != state || !got.NotBefore.Equal(due) {
			t.Errorf("after Return until %v the status is %+v", due, got)
		}
		t.submit(s, id+"2")
		c := t.claim(s, "b")
		if c.Task().ID != id+"2" {
			t.Errorf("claimed %s, which is not due", c.Task().ID)
		}
		t.finish(c, fleet.Done)
		c = t.claim(s, "b")
		if now := time.Now(); c.Task().ID != id || now.Before(due) {
			t.Errorf("claimed %s at %v, want %s at %v", c.Task().ID, now, id, due)
		}
		if got := c.Status(); len(got.Deaths) > 0 || !got.NotBefore.IsZero() {
			t.Errorf("after the time has come the status is %+v", got)
		}
		t.finish(c, fleet.Done)
	}
}

func statesThatDoNotFit(t *tester) {
	s := t.own()
	t.submit(s, "t")
	c := t.claim(s, "w")
	with := func(state fleet.State) fleet.Status {
		status := c.Status()
		status.State = state
		return status
	}
	for _, state := range []fleet.State{"", fleet.Queued, fleet.Paused, fleet.Done, "other"} {
		t.is(c.Update(t.ctx, with(state)), fs.ErrInvalid, fmt.Sprintf("Update with %q", state))
	}
	for _, state := range []fleet.State{"", fleet.Queued, fleet.Paused, fleet.Running, "other"} {
		t.is(c.Finish(t.ctx, with(state)), fs.ErrInvalid, fmt.Sprintf("Finish with %q", state))
	}
	for _, state := range []fleet.State{"", fleet.Running, fleet.Done, fleet.Canceled, "other"} {
		t.is(c.Return(t.ctx, with(state)), fs.ErrInvalid, fmt.Sprintf("Return with %q", state))
	}
	t.state(s, "t", fleet.Running)
	t.ok(c.Extend(t.ctx))
	t.finish(c, fleet.Done)
}
