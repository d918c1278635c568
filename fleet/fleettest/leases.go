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
	{name: "P4_LeaseUntil", run: leaseUntil},
	{name: "P4_LeaseAtOnce", run: leaseAtOnce},
	{name: "P4_LeaseReleased", run: leaseReleased},
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

// takeover takes the lease of a worker when it is free.
func (t *tester) takeover(e fleet.Engine, name string) fleet.Lease {
	t.Helper()
	var l fleet.Lease
	t.eventually("the lease ends", func() bool {
		var err error
		l, err = e.Leases().Acquire(t.ctx, fleet.WorkerInfo{Name: name}, long)
		if err != nil && !errors.Is(err, fleet.ErrLost) {
			t.Fatal(err)
		}
		return err == nil
	})
	return l
}

func leaseExcludes(t *tester) {
	a, b := t.engine(), t.engine()
	l := t.lease(a, "w", long)
	for _, e := range []fleet.Engine{a, b} {
		_, err := e.Leases().Acquire(t.ctx, fleet.WorkerInfo{Name: "w"}, long)
		t.is(err, fleet.ErrLost, "Acquire of a lease that somebody has")
	}
	t.lease(b, "w2", long)
	t.lease(b, "W", long)
	t.ok(l.Renew(t.ctx, fleet.WorkerInfo{Name: "w"}))
}

func leaseExpires(t *tester) {
	a, b := t.engine(), t.engine()
	l := t.lease(a, "w", 8*t.Unit)
	until := l.Until()
	next := t.takeover(b, "w")
	if now := time.Now(); now.Before(until) {
		t.Errorf("somebody else has the lease at %v, and it holds until %v", now, until)
	}
	renew := func(when string) {
		t.Helper()
		t.is(l.Renew(t.ctx, fleet.WorkerInfo{Name: "w"}), fleet.ErrLost, "Renew "+when)
	}
	renew("of a lease that somebody else has")
	if time.Now().Before(l.Until()) {
		t.Error("a lease that was lost is good until later")
	}
	t.ok(next.Renew(t.ctx, fleet.WorkerInfo{Name: "w"}))
	if err := l.Release(t.ctx); err != nil && !errors.Is(err, fleet.ErrLost) {
		t.Errorf("Release of a lease that was lost = %v", err)
	}
	t.ok(next.Renew(t.ctx, fleet.WorkerInfo{Name: "w"}))
	t.ok(next.Release(t.ctx))
	renew("of a lease that nobody has any more")

	alone := t.lease(a, "alone", 4*t.Unit)
	t.eventually("the lease ends", func() bool { return time.Now().After(alone.Until()) })
	t.is(alone.Renew(t.ctx, fleet.WorkerInfo{Name: "alone"}), fleet.ErrLost, "Renew after the end")
	t.is(alone.Renew(t.ctx, fleet.WorkerInfo{Name: "alone"}), fleet.ErrLost, "Renew after the end, again")
}

// leaseIsRenewed renews a lease for longer than its ttl. If the machine was too busy to do so, it
// tries again.
func leaseIsRenewed(t *tester) {
	a, b := t.engine(), t.engine()
	for try := 0; ; try++ {
		name := fmt.Sprint("w", try)
		l := t.lease(a, name, 15*t.Unit)
		if t.renews(l, b, name) {
			return
		}
	}
}

// renews reports whether a lease was renewed in time. It checks that nobody else got it.
func (t *tester) renews(l fleet.Lease, other fleet.Engine, name string) bool {
	begun := time.Now()
	last := begun
	for time.Since(begun) < 30*t.Unit {
		sent := time.Now()
		err := l.Renew(t.ctx, fleet.WorkerInfo{Name: name})
		if time.Since(last) > 11*t.Unit && t.ctx.Err() == nil {
			return false
		}
		t.ok(err)
		last = sent
		_, err = other.Leases().Acquire(t.ctx, fleet.WorkerInfo{Name: name}, long)
		if err == nil && time.Now().After(l.Until()) {
			return false
		}
		t.is(err, fleet.ErrLost, "Acquire of a lease that is renewed")
		t.eventually("a while passes", func() bool { return time.Since(sent) > 3*t.Unit })
	}
	return true
}

func leaseUntil(t *tester) {
	e := t.engine()
	const ttl = time.Minute
	before := time.Now()
	l := t.lease(e, "w", ttl)
	for range 3 {
		if until := l.Until(); !until.After(before) || until.After(time.Now().Add(ttl)) {
			t.Errorf("a lease of %v that was renewed after %v is good until %v", ttl, before, until)
		}
		last := l.Until()
		before = time.Now()
		t.ok(l.Renew(t.ctx, fleet.WorkerInfo{Name: "w"}))
		if l.Until().Before(last) {
			t.Errorf("Renew makes the lease shorter: %v, before it %v", l.Until(), last)
		}
	}
}

func leaseAtOnce(t *tester) {
	engines := []fleet.Engine{t.engine(), t.engine()}
	for round := range 5 {
		var got atomic.Int32
		t.in(8, func(i int) {
			_, err := engines[i%2].Leases().Acquire(t.ctx, fleet.WorkerInfo{Name: fmt.Sprint(round)}, long)
			if err == nil {
				got.Add(1)
			} else if !errors.Is(err, fleet.ErrLost) {
				t.Error(err)
			}
		})
		if got.Load() != 1 {
			t.Errorf("%d have one lease", got.Load())
		}
	}
}

func leaseReleased(t *tester) {
	a, b := t.engine(), t.engine()
	l := t.lease(a, "w", long)
	t.ok(l.Release(t.ctx))
	if time.Now().Before(l.Until()) {
		t.Error("a lease that was released is good until later")
	}
	t.is(l.Renew(t.ctx, fleet.WorkerInfo{Name: "w"}), fleet.ErrLost, "Renew after Release")
	next := t.lease(b, "w", long)
	if err := l.Release(t.ctx); err != nil && !errors.Is(err, fleet.ErrLost) {
		t.Errorf("Release again = %v", err)
	}
	t.ok(next.Renew(t.ctx, fleet.WorkerInfo{Name: "w"}))
}

func drains(t *tester) {
	a, b := t.engine(), t.engine()
	t.is(a.Leases().Drain(t.ctx, "w"), fs.ErrNotExist, "Drain of a worker without a lease")
	l, other := t.lease(a, "w", long), t.lease(a, "other", long)
	info := fleet.WorkerInfo{Name: "w", Slots: 4}
	t.ok(l.Renew(t.ctx, info))
	if l.Draining() {
		t.Error("a worker drains that nobody has asked to")
	}
	t.ok(b.Leases().Drain(t.ctx, "w"))
	t.ok(b.Leases().Drain(t.ctx, "w"))
	t.eventually("the worker learns of the drain", func() bool { t.ok(l.Renew(t.ctx, info)); return l.Draining() })
	t.eventually("the list tells of the drain", func() bool { return t.worker(b, "w").Draining })
	t.ok(other.Renew(t.ctx, fleet.WorkerInfo{Name: "other"}))
	if other.Draining() || t.worker(b, "other").Draining {
		t.Error("another worker drains, too")
	}
	t.ok(l.Release(t.ctx))
	t.is(b.Leases().Drain(t.ctx, "w"), fs.ErrNotExist, "Drain of a worker that has ended")
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

func workers(t *tester) {
	a, b := t.engine(), t.engine()
	if list, err := b.Leases().List(t.ctx); err != nil || len(list) != 0 {
		t.Errorf("List of no workers = %+v, %v", list, err)
	}
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
