package engine

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/attractor-go/attractor/fleet"
)

const (
	slotPrefix  = "limit.slot."
	freePrefix  = "slot-free." // announces a free slot; nothing is stored
	ratePrefix  = "limit.rate."
	pausePrefix = "limit.pause."
)

// slots implements [fleet.Slots].
//
// A limit of N calls has up to N records, one for each slot that is taken. The table removes a
// record that its holder has not renewed for a while. If the holder was only cut off from the
// table, more than N calls may run until the old ones end.
type slots struct {
	records table
	limits  []fleet.SlotLimit        // of models before those of whole providers
	hold    time.Duration            // after which a slot is free that was not renewed
	turns   map[string]chan struct{} // by limit; held by the goroutine of this process that looks for a slot
}

// NewSlots returns slots with limits. A slot is free again when its holder has not renewed it for
// the time hold. Their keys are limit.slot.LIMIT.N, limit.rate.LIMIT and limit.pause.PROVIDER.
func NewSlots(t Table, limits []fleet.SlotLimit, hold time.Duration) fleet.Slots {
	s := &slots{records: table{t}, limits: slices.Clone(limits), hold: hold, turns: map[string]chan struct{}{}}
	slices.SortStableFunc(s.limits, func(a, b fleet.SlotLimit) int {
		return cmp.Compare(min(len(b.Model), 1), min(len(a.Model), 1))
	})
	for _, l := range s.limits {
		s.turns[limitKey(l)] = make(chan struct{}, 1)
	}
	return s
}

// limitKey names a limit in keys.
func limitKey(l fleet.SlotLimit) string { return digest(l.Provider + "\x00" + l.Model) }

// Acquire implements [fleet.Slots]. It takes the slot of a model before that of its provider. So a
// caller that waits for its model holds no slot that other models of the provider need.
func (s *slots) Acquire(ctx context.Context, provider, model string, tokens int) (fleet.Slot, error) {
	taken := &slot{s: s, tokens: max(0, tokens)}
	for _, l := range s.limits {
		if l.Provider != provider || l.Model != "" && l.Model != model {
			continue
		}
		if err := taken.add(ctx, l); err != nil {
			bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
			defer cancel()
			return nil, errors.Join(err, taken.Release(bounded, 0))
		}
	}
	return taken, nil
}

// slot implements [fleet.Slot]. It has one part for each limit of its call.
type slot struct {
	s      *slots
	tokens int
	mu     sync.Mutex
	parts  []*slotPart
}

// slotPart is the share of one limit that a slot has.
type slotPart struct {
	limit  fleet.SlotLimit
	rated  bool    // its tokens were taken from the rate
	keeper *keeper // of the record; nil if there is none
}

// add waits for the part of one limit, and adds it.
func (s *slot) add(ctx context.Context, l fleet.SlotLimit) (err error) {
	p := &slotPart{limit: l}
	if l.Slots > 0 {
		if p.keeper, err = s.s.take(ctx, l); err != nil {
			return fmt.Errorf("a slot of %s %s: %w", l.Provider, l.Model, err)
		}
	}
	s.parts = append(s.parts, p)
	if l.TokensPerMinute == 0 {
		return nil
	}
	delay, err := s.s.change(ctx, l, s.tokens)
	if err != nil {
		return err
	}
	p.rated = true
	return Wait(ctx, delay)
}

// take waits for a record of a limit. In this process one caller at a time looks for one.
func (s *slots) take(ctx context.Context, l fleet.SlotLimit) (*keeper, error) {
	turn := s.turns[limitKey(l)]
	select {
	case turn <- struct{}{}:
		defer func() { <-turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for err := range s.records.Changes(ctx, freePrefix+limitKey(l)) {
		if err != nil {
			return nil, err
		}
		k, err := s.takeNow(ctx, l)
		if k != nil || err != nil {
			return k, err
		}
	}
	return nil, ctx.Err()
}

// takeNow makes a record that is not there. It returns nil if all are.
func (s *slots) takeNow(ctx context.Context, l fleet.SlotLimit) (*keeper, error) {
	prefix := slotPrefix + limitKey(l) + "."
	there, err := s.records.Keys(ctx, prefix+"*")
	if err != nil {
		return nil, err
	}
	for i := range l.Slots {
		key := prefix + strconv.Itoa(i)
		if slices.Contains(there, key) {
			continue
		}
		holder := []byte(rand.Text())
		seq, err := s.records.put(ctx, key, holder, 0, s.hold)
		if err == nil {
			return s.keep(key, holder, seq), nil
		} else if !errors.Is(err, ErrChanged) {
			return nil, err
		}
	}
	return nil, nil
}

// keeper renews a record.
type keeper struct {
	stop, stopped chan struct{}
	key           string
	holder        []byte // what the record holds; nobody else writes that
	seq           uint64 // of the record; use it once stopped is closed
}

// keep renews a record until stop is closed, it is somebody else's, or the connection is closed.
func (s *slots) keep(key string, holder []byte, seq uint64) *keeper {
	k := &keeper{make(chan struct{}), make(chan struct{}), key, holder, seq}
	go func() {
		defer close(k.stopped)
		t := time.NewTicker(s.hold / 4)
		defer t.Stop()
		for {
			select {
			case <-k.stop:
				return
			case <-s.records.Life().Done():
				return
			case <-t.C:
			}
			ctx, cancel := context.WithTimeout(s.records.Life(), s.hold/4)
			err := s.renew(ctx, k)
			cancel()
			if errors.Is(err, ErrChanged) {
				return
			}
		}
	}()
	return k
}

// renew writes a record again. It returns ErrChanged if somebody else has it.
func (s *slots) renew(ctx context.Context, k *keeper) error {
	holder := func() ([]byte, error) { return k.holder, nil }
	return s.records.rewrite(ctx, k.key, &k.seq, s.hold, holder, k.has)
}

// has reports whether a record is the keeper's.
func (k *keeper) has(now Record) (bool, error) {
	return now.Seq > 0 && bytes.Equal(now.Data, k.holder), nil
}

// Release implements [fleet.Slot]. After an error it may be called again.
func (s *slot) Release(ctx context.Context, tokens int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var failures []error
	for _, p := range s.parts {
		failures = append(failures, s.s.giveBack(ctx, p, s.tokens-max(0, tokens)))
	}
	return errors.Join(failures...)
}

// giveBack gives back a part of a slot. Rest is how many tokens its call did not take.
func (s *slots) giveBack(ctx context.Context, p *slotPart, rest int) error {
	if p.keeper != nil {
		p.keeper.end()
		now, err := s.records.Get(ctx, p.keeper.key) // the answer to a renewal may have been lost
		if mine, _ := p.keeper.has(now); err == nil && mine {
			err = s.records.RemoveSeq(ctx, now.Seq)
		}
		if err != nil {
			return err
		}
		s.records.Tell(freePrefix + limitKey(p.limit)) // who does not hear it looks from time to time
		p.keeper = nil
	}
	if p.rated {
		if _, err := s.change(ctx, p.limit, -rest); err != nil {
			return err
		}
		p.rated = false
	}
	return nil
}

// end ends the renewing.
func (k *keeper) end() {
	select {
	case <-k.stop: // by an earlier call
	default:
		close(k.stop)
	}
	<-k.stopped
}

// rateRecord holds how many tokens a rate admitted at a time by the table's clock. They are below 0
// while calls wait.
type rateRecord struct {
	Tokens float64   `json:"tokens"`
	At     time.Time `json:"at"`
}

// change takes tokens from a rate, or gives some back, and returns how long their call has to wait.
// Later calls wait longer, so no call is overtaken forever. A call for more than a minute's tokens
// waits until a whole minute's tokens are unused.
func (s *slots) change(ctx context.Context, l fleet.SlotLimit, tokens int) (time.Duration, error) {
	if tokens == 0 {
		return 0, nil
	}
	key, most := ratePrefix+limitKey(l), float64(l.TokensPerMinute)
	missing := 0.0
	err := Update(ctx, s.records, key, func(before Record) (any, time.Duration, error) {
		now, err := s.records.Now(ctx)
		r := rateRecord{most, now}
		if err == nil && before.Seq > 0 {
			err = json.Unmarshal(before.Data, &r)
		}
		if passed := now.Sub(r.At); passed > 0 {
			r.Tokens, r.At = min(most, r.Tokens+most*passed.Minutes()), now
		}
		missing = min(float64(tokens), most) - r.Tokens
		r.Tokens = min(most, r.Tokens-float64(tokens))
		return r, 0, err
	})
	return time.Duration(max(0, missing) / most * float64(time.Minute)), err
}

// pauseRecord says that a provider should not be called.
type pauseRecord struct {
	Until  time.Time `json:"until"`
	Reason string    `json:"reason"`
}

// pauseOf returns the pause that a record has.
func pauseOf(r Record) (p pauseRecord, err error) {
	if r.Seq > 0 {
		err = json.Unmarshal(r.Data, &p)
	}
	return p, err
}

// Pause implements [fleet.Slots].
func (s *slots) Pause(ctx context.Context, provider string, until time.Time, reason string) error {
	if provider == "" {
		return fmt.Errorf("fleet: a pause needs the name of a provider: %w", fs.ErrInvalid)
	}
	return Update(ctx, s.records, pausePrefix+digest(provider), func(now Record) (any, time.Duration, error) {
		p, err := pauseOf(now)
		if until.After(p.Until) {
			return pauseRecord{until, reason}, 0, err
		}
		return nil, 0, err
	})
}

// Paused implements [fleet.Slots].
func (s *slots) Paused(ctx context.Context, provider string) (time.Time, string, error) {
	r, err := s.records.Get(ctx, pausePrefix+digest(provider))
	if err != nil {
		return time.Time{}, "", err
	}
	p, err := pauseOf(r)
	if err != nil || !time.Now().Before(p.Until) {
		return time.Time{}, "", err
	}
	return p.Until, p.Reason, nil
}
