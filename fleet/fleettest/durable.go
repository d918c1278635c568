package fleettest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/journal/journaltest"
)

var journalChecks = []check{
	{name: "P4_JournalOfAZombie", run: journalOfAZombie},
	{name: "P4_JournalOfManyWriters", run: journalOfManyWriters},
	{name: "P4_JournalElsewhere", run: journalElsewhere},
}

// journals runs the suite of package journaltest.
func journals(t *testing.T, fresh func(t *testing.T, o Options) Fleet) {
	t.Parallel()
	journaltest.StoreSuite(t, func(t *testing.T) journal.Store {
		return (&tester{T: t, Fleet: fresh(t, onlyTenant), ctx: context.Background()}).own().Journals
	})
}

// appended adds records to the journal of a task, which it makes if necessary.
func (t *tester) appended(s *fleet.Space, id string, kinds ...string) journal.Log {
	t.Helper()
	l, err := s.Journals.Open(t.ctx, id)
	if errors.Is(err, fs.ErrNotExist) {
		l, err = s.Journals.Create(t.ctx, id)
	}
	t.ok(err)
	for _, kind := range kinds {
		t.ok(l.Append(t.ctx, l.Len()+1, journal.Record{Kind: kind, Data: json.RawMessage(`{}`)}))
	}
	return l
}

// kinds returns the kinds of a journal's records.
func (t *tester) kinds(s *fleet.Space, id string) string {
	t.Helper()
	r, err := s.Journals.Read(t.ctx, id)
	t.ok(err)
	var kinds []string
	for i, record := range all(t, r.Records(t.ctx, 1)) {
		if record.N != int64(i+1) {
			t.Errorf("record %d has the number %d", i+1, record.N)
		}
		kinds = append(kinds, record.Kind)
	}
	t.ok(r.Close())
	return strings.Join(kinds, " ")
}

// journalOfAZombie checks that a writer that was cut off appends nothing, whatever it believes the
// next number to be.
func journalOfAZombie(t *tester) {
	a, b := t.own(), t.own()
	zombie := t.appended(a, "t", "a", "b")
	owner := t.appended(b, "t")
	for _, after := range []string{"Open", "Append", "Close"} {
		switch after {
		case "Append":
			t.ok(owner.Append(t.ctx, 3, journal.Record{Kind: "c"}))
		case "Close":
			t.ok(owner.Close())
		}
		for next := int64(1); next <= 6; next++ {
			t.is(zombie.Append(t.ctx, next, journal.Record{Kind: "zombie"}), journal.ErrConflict,
				fmt.Sprintf("Append of %d after another's %s", next, after))
		}
	}
	t.appended(a, "t", "d")
	if got := t.kinds(b, "t"); got != "a b c d" {
		t.Errorf("the journal has %q", got)
	}
}

// journalOfManyWriters checks that a journal has exactly the acknowledged records, in order, while
// writers take it from each other.
func journalOfManyWriters(t *tester) {
	spaces := []*fleet.Space{t.own(), t.own(), t.own()}
	t.appended(spaces[0], "t", "begin")
	var acknowledged atomic.Int64
	t.in(6, func(i int) {
		for range 8 {
			l, err := spaces[i%3].Journals.Open(t.ctx, "t")
			if err != nil {
				t.Error(err)
				return
			}
			for range 3 {
				err := l.Append(t.ctx, l.Len()+1, journal.Record{Kind: fmt.Sprint("w", i)})
				if errors.Is(err, journal.ErrConflict) {
					break
				} else if err != nil {
					t.Error(err)
					return
				}
				acknowledged.Add(1)
			}
		}
	})
	if got := len(strings.Fields(t.kinds(spaces[2], "t"))) - 1; got != int(acknowledged.Load()) {
		t.Errorf("%d records were acknowledged and %d are there", acknowledged.Load(), got)
	}
}

// journalElsewhere checks that what one machine writes is on another one at once.
func journalElsewhere(t *tester) {
	a, b := t.own(), t.own()
	l := t.appended(a, "t", "1")
	next, _ := follow(t, func(ctx context.Context) iter.Seq2[journal.Record, error] {
		return b.Journals.Follow(ctx, "t", 1)
	})
	for want := int64(1); want <= 20; want++ {
		if want > 1 {
			t.ok(l.Append(t.ctx, want, journal.Record{Kind: "more"}))
		}
		if got, ok := next(); !ok || got.N != want {
			t.Fatalf("the follower gets record %d, %v, want %d", got.N, ok, want)
		}
		if got := len(strings.Fields(t.kinds(b, "t"))); got != int(want) {
			t.Errorf("a reader has %d records of %d", got, want)
		}
	}
	hash, err := l.PutBlob(t.ctx, strings.NewReader("a blob"))
	t.ok(err)
	if text, err := t.blob(b, "t", hash); err != nil || text != "a blob" {
		t.Errorf("the blob is %q, %v", text, err)
	}
}

// blob reads a blob of a journal.
func (t *tester) blob(s *fleet.Space, id, hash string) (string, error) {
	t.Helper()
	r, err := s.Journals.Read(t.ctx, id)
	t.ok(err)
	defer r.Close()
	b, err := r.Blob(t.ctx, hash)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(b)
	return string(text), errors.Join(err, b.Close())
}

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
