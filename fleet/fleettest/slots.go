package fleettest

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/attractor-go/attractor/fleet"
)

// slotLimits is a fleet whose model calls are bounded.
var slotLimits = Options{Limits: []fleet.SlotLimit{
	{Provider: "three", Slots: 3},
	{Provider: "both", Slots: 3}, {Provider: "both", Model: "one", Slots: 1},
	{Provider: "slow", TokensPerMinute: 60}, {Provider: "quick", TokensPerMinute: 60_000},
	{Provider: "quick", Model: "one", Slots: 1},
}}

var slotChecks = []check{
	{name: "P6_SlotsBound", run: slotsBound, options: slotLimits},
	{name: "P6_SlotsOfProviderAndModel", run: slotsOfBoth, options: slotLimits},
	{name: "P6_SlotsOfWaitersThatLeave", run: slotsOfWaiters, options: slotLimits},
	{name: "P6_SlotsOfTheDead", run: slotsOfTheDead, options: slotLimits},
	{name: "P6_NoSlotLimits", run: noSlotLimits},
	{name: "P6_TokenRate", run: tokenRate, options: slotLimits},
	{name: "P6_Pause", run: pauses},
}

// slot takes a slot.
func (t *tester) slot(e fleet.Engine, provider, model string) fleet.Slot {
	t.Helper()
	s, err := e.Slots().Acquire(t.ctx, provider, model, 0)
	t.ok(err)
	return s
}

// noSlot checks that there is no slot.
func (t *tester) noSlot(e fleet.Engine, provider, model string, tokens int) {
	t.Helper()
	s, err := e.Slots().Acquire(t.short(), provider, model, tokens)
	if err == nil {
		t.Errorf("there is one slot too many of %s %s", provider, model)
		t.ok(s.Release(t.ctx, 0))
		return
	}
	t.is(err, context.DeadlineExceeded, "Acquire in vain")
}

func slotsBound(t *tester) {
	engines := []fleet.Engine{t.engine(), t.engine(), t.engine()}
	var now, most, calls atomic.Int32
	t.in(12, func(i int) {
		for range 4 {
			s := t.slot(engines[i%3], "three", fmt.Sprint("model ", i%2))
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			calls.Add(1)
			now.Add(-1)
			t.ok(s.Release(t.ctx, 10))
		}
	})
	if most.Load() > 3 || calls.Load() != 48 {
		t.Errorf("%d calls, %d at once; want 48, 3 at most", calls.Load(), most.Load())
	}
	var held []fleet.Slot
	for i := range 3 {
		held = append(held, t.slot(engines[i], "three", "m"))
	}
	t.noSlot(engines[0], "three", "m", 0)
	t.noSlot(engines[1], "three", "other", 0)
	t.ok(held[0].Release(t.ctx, 0))
	if err := held[0].Release(t.ctx, 0); err != nil {
		t.Logf("Release again = %v", err)
	}
	t.slot(engines[2], "three", "m")
	t.noSlot(engines[2], "three", "m", 0)
}

func slotsOfBoth(t *tester) {
	a, b := t.engine(), t.engine()
	one := t.slot(a, "both", "one")
	t.noSlot(b, "both", "one", 0)
	others := []fleet.Slot{t.slot(a, "both", "two"), t.slot(b, "both", "two")}
	t.noSlot(a, "both", "two", 0)
	t.ok(others[0].Release(t.ctx, 0))
	t.noSlot(a, "both", "one", 0) // and holds none of the provider's while it waits
	two := t.slot(a, "both", "two")
	t.ok(one.Release(t.ctx, 0))
	t.slot(b, "both", "one")
	t.noSlot(b, "both", "two", 0)
	t.ok(two.Release(t.ctx, 0))
	t.slot(b, "both", "three")
}

// slotsOfWaiters checks that callers whose contexts end while they wait take no slot.
func slotsOfWaiters(t *tester) {
	e := t.engine()
	held := t.slot(e, "both", "one")
	t.in(10, func(int) {
		if _, err := e.Slots().Acquire(t.short(), "both", "one", 0); err == nil {
			t.Error("there is one slot too many")
		}
	})
	t.ok(held.Release(t.ctx, 0))
	held = t.slot(e, "both", "one")
	t.noSlot(e, "both", "one", 0)
	ended, end := context.WithCancel(t.ctx)
	end()
	if s, err := e.Slots().Acquire(ended, "both", "two", 0); err == nil {
		t.ok(s.Release(t.ctx, 0)) // it need not look
	}
	t.slot(e, "both", "two")
	t.slot(e, "both", "two")
	t.ok(held.Release(t.ctx, 0))
}

func slotsOfTheDead(t *tester) {
	a, b := t.engine(), t.engine()
	for range 3 {
		t.slot(a, "three", "m")
	}
	t.noSlot(b, "three", "m", 0)
	t.ok(a.Close())
	for range 3 {
		t.slot(b, "three", "m")
	}
	t.noSlot(b, "three", "m", 0)
}

func noSlotLimits(t *tester) {
	e := t.engine()
	for range 20 {
		s, err := e.Slots().Acquire(t.ctx, "any", "any", 1_000_000)
		t.ok(err)
		t.ok(s.Release(t.ctx, 1_000_000))
	}
}

func tokenRate(t *tester) {
	a, b := t.engine(), t.engine()
	take := func(e fleet.Engine, provider string, tokens, took int) {
		t.Helper()
		s, err := e.Slots().Acquire(t.ctx, provider, "m", tokens)
		t.ok(err)
		t.ok(s.Release(t.ctx, took))
	}
	take(a, "slow", 60, 60)
	t.noSlot(b, "slow", "m", 50)

	// A call that takes less than it has said leaves the rest to others.
	for range 5 {
		take(b, "quick", 50_000, 0)
	}
	// One for more than a minute admits goes nevertheless.
	take(a, "quick", 100_000, 0)
	// A call that waits in vain leaves its tokens to others.
	s, err := a.Slots().Acquire(t.ctx, "quick", "one", 10)
	t.ok(err)
	for range 3 {
		t.noSlot(b, "quick", "one", 50_000)
	}
	take(b, "quick", 50_000, 0)
	t.ok(s.Release(t.ctx, 0))

	take(a, "quick", 60_000, 60_000)
	take(b, "quick", 100, 100) // after a tenth of a second
}

func pauses(t *tester) {
	a, b := t.engine(), t.engine()
	want := func(until time.Time, reason string) {
		t.Helper()
		got, why, err := b.Slots().Paused(t.ctx, "p")
		if err != nil || !got.Equal(until) || why != reason {
			t.Errorf("Paused = %v, %q, %v; want %v, %q", got, why, err, until, reason)
		}
	}
	want(time.Time{}, "")
	at := time.Now().UTC().Truncate(time.Millisecond)
	t.ok(a.Slots().Pause(t.ctx, "p", at.Add(time.Hour), "overloaded"))
	want(at.Add(time.Hour), "overloaded")
	t.ok(b.Slots().Pause(t.ctx, "p", at.Add(2*time.Hour), "down"))
	want(at.Add(2*time.Hour), "down")
	t.ok(a.Slots().Pause(t.ctx, "p", at.Add(time.Minute), "earlier"))
	want(at.Add(2*time.Hour), "down")
	if until, _, err := a.Slots().Paused(t.ctx, "other"); err != nil || !until.IsZero() {
		t.Errorf("another provider is paused until %v, %v", until, err)
	}
	t.ok(a.Slots().Pause(t.ctx, "brief", time.Now().Add(4*t.Unit), "brief"))
	t.eventually("a pause ends", func() bool {
		until, _, err := b.Slots().Paused(t.ctx, "brief")
		t.ok(err)
		return !until.After(time.Now())
	})
	t.in(8, func(i int) { t.ok(a.Slots().Pause(t.ctx, "many", at.Add(time.Duration(i+1)*time.Hour), fmt.Sprint(i))) })
	if until, why, err := b.Slots().Paused(t.ctx, "many"); err != nil || !until.Equal(at.Add(8*time.Hour)) ||
		why != "7" {
		t.Errorf("of pauses at once there is %v, %q, %v; want the latest", until, why, err)
	}
}
