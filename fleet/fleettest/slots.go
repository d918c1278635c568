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
	{Provider: "both", Slots: 3}, {Provider: "both", Model: "one", Slots: 1},
	{Provider: "slow", TokensPerMinute: 60}, {Provider: "quick", TokensPerMinute: 60_000},
}}

var slotChecks = []check{
	{name: "P6_SlotsBound", run: slotsBound, options: slotLimits},
	{name: "P6_SlotsOfProviderAndModel", run: slotsOfBoth, options: slotLimits},
	{name: "P6_SlotsOfTheDead", run: slotsOfTheDead, options: slotLimits},
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

// slotsBound checks how many calls there are at a time where they are bounded, and where not.
func slotsBound(t *tester) {
	engines := []fleet.Engine{t.engine(), t.engine(), t.engine()}
	var now, most atomic.Int32
	t.in(12, func(i int) {
		for range 4 {
			s := t.slot(engines[i%3], "both", fmt.Sprint("model ", i%2))
			n := now.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			now.Add(-1)
			t.ok(s.Release(t.ctx, 10))
		}
	})
	if most.Load() > 3 {
		t.Errorf("%d calls at once; want 3 at most", most.Load())
	}
	for range 20 {
		s, err := engines[0].Slots().Acquire(t.ctx, "any", "any", 1_000_000)
		t.ok(err)
		t.ok(s.Release(t.ctx, 1_000_000))
	}
}

// slotsOfBoth checks the bounds of a model beside those of its provider. Callers that wait in vain
// take no slot.
func slotsOfBoth(t *tester) {
	a, b := t.engine(), t.engine()
	one := t.slot(a, "both", "one")
	t.in(5, func(int) { t.noSlot(b, "both", "one", 0) })
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

func slotsOfTheDead(t *tester) {
	a, b := t.engine(), t.engine()
	for range 3 {
		t.slot(a, "both", "m")
	}
	t.noSlot(b, "both", "m", 0)
	t.ok(a.Close())
	for range 3 {
		t.slot(b, "both", "m")
	}
	t.noSlot(b, "both", "m", 0)
}

// tokenRate checks that calls wait for the rate, and that what they do not take, or wait for in
// vain, goes back.
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
	for range 5 {
		take(b, "quick", 50_000, 0)
	}
	take(a, "quick", 100_000, 0) // more than a minute admits
	take(a, "quick", 60_000, 60_000)
	for range 3 {
		t.noSlot(b, "quick", "m", 50_000)
	}
	take(b, "quick", 100, 100) // after a tenth of a second
}

// pauses checks that the latest pause of a provider counts, for all.
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
	t.in(8, func(i int) { t.ok(a.Slots().Pause(t.ctx, "p", at.Add(time.Duration(i+1)*time.Hour), fmt.Sprint(i))) })
	want(at.Add(8*time.Hour), "7")
	t.ok(b.Slots().Pause(t.ctx, "p", at.Add(time.Minute), "earlier"))
	want(at.Add(8*time.Hour), "7")
	if until, _, err := a.Slots().Paused(t.ctx, "other"); err != nil || !until.IsZero() {
		t.Errorf("another provider is paused until %v, %v", until, err)
	}
	t.ok(a.Slots().Pause(t.ctx, "brief", time.Now().Add(4*t.Unit), "brief"))
	t.eventually("a pause ends", func() bool {
		until, _, err := b.Slots().Paused(t.ctx, "brief")
		t.ok(err)
		return !until.After(time.Now())
	})
}
