package fleettest

import (
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/attractor-go/attractor/fleet"
)

var leaseChecks = []check{
	{name: "P4_LeaseExcludes", run: leaseExcludes},
	{name: "P4_LeaseExpires", run: leaseExpires},
	{name: "P4_LeaseIsRenewed", run: leaseIsRenewed},
	{name: "P4_Drain", run: drains},
	{name: "P4_Workers", run: workers},
}

// lease takes the lease of a worker.
func (t *tester) lease(e fleet.Engine, name string, ttl time.Duration) fleet.Lease {
	t.Helper()
	l, err := e.Leases().Acquire(t.ctx, fleet.WorkerInfo{Name: name, Slots: 4}, ttl)
	t.ok(err)
	return l
}

// leaseExcludes checks that one worker of a name has a lease, until it releases it.
func leaseExcludes(t *tester) {
	engines := []fleet.Engine{t.engine(), t.engine()}
	got := make(chan fleet.Lease, 8)
	t.in(8, func(i int) {
		l, err := engines[i%2].Leases().Acquire(t.ctx, fleet.WorkerInfo{Name: "w"}, long)
		if err == nil {
			got <- l
		} else if !errors.Is(err, fleet.ErrLost) {
			t.Error(err)
		}
	})
	if len(got) != 1 {
		t.Fatalf("%d have one lease", len(got))
	}
	l := <-got
	t.lease(engines[1], "W", long)
	t.ok(l.Renew(t.ctx, fleet.WorkerInfo{Name: "w"}))
	t.ok(l.Release(t.ctx))
	if time.Now().Before(l.Until()) {
		t.Error("a lease that was released is good until later")
	}
	t.is(l.Renew(t.ctx, fleet.WorkerInfo{Name: "w"}), fleet.ErrLost, "Renew after Release")
	next := t.lease(engines[1], "w", long)
	if err := l.Release(t.ctx); err != nil && !errors.Is(err, fleet.ErrLost) {
		t.Errorf("Release again = %v", err)
	}
	t.ok(next.Renew(t.ctx, fleet.WorkerInfo{Name: "w"}))
}

// leaseExpires checks that a lease that nobody renews is somebody else's, not before it ends for
// its holder.
func leaseExpires(t *tester) {
	a, b := t.engine(), t.engine()
	l := t.lease(a, "w", 8*t.Unit)
	until := l.Until()
	var next fleet.Lease
	t.eventually("the lease ends", func() bool {
		var err error
		if next, err = b.Leases().Acquire(t.ctx, fleet.WorkerInfo{Name: "w"}, long); err != nil {
			t.is(err, fleet.ErrLost, "Acquire of a lease that somebody has")
		}
		return err == nil
	})
	if now := time.Now(); now.Before(until) {
		t.Errorf("somebody else has the lease at %v, and it holds until %v", now, until)
	}
	for range 2 {
		t.is(l.Renew(t.ctx, fleet.WorkerInfo{Name: "w"}), fleet.ErrLost, "Renew of a lease that somebody else has")
	}
	if time.Now().Before(l.Until()) {
		t.Error("a lease that was lost is good until later")
	}
	if err := l.Release(t.ctx); err != nil && !errors.Is(err, fleet.ErrLost) {
		t.Errorf("Release of a lease that was lost = %v", err)
	}
	t.ok(next.Renew(t.ctx, fleet.WorkerInfo{Name: "w"}))
	t.ok(next.Release(t.ctx))
	t.is(l.Renew(t.ctx, fleet.WorkerInfo{Name: "w"}), fleet.ErrLost, "Renew of a lease that nobody has any more")
}

// leaseIsRenewed renews a lease for longer than its ttl. If the machine was too busy to do so, it
// tries again.
func leaseIsRenewed(t *tester) {
	a, b := t.engine(), t.engine()
	ttl := 15 * t.Unit
	var stolen atomic.Bool
	for try, kept := 0, false; !kept; try++ {
		w := fleet.WorkerInfo{Name: fmt.Sprint("w", try)}
		sent := time.Now()
		l := t.lease(a, w.Name, ttl)
		kept = t.keeps(sent, ttl, func() error {
			if until := l.Until(); !until.After(sent) || until.After(time.Now().Add(ttl)) {
				t.Errorf("a lease of %v that was renewed at %v is good until %v", ttl, sent, until)
			}
			sent = time.Now()
			err := l.Renew(t.ctx, w)
			_, errOther := b.Leases().Acquire(t.ctx, w, long)
			stolen.Store(!errors.Is(errOther, fleet.ErrLost))
			return err
		})
		if kept && stolen.Load() {
			t.Error("somebody else got a lease that is renewed")
		}
	}
}

// drains checks that a worker learns that it is to end, and that a later one of its name does not.
func drains(t *tester) {
	a, b := t.engine(), t.engine()
	t.is(a.Leases().Drain(t.ctx, "w"), fs.ErrNotExist, "Drain of a worker without a lease")
	l, other := t.lease(a, "w", long), t.lease(a, "other", long)
	info := fleet.WorkerInfo{Name: "w", Slots: 4}
	t.ok(l.Renew(t.ctx, info))
	if l.Draining() {
		t.Error("a worker drains that nobody has asked to")
	}
	for range 2 {
		t.ok(b.Leases().Drain(t.ctx, "w"))
	}
	t.eventually("the worker learns of the drain", func() bool { t.ok(l.Renew(t.ctx, info)); return l.Draining() })
	t.eventually("the list tells of the drain", func() bool { return t.worker(b, "w").Draining })
	t.ok(other.Renew(t.ctx, fleet.WorkerInfo{Name: "other"}))
	if other.Draining() || t.worker(b, "other").Draining {
		t.Error("another worker drains, too")
	}
	t.ok(l.Release(t.ctx))
	again := t.lease(a, "w", long)
	t.ok(again.Renew(t.ctx, info))
	if again.Draining() || t.worker(b, "w").Draining {
		t.Error("a new worker of the name drains because the last one did")
	}
}

// worker returns what the list says about a worker.
func (t *tester) worker(e fleet.Engine, name string) fleet.WorkerInfo {
	t.Helper()
	list, err := e.Leases().List(t.ctx)
	t.ok(err)
	for _, w := range list {
		if w.Name == name {
			return w
		}
	}
	return fleet.WorkerInfo{}
}

// workers checks that the list has what the workers say that live.
func workers(t *tester) {
	a, b := t.engine(), t.engine()
	info := fleet.WorkerInfo{Name: "w", Host: "h", Slots: 4, Since: time.Now().UTC().Truncate(time.Second)}
	l, err := a.Leases().Acquire(t.ctx, info, long)
	t.ok(err)
	t.lease(a, "dies", 4*t.Unit)
	info.Running = 3
	t.ok(l.Renew(t.ctx, info))
	if got := t.worker(b, "w"); got != info {
		t.Errorf("the list has %+v, want %+v", got, info)
	}
	t.eventually("the dead worker is listed no more", func() bool { return t.worker(b, "dies").Name == "" })
	t.ok(l.Release(t.ctx))
	if list, err := b.Leases().List(t.ctx); err != nil || len(list) != 0 {
		t.Errorf("List after the end of all = %+v, %v", list, err)
	}
}
