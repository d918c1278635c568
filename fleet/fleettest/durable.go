package fleettest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/journal"
)

var durableChecks = []check{
	{name: "P7_RestartKeepsAll", run: restartKeepsAll},
	{name: "P7_RestartKeepsFences", run: restartKeepsFences},
}

// durable skips the check if the fleet does not outlive its program.
func (t *tester) durable() {
	t.Helper()
	if t.Fleet.Restart == nil {
		t.Skip("the engine keeps nothing when its program ends")
	}
}

// restartKeepsAll checks that a crash of the fleet's server loses nothing that was acknowledged.
func restartKeepsAll(t *tester) {
	t.durable()
	e := t.engine()
	s, err := e.Open(t.ctx, fleet.DefaultTenant)
	t.ok(err)
	budget := agent.Budget{Tokens: 1000}
	t.submit(s, "done", "paused")
	t.finish(t.claim(s, "w"), fleet.Done)
	due, until := time.Now().Add(10*t.Unit), time.Now().Add(time.Hour)
	t.giveBack(t.claim(s, "w"), fleet.Paused, due)
	t.submit(s, "canceled", "queued")
	t.ok(s.Tasks.Cancel(t.ctx, "canceled"))
	log := t.appended(s, "queued", "a", "b")
	t.ok(log.Sync(t.ctx))
	hash, err := log.PutBlob(t.ctx, strings.NewReader("a blob"))
	t.ok(err)
	t.put(s, "artifacts/done/patch", "a patch")
	t.ask(s, "queued", "open", time.Now())
	t.ask(s, "queued", "answered", time.Now())
	t.ok(s.Asks.Answer(t.ctx, "queued", "answered", fleet.Answer{Text: "yes"}))
	ledger := e.Ledger("s", budget)
	t.settle(ledger, t.reserve(ledger, reservation("s", 100, 400, 1)), 300)
	t.reserve(ledger, reservation("lost", 100, 100, 1))
	t.ok(e.Slots().Pause(t.ctx, "p", until, "down"))

	t.Fleet.Restart(t.T)
	e = t.engine()
	s, err = e.Open(t.ctx, fleet.DefaultTenant)
	t.ok(err)
	got := map[string]fleet.State{}
	for _, status := range all(t, s.Tasks.List(t.ctx)) {
		got[status.ID] = status.State
	}
	if diff := cmp.Diff(map[string]fleet.State{"done": fleet.Done, "paused": fleet.Paused, "canceled": fleet.Canceled,
		"queued": fleet.Queued}, got); diff != "" {
		t.Errorf("the tasks: %s", diff)
	}
	for range 2 {
		c := t.claim(s, "w")
		if c.Task().ID == "paused" && time.Now().Before(due) {
			t.Error("a paused task is due before its time")
		}
		t.finish(c, fleet.Done)
	}
	t.nothingDue(s)
	if got := t.kinds(s, "queued"); got != "a b" {
		t.Errorf("the journal has %q", got)
	}
	if text, err := t.blob(s, "queued", hash); err != nil || text != "a blob" {
		t.Errorf("the blob is %q, %v", text, err)
	}
	t.holds(s, "artifacts/done/patch", "a patch")
	if got := t.openIDs(s, ""); !slices.Equal(got, []string{"queued:open"}) {
		t.Errorf("the open asks are %q", got)
	}
	if got, err := s.Asks.Wait(t.ctx, "queued", "answered"); err != nil || got.Text != "yes" {
		t.Errorf("the answer is %+v, %v", got, err)
	}
	t.grants(e.Ledger("s", budget), "s", 500) // of 1,000, 300 are spent and 200 claimed
	if at, why, err := e.Slots().Paused(t.ctx, "p"); err != nil || !at.Equal(until) || why != "down" {
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
		_, _, err := other.Tasks.Get(t.ctx, "t")
		return err == nil
	})
	if _, err := b.Leases().Acquire(t.ctx, fleet.WorkerInfo{Name: "w"}, long); !errors.Is(err, fleet.ErrLost) {
		t.Errorf("Acquire of a lease that holds = %v", err)
	}
	t.eventually("the lease is renewed", func() bool { return lease.Renew(t.ctx, fleet.WorkerInfo{Name: "w"}) == nil })
	ctx, cancel := context.WithTimeout(t.ctx, 20*t.Unit)
	defer cancel()
	if c, err := other.Tasks.Claim(ctx, "thief", long); err == nil {
		t.Errorf("claimed %s, which somebody has", c.Task().ID)
	}
	t.lost(other, zombie)
	t.appended(other, "t", "b")
	t.is(old.Append(t.ctx, 2, journal.Record{Kind: "zombie"}), journal.ErrConflict, "Append of a writer from before")
	if got := t.kinds(other, "t"); got != "a b" {
		t.Errorf("the journal has %q", got)
	}
	t.finish(c, fleet.Done)
	t.finish(owned, fleet.Done)
}
