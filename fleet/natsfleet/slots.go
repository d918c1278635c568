package natsfleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/attractor-go/attractor/fleet"
)

const (
	slotStream  = "slots"
	slotPrefix  = "slot."
	rateStream  = "rates"
	ratePrefix  = "rate."
	pausePrefix = "pause."
	// slotHold is how long a slot stays taken after the last sign of life of its holder.
	slotHold = 10 * time.Second
)

// slots implements [fleet.Slots].
//
// A limit of N calls has N messages in a queue. A caller to which the server has delivered one has
// a slot, for as long as it gives signs of life. To give the slot back, it replaces the message by
// a new one; a caller that was taken for dead in the meantime gives nothing back. After a holder
// was cut off from the server for slotHold, and after a crash of the server, more calls than N may
// go on until the old ones end.
type slots struct {
	*records // rates and pauses
	queue    *records
	limits   []fleet.SlotLimit // of models before those of whole providers
	hold     time.Duration     // after which a slot is free whose holder gives no sign of life
}

func newSlots(ctx context.Context, operator *account, limits []fleet.SlotLimit) (fleet.Slots, error) {
	return openSlots(ctx, operator, limits, slotHold)
}

func openSlots(ctx context.Context, operator *account, limits []fleet.SlotLimit, hold time.Duration) (*slots, error) {
	rates, err := newRecords(ctx, operator, rateStream, ratePrefix+"*", pausePrefix+"*")
	if err != nil {
		return nil, err
	}
	q, err := operator.stream(ctx, jetstream.StreamConfig{
		Name: slotStream, Subjects: []string{slotPrefix + "*.*"}, Retention: jetstream.WorkQueuePolicy,
		MaxMsgsPerSubject: 1,
	})
	if err != nil {
		return nil, err
	}
	s := &slots{records: rates, queue: &records{operator, q}, limits: slices.Clone(limits), hold: hold}
	slices.SortStableFunc(s.limits, func(a, b fleet.SlotLimit) int {
		return cmp.Compare(min(len(b.Model), 1), min(len(a.Model), 1))
	})
	for _, l := range s.limits {
		if err := s.setUp(ctx, l); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// limitKey names a limit in subjects.
func limitKey(l fleet.SlotLimit) string { return digest(l.Provider + "\x00" + l.Model) }

// setUp makes the slots of a limit and removes those too many.
func (s *slots) setUp(ctx context.Context, l fleet.SlotLimit) error {
	prefix := slotPrefix + limitKey(l) + "."
	info, err := call(ctx, func(ctx context.Context) (*jetstream.StreamInfo, error) {
		return s.queue.stream.Info(ctx, jetstream.WithSubjectFilter(prefix+"*"))
	})
	if err != nil {
		return err
	}
	there := info.State.Subjects
	for i := range l.Slots {
		subject := prefix + strconv.Itoa(i)
		if there[subject] > 0 {
			delete(there, subject)
			continue
		}
		if _, err := s.queue.put(ctx, subject, nil, 0, 0); err != nil && !errors.Is(err, errChanged) {
			return err
		}
	}
	for subject := range there {
		if err := s.queue.remove(ctx, subject); err != nil {
			return err
		}
	}
	if l.Slots == 0 {
		return nil
	}
	_, err = call(ctx, func(ctx context.Context) (jetstream.Consumer, error) {
		return s.queue.stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
			Durable: limitKey(l), FilterSubject: prefix + "*", AckPolicy: jetstream.AckExplicitPolicy, AckWait: s.hold,
			MaxDeliver:    -1,
			MaxAckPending: -1, MaxWaiting: 1 << 16,
		})
	})
	return err
}

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

// slotPart is what a slot has of one limit.
type slotPart struct {
	limit   fleet.SlotLimit
	rated   bool // its tokens were taken from the rate
	subject string
	seq     uint64 // of the message; 0 if there is none
	keeper  *keeper
}

// add waits for a part of a limit.
func (s *slot) add(ctx context.Context, l fleet.SlotLimit) error {
	p := &slotPart{limit: l}
	if l.Slots > 0 {
		m, err := s.s.take(ctx, l)
		if err != nil {
			return err
		}
		meta, err := m.Metadata()
		if err != nil {
			return err
		}
		p.subject, p.seq, p.keeper = m.Subject, meta.Sequence.Stream, s.s.keep(m)
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
	return wait(ctx, delay)
}

// take waits for a message of a limit.
func (s *slots) take(ctx context.Context, l fleet.SlotLimit) (*nats.Msg, error) {
	for failing := time.Now(); ; {
		m, err := s.takeOnce(ctx, l)
		switch {
		case m != nil:
			return m, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err == nil:
			failing = time.Now()
		case !mayPass(err) || time.Since(failing) > failTime:
			return nil, fmt.Errorf("a slot of %s %s: %w", l.Provider, l.Model, err)
		}
		if err := wait(ctx, attemptPause); err != nil {
			return nil, err
		}
	}
}

// takeOnce makes one request for a message of a limit. Neither a message nor an error means that
// there was none.
func (s *slots) takeOnce(ctx context.Context, l fleet.SlotLimit) (*nats.Msg, error) {
	back := func(m *nats.Msg) { s.reply(m, jetstreamNak) }
	for m, err := range s.pull(ctx, slotStream, limitKey(l), 1, back) {
		return m, err
	}
	return nil, nil
}

// keeper gives signs of life for a message.
type keeper struct {
	hold          time.Duration
	stop, stopped chan struct{}
	heard         time.Time // when the last sign that was confirmed was given; read it once stopped is closed
}

// keep gives signs of life until end is called, or the connection is closed.
func (s *slots) keep(m *nats.Msg) *keeper {
	k := &keeper{s.hold, make(chan struct{}), make(chan struct{}), time.Now()}
	closed := s.nc.StatusChanged(nats.CLOSED)
	go func() {
		defer close(k.stopped)
		defer s.nc.RemoveStatusListener(closed)
		t := time.NewTicker(s.hold / 4)
		defer t.Stop()
		for !s.nc.IsClosed() {
			select {
			case <-k.stop:
				return
			case <-closed:
				return
			case <-t.C:
				k.sign(s.nc, m)
			}
		}
	}()
	return k
}

// sign gives one sign of life. If it is not confirmed, the next one may be.
func (k *keeper) sign(nc *nats.Conn, m *nats.Msg) {
	sent := time.Now()
	if _, err := nc.Request(m.Reply, []byte(jetstreamProgress), min(k.hold/4, attemptTime)); err == nil {
		k.heard = sent
	}
}

// end ends the signs of life, and reports whether the message is still this holder's. The server
// counts from when it delivered the message, which may have been on its way for a while: what is in
// doubt is not given back, and comes back by itself.
func (k *keeper) end() bool {
	close(k.stop)
	<-k.stopped
	return time.Since(k.heard) < k.hold-k.hold/4
}

// Release implements [fleet.Slot]. What it could not give back, a second call does.
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
		if !p.keeper.end() {
			p.seq = 0 // the server has given it to somebody else
		}
		p.keeper = nil
	}
	if p.seq > 0 {
		// If the limit has fewer slots now, there is nothing to give.
		if _, err := s.queue.put(ctx, p.subject, nil, p.seq, 0); err != nil && !errors.Is(err, errChanged) {
			return err
		}
		p.seq = 0
	}
	if p.rated {
		if _, err := s.change(ctx, p.limit, -rest); err != nil {
			return err
		}
		p.rated = false
	}
	return nil
}

// rateRecord says how many tokens a rate admits at a time by the server's clock. They are less than
// 0 while calls wait.
type rateRecord struct {
	Tokens float64   `json:"tokens"`
	At     time.Time `json:"at"`
}

// change takes tokens from a rate, or gives some back, and returns how long their call has to wait.
// Later calls wait longer, so none is overtaken forever. A call for more than a minute's tokens
// goes when the minute is unused, not never.
func (s *slots) change(ctx context.Context, l fleet.SlotLimit, tokens int) (time.Duration, error) {
	if tokens == 0 {
		return 0, nil
	}
	subject, most := ratePrefix+limitKey(l), float64(l.TokensPerMinute)
	for {
		now, err := s.now(ctx)
		if err != nil {
			return 0, err
		}
		before, err := s.get(ctx, subject)
		if err != nil {
			return 0, err
		}
		r := rateRecord{most, now}
		if before.seq > 0 {
			if err := json.Unmarshal(before.data, &r); err != nil {
				return 0, fmt.Errorf("%s: %w", subject, err)
			}
		}
		if passed := now.Sub(r.At); passed > 0 {
			r.Tokens, r.At = min(most, r.Tokens+most*passed.Minutes()), now
		}
		missing := min(float64(tokens), most) - r.Tokens
		r.Tokens = min(most, r.Tokens-float64(tokens))
		data, err := json.Marshal(r)
		if err != nil {
			return 0, err
		}
		if _, err = s.put(ctx, subject, data, before.seq, 0); err == nil {
			return time.Duration(max(0, missing) / most * float64(time.Minute)), nil
		} else if !errors.Is(err, errChanged) {
			return 0, err
		}
		if err := wait(ctx, jitter(10*time.Millisecond)); err != nil {
			return 0, err
		}
	}
}

// pauseRecord says that a provider should not be called.
type pauseRecord struct {
	Until  time.Time `json:"until"`
	Reason string    `json:"reason"`
}

// paused returns the pause of a provider.
func (s *slots) paused(ctx context.Context, provider string) (p pauseRecord, r record, err error) {
	if r, err = s.get(ctx, pausePrefix+digest(provider)); err == nil && r.seq > 0 {
		err = json.Unmarshal(r.data, &p)
	}
	return p, r, err
}

// Pause implements [fleet.Slots].
func (s *slots) Pause(ctx context.Context, provider string, until time.Time, reason string) error {
	if provider == "" {
		return fmt.Errorf("fleet: a pause needs the name of a provider: %w", fs.ErrInvalid)
	}
	data, err := json.Marshal(pauseRecord{until, reason})
	if err != nil {
		return err
	}
	for {
		p, r, err := s.paused(ctx, provider)
		if err != nil || !until.After(p.Until) {
			return err
		}
		if _, err := s.put(ctx, r.subject, data, r.seq, 0); !errors.Is(err, errChanged) {
			return err
		}
	}
}

// Paused implements [fleet.Slots].
func (s *slots) Paused(ctx context.Context, provider string) (time.Time, string, error) {
	p, _, err := s.paused(ctx, provider)
	if err != nil || !time.Now().Before(p.Until) {
		return time.Time{}, "", err
	}
	return p.Until, p.Reason, nil
}
