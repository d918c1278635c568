package natsfleet

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/internal/await"
)

// slotLimits bounds a model and its whole provider.
func slotLimits() []fleet.SlotLimit {
	return []fleet.SlotLimit{{Provider: "p", Slots: 3}, {Provider: "p", Model: "big", Slots: 2}}
}

// highest counts what goes on at once.
type highest struct{ now, most atomic.Int64 }

func (h *highest) enter() {
	n := h.now.Add(1)
	for m := h.most.Load(); n > m && !h.most.CompareAndSwap(m, n); m = h.most.Load() {
	}
}

func (h *highest) leave() { h.now.Add(-1) }

func TestP6_SlotsAreNeverExceeded(t *testing.T) {
	t.Parallel()
	h := host(t, slotLimits(), one(0, 0))
	var big, all highest
	var wg sync.WaitGroup
	for m := range 3 {
		s := h.engine().Slots()
		for i := range 12 {
			model := "small"
			if (i+m)%2 == 0 {
				model = "big"
			}
			wg.Go(func() {
				ctx := t.Context()
				if i%4 == 3 { // some do not wait long, and leave nothing behind
					short, cancel := context.WithTimeout(ctx, time.Duration(i)*5*time.Millisecond)
					defer cancel()
					ctx = short
				}
				slot, err := s.Acquire(ctx, "p", model, 10)
				if err != nil {
					if ctx.Err() == nil {
						t.Error(err)
					}
					return
				}
				all.enter()
				if model == "big" {
					big.enter()
				}
				time.Sleep(10 * time.Millisecond) // a model call
				if model == "big" {
					big.leave()
				}
				all.leave()
				for range 2 { // the second one does nothing
					if err := slot.Release(t.Context(), 10); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	if all.most.Load() > 3 || big.most.Load() > 2 {
		t.Errorf("%d calls at once, %d of the model", all.most.Load(), big.most.Load())
	}
	s := h.engine().Slots()
	for range 3 { // all are free again
		take(t, s, "small", 0)
	}
	if free(t, s, "small") {
		t.Error("a slot too many")
	}
	other, err := s.Acquire(t.Context(), "unbounded", "x", 1_000_000)
	if err != nil || other.Release(t.Context(), 0) != nil {
		t.Errorf("nothing bounds it: %v", err)
	}
}

// take takes a slot, which has to be free soon.
func take(t *testing.T, s fleet.Slots, model string, tokens int) fleet.Slot {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), await.Limit)
	defer cancel()
	slot, err := s.Acquire(ctx, "p", model, tokens)
	if err != nil {
		t.Fatal(err)
	}
	return slot
}

// free reports whether a slot is free now.
func free(t *testing.T, s fleet.Slots, model string) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	slot, err := s.Acquire(ctx, "p", model, 0)
	if err != nil {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		return false
	}
	if err := slot.Release(t.Context(), 0); err != nil {
		t.Error(err)
	}
	return true
}

func TestP6_SlotsOfAnotherNumber(t *testing.T) {
	t.Parallel()
	h := host(t, []fleet.SlotLimit{{Provider: "p", Slots: 1}}, one(0, 0))
	for _, n := range []int{3, 2} {
		h.stop()
		h.config.Slots[0].Slots = n
		h.start()
		s := h.engine().Slots()
		var taken []fleet.Slot
		for range n {
			taken = append(taken, take(t, s, "m", 0))
		}
		if free(t, s, "m") {
			t.Errorf("more than %d", n)
		}
		for _, slot := range taken {
			if err := slot.Release(t.Context(), 0); err != nil {
				t.Error(err)
			}
		}
	}
}
