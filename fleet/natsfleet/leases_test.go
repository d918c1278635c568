package natsfleet

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"time"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/internal/engine"
	"github.com/attractor-go/attractor/internal/await"
)

func TestP4_Leases(t *testing.T) {
	t.Parallel()
	h := host(t, nil, one(0, 0))
	a, b := h.engine().Leases(), h.engine().Leases()
	w := fleet.WorkerInfo{Name: "w 1 > *", Slots: 4}
	const ttl = 2 * time.Second
	sent := time.Now()
	l, err := a.Acquire(t.Context(), w, ttl)
	if err != nil {
		t.Fatal(err)
	}
	if l.Until().Before(sent.Add(ttl)) || l.Until().After(time.Now().Add(ttl)) {
		t.Errorf("it holds until %v", l.Until())
	}
	if _, err := b.Acquire(t.Context(), w, ttl); !errors.Is(err, fleet.ErrLost) {
		t.Errorf("a second holder: %v", err)
	}
	w.Running = 3
	if err := l.Renew(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if list, err := b.List(t.Context()); err != nil || len(list) != 1 || list[0].Running != 3 {
		t.Errorf("list: %+v, %v", list, err)
	}
	if err := b.Drain(t.Context(), "nobody"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("drain nobody: %v", err)
	}
	for range 2 {
		if err := b.Drain(t.Context(), w.Name); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Renew(t.Context(), w); err != nil || !l.Draining() {
		t.Errorf("it is not told to drain: %v", err)
	}
	until := l.Until()
	next := acquire(t, b, w, ttl)
	if time.Now().Before(until) {
		t.Errorf("somebody else has it %v too early", time.Until(until))
	}
	for range 2 {
		if err := l.Renew(t.Context(), w); !errors.Is(err, fleet.ErrLost) {
			t.Errorf("renewed too late: %v", err)
		}
	}
	if err := l.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if err := next.Renew(t.Context(), w); err != nil || next.Draining() {
		t.Errorf("the next holder: %v, draining %v", err, next.Draining())
	}
	if err := next.Release(t.Context()); err != nil {
		t.Error(err)
	}
	if list, err := b.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("list: %+v, %v", list, err)
	}
	acquire(t, a, w, ttl)
}

// acquire takes a lease as soon as it is free.
func acquire(t *testing.T, l fleet.Leases, w fleet.WorkerInfo, ttl time.Duration) fleet.Lease {
	t.Helper()
	var lease fleet.Lease
	await.For(t, "a free lease", func() bool {
		var err error
		if lease, err = l.Acquire(t.Context(), w, ttl); err != nil && !errors.Is(err, fleet.ErrLost) {
			t.Fatal(err)
		}
		return err == nil
	})
	return lease
}

// By the server's clock the lease has ended, although the holder's stood still.
func TestP4_LeaseOfAStoppedClock(t *testing.T) {
	t.Parallel()
	h := host(t, nil, one(0, 0))
	a := h.engine().Leases()
	l, err := a.Acquire(t.Context(), fleet.WorkerInfo{Name: "w"}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	await.For(t, "the end of the lease", func() bool {
		list, err := a.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(list) == 0
	})
	engine.StopClock(l)
	for range 2 {
		if err := l.Renew(t.Context(), fleet.WorkerInfo{}); !errors.Is(err, fleet.ErrLost) {
			t.Errorf("renewed: %v", err)
		}
	}
}

func TestP4_LeaseIsExclusive(t *testing.T) {
	t.Parallel()
	h := host(t, nil, one(0, 0))
	held := make(chan string, 16)
	for i := range 8 {
		l := h.engine().Leases()
		go func() {
			_, err := l.Acquire(t.Context(), fleet.WorkerInfo{Name: "w"}, time.Minute)
			if err != nil && !errors.Is(err, fleet.ErrLost) {
				held <- err.Error()
			} else if err == nil {
				held <- ""
			}
			held <- fmt.Sprint("end ", i)
		}()
	}
	won := 0
	for ended := 0; ended < 8; {
		switch s := <-held; {
		case s == "":
			won++
		case len(s) > 4 && s[:4] == "end ":
			ended++
		default:
			t.Error(s)
		}
	}
	if won != 1 {
		t.Errorf("%d have the lease", won)
	}
}
