package memfleet

import (
	"context"
	"slices"
	"time"

	"github.com/attractor-go/attractor/fleet"
)

// slotTable holds what bounds model calls.
type slotTable struct {
	monitor
	limits []*limit
	pauses map[string]pause // by provider
	taken  map[*slot]bool
}

// limit is one bound and what is taken of it.
type limit struct {
	fleet.SlotLimit
	taken  int
	waits  []*bool // those who wait, in order: only the first may take
	tokens float64 // that the rate admits at the time at; less than 0 after calls that took more than they had said
	at     time.Time
}

// pause says that a provider should not be called.
type pause struct {
	until  time.Time
	reason string
}

func newSlotTable(limits []fleet.SlotLimit) *slotTable {
	t := &slotTable{pauses: map[string]pause{}, taken: map[*slot]bool{}}
	for _, l := range limits {
		t.limits = append(t.limits, &limit{SlotLimit: l, tokens: float64(l.TokensPerMinute), at: time.Now()})
	}
	return t
}

// slots implements [fleet.Slots].
type slots struct {
	e *Engine
	*slotTable
}

// slot implements [fleet.Slot].
type slot struct {
	e      *Engine
	t      *slotTable
	limits []*limit
	tokens int
}

// Acquire implements [fleet.Slots]. It takes from all limits of the call at once, so that nobody
// holds one while it waits for another. Calls of a limit take in the order in which they came, so
// that a large one is not overtaken forever.
func (s slots) Acquire(ctx context.Context, provider, model string, tokens int) (fleet.Slot, error) {
	ctx, done := s.e.within(ctx)
	defer done()
	s.Lock()
	defer s.Unlock()
	taken := &slot{e: s.e, t: s.slotTable, tokens: max(0, tokens)}
	place := new(bool) // its address is the place in line
	for _, l := range s.limits {
		if l.Provider == provider && (l.Model == "" || l.Model == model) {
			taken.limits = append(taken.limits, l)
			l.waits = append(l.waits, place)
		}
	}
	defer taken.leave(place)
	for {
		if err := ended(ctx); err != nil {
			return nil, err
		}
		free, at := taken.free(place, time.Now())
		if free {
			taken.take()
			return taken, nil
		}
		if err := s.wait(ctx, at); err != nil {
			return nil, err
		}
	}
}

// leave ends the waiting. The caller holds the lock, as for free and take.
func (s *slot) leave(place *bool) {
	for _, l := range s.limits {
		l.waits = slices.DeleteFunc(l.waits, func(p *bool) bool { return p == place })
	}
	s.t.changed()
}

// free reports whether all limits admit the call. If only the rate does not, it returns the time at
// which it will.
func (s *slot) free(place *bool, now time.Time) (bool, time.Time) {
	var at time.Time
	for _, l := range s.limits {
		if l.waits[0] != place || l.Slots > 0 && l.taken >= l.Slots {
			return false, time.Time{}
		}
		if l.TokensPerMinute == 0 {
			continue
		}
		l.refill(now)
		// A call for more than a minute's tokens goes when the minute is unused, not never.
		if missing := float64(min(s.tokens, l.TokensPerMinute)) - l.tokens; missing > 0 {
			ready := now.Add(time.Duration(missing / float64(l.TokensPerMinute) * float64(time.Minute)))
			if ready.After(at) {
				at = ready
			}
		}
	}
	return at.IsZero(), at
}

// refill adds what the rate admits since the last time. A limit saves up no more than a minute's
// tokens.
func (l *limit) refill(now time.Time) {
	l.tokens += now.Sub(l.at).Minutes() * float64(l.TokensPerMinute)
	l.tokens, l.at = min(l.tokens, float64(l.TokensPerMinute)), now
}

func (s *slot) take() {
	for _, l := range s.limits {
		l.taken++
		l.tokens -= float64(s.tokens)
	}
	s.t.taken[s] = true
}

// give gives the slot back, once, after a call that took some tokens. The caller holds the lock.
func (s *slot) give(tokens int) {
	if !s.t.taken[s] {
		return
	}
	delete(s.t.taken, s)
	for _, l := range s.limits {
		l.taken--
		l.tokens += float64(s.tokens - max(0, tokens))
	}
	s.t.changed()
}

// Release implements [fleet.Slot].
func (s *slot) Release(ctx context.Context, tokens int) error {
	if err := s.e.check(ctx); err != nil {
		return err
	}
	s.t.Lock()
	defer s.t.Unlock()
	s.give(tokens)
	return nil
}

// releaseAll gives back all slots of an engine, with the tokens that they were taken for.
func (s slots) releaseAll() {
	s.Lock()
	defer s.Unlock()
	for taken := range s.taken {
		if taken.e == s.e {
			taken.give(taken.tokens)
		}
	}
}

// Pause implements [fleet.Slots].
func (s slots) Pause(ctx context.Context, provider string, until time.Time, reason string) error {
	if err := s.e.check(ctx); err != nil {
		return err
	}
	s.Lock()
	defer s.Unlock()
	if until.After(s.pauses[provider].until) {
		s.pauses[provider] = pause{until, reason}
	}
	return nil
}

// Paused implements [fleet.Slots].
func (s slots) Paused(ctx context.Context, provider string) (time.Time, string, error) {
	if err := s.e.check(ctx); err != nil {
		return time.Time{}, "", err
	}
	s.Lock()
	defer s.Unlock()
	if p := s.pauses[provider]; time.Now().Before(p.until) {
		return p.until, p.reason, nil
	}
	return time.Time{}, "", nil
}
