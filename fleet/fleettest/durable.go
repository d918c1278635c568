package fleettest

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/journal"
)

var durableChecks = []check{
	{name: "P7_RestartKeepsAll", run: restartKeepsAll},
	{name: "P7_RestartKeepsFences", run: restartKeepsFences},
}

// fleetRecord returns a record of a kind.
func fleetRecord(kind string) journal.Record { return journal.Record{Kind: kind} }

// lastError returns the error that ends a sequence.
func lastError[T any](seq iter.Seq2[T, error]) (last error) {
	for _, err := range seq {
		last = err
	}
	return last
}

// durable skips the check if the fleet does not outlive its program.
func (t *tester) durable() {
	t.Helper()
	if t.Fleet.Restart == nil {
		t.Skip("the engine keeps nothing when its program ends")
	}
}

// kept is what restartKeepsAll has put into a fleet.
type kept struct {
	task       fleet.Task
	due, until time.Time // of the paused task, and of the provider's pause
	blob       string    // its hash
	budget     agent.Budget
}

// restartKeepsAll checks that a crash of the fleet's server loses nothing that was acknowledged.
func restartKeepsAll(t *tester) {
	t.durable()
	k := fill(t, t.engine())
	t.Fleet.Restart(t.T)
	e := t.engine()
	s, err := e.Open(t.ctx, fleet.DefaultTenant)
	t.ok(err)
	k.hasTasks(t, s)
	k.hasRest(t, e, s)
}

// fill puts something of each kind into a fleet.
func fill(t *tester, e fleet.Engine) kept {
	s, err := e.Open(t.ctx, fleet.DefaultTenant)
	t.ok(err)
	task := fullTask("full")
	_, _, err = s.Tasks().Submit(t.ctx, task)
	t.ok(err)
	t.finish(t.claim(s, "w"), fleet.Done)
	t.submit(s, "paused")
	due := time.Now().Add(10 * t.Unit)
	t.giveBack(t.claim(s, "w"), fleet.Paused, due)
	t.submit(s, "canceled", "first", "second")
	t.ok(s.Tasks().Cancel(t.ctx, "canceled"))
	log := t.appended(s, "first", "a", "b")
	t.ok(log.Sync(t.ctx))
	hash, err := log.PutBlob(t.ctx, strings.NewReader("a blob"))
	t.ok(err)
	t.put(s, "artifacts/full/patch", "a patch")
	t.ask(s, "first", "open", time.Now())
	t.ask(s, "first", "answered", time.Now())
	t.ok(s.Asks().Answer(t.ctx, "first", "answered", fleet.Answer{Text: "yes"}))
	budget := agent.Budget{Tokens: 1000}
	t.settle(e.Ledger("s", budget), t.reserve(e.Ledger("s", budget), reservation("s", 100, 400, 1)), 300, 0)
	t.reserve(e.Ledger("s", budget), reservation("lost", 100, 100, 1))
	until := time.Now().Add(time.Hour)
	t.ok(e.Slots().Pause(t.ctx, "p", until, "down"))
	return kept{task, due, until, hash, budget}
}

// hasTasks checks the tasks, and ends those that are due.
func (k kept) hasTasks(t *tester, s fleet.Space) {
	t.Helper()
	got := map[string]fleet.State{}
	for _, status := range all(t, s.Tasks().List(t.ctx)) {
		got[status.ID] = status.State
	}
	for id, want := range map[string]fleet.State{"full": fleet.Done, "paused": fleet.Paused,
		"canceled": fleet.Canceled, "first": fleet.Queued, "second": fleet.Queued} {
		if got[id] != want {
			t.Errorf("task %s is %q, want %s", id, got[id], want)
		}
	}
	if _, isNew, err := s.Tasks().Submit(t.ctx, k.task); err != nil || isNew {
		t.Errorf("Submit of a task from before = new %v, %v", isNew, err)
	}
	var claimed []string
	for range 3 {
		c := t.claim(s, "w")
		if c.Task().ID == "paused" && time.Now().Before(k.due) {
			t.Error("a paused task is due before its time")
		}
		claimed = append(claimed, c.Task().ID)
		t.finish(c, fleet.Done)
	}
	if !slices.Contains(claimed, "paused") || slices.Index(claimed, "first") > slices.Index(claimed, "second") {
		t.Errorf("claimed %q", claimed)
	}
	t.nothingDue(s)
}

// hasRest checks what is not a task.
func (k kept) hasRest(t *tester, e fleet.Engine, s fleet.Space) {
	t.Helper()
	if got := t.kinds(s, "first"); got != "a b" {
		t.Errorf("the journal has %q", got)
	}
	if text, err := t.blob(s, "first", k.blob); err != nil || text != "a blob" {
		t.Errorf("the blob is %q, %v", text, err)
	}
	t.holds(s, "artifacts/full/patch", "a patch")
	if got := t.openIDs(s, ""); !slices.Equal(got, []string{"first:open"}) {
		t.Errorf("the open asks are %q", got)
	}
	if got, err := s.Asks().Wait(t.ctx, "first", "answered"); err != nil || got.Text != "yes" {
		t.Errorf("the answer is %+v, %v", got, err)
	}
	if c := t.reserve(e.Ledger("s", k.budget), reservation("s", 0, 1000, 1)); c.Output != 500 {
		t.Errorf("of a budget of 1,000, 300 spent and 200 claimed, %d are left", c.Output)
	}
	if at, why, err := e.Slots().Paused(t.ctx, "p"); err != nil || !at.Equal(k.until) || why != "down" {
		t.Errorf("Paused = %v, %q, %v", at, why, err)
	}
}

// restartKeepsFences checks that claims and leases from before go on, and zombies from before
// remain zombies.
func restartKeepsFences(t *tester) {
	t.durable()
	a, b := t.engine(), t.engine()
	s, err := a.Open(t.ctx, fleet.DefaultTenant)
	t.ok(err)
	t.submit(s, "t", "dead")
	zombie := t.claimFor(s, "zombie", 25*t.Unit)
	c := t.claim(s, "w")
	owned := t.claim(s, "next")
	if owned.Task().ID != zombie.Task().ID {
		t.Fatalf("claimed %s, want the zombie's", owned.Task().ID)
	}
	old := t.appended(s, "t", "a")
	lease := t.lease(a, "w", long)
	t.Fleet.Restart(t.T)

	other, err := b.Open(t.ctx, fleet.DefaultTenant)
	t.ok(err)
	t.eventually("the engine finds what keeps the fleet again", func() bool {
		_, _, err := other.Tasks().Get(t.ctx, "t")
		return err == nil
	})
	if _, err := b.Leases().Acquire(t.ctx, fleet.WorkerInfo{Name: "w"}, long); !errors.Is(err, fleet.ErrLost) {
		t.Errorf("Acquire of a lease that holds = %v", err)
	}
	t.eventually("the lease is renewed", func() bool { return lease.Renew(t.ctx, fleet.WorkerInfo{Name: "w"}) == nil })
	ctx, cancel := context.WithTimeout(t.ctx, 20*t.Unit)
	defer cancel()
	if c, err := other.Tasks().Claim(ctx, "thief", long); err == nil {
		t.Errorf("claimed %s, which somebody has", c.Task().ID)
	}
	t.lost(other, zombie)
	t.appended(other, "t", "b")
	t.is(old.Append(t.ctx, 2, fleetRecord("zombie")), journal.ErrConflict, "Append of a writer from before")
	if got := t.kinds(other, "t"); got != "a b" {
		t.Errorf("the journal has %q", got)
	}
	t.finish(c, fleet.Done)
	t.finish(owned, fleet.Done)
	t.nothingDue(other)
}
