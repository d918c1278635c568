package natsfleet

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/fleet"
)

// Not parallel: it looks at all goroutines.
func TestP6_ClosedEngineLeavesNothing(t *testing.T) {
	before := goleak.IgnoreCurrent()
	h := host(t, []fleet.SlotLimit{{Provider: "p", Slots: 1, TokensPerMinute: 1000}}, one(0, 0))
	e, err := h.server.Engine(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.Open(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	take(t, e.Slots(), "m", 10) // it is never released
	reserve(t, e.Ledger("s", agent.Budget{Tokens: 100}), callOf("x", 1, 10, 10))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := e.Slots().Acquire(ctx, "p", "m", 10); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second slot: %v", err)
	}
	noClaim(t, s.Tasks, 50*time.Millisecond)
	for _, err := range s.Tasks.Watch(ctx, "") {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("watch: %v", err)
		}
	}
	waiting := make(chan error, 2)
	go func() { _, err := s.Tasks.Claim(t.Context(), "w", time.Minute); waiting <- err }()
	go func() { _, err := e.Slots().Acquire(t.Context(), "p", "m", 0); waiting <- err }()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := <-waiting; err == nil {
			t.Error("a call of a closed engine succeeds")
		}
	}
	h.stop()
	goleak.VerifyNone(t, before)
}
