package fleettest

import (
	"context"
	"errors"
	"io"
	"iter"
	"sync"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/journal"
)

// ErrCut is the error of a call over a line that is cut: its outcome is unknown.
var ErrCut = errors.New("fleettest: the line to the engine is cut")

// Line is an engine behind a line that can be cut, as the network of a worker's machine can be. A
// cut fails the calls that are under way; further calls wait for a while and then fail. A line can
// lose answers, too: the call is made, and fails nevertheless.
type Line struct {
	engine fleet.Engine
	wait   time.Duration

	mu    sync.Mutex
	up    context.Context // ends with the next Cut
	down  context.CancelFunc
	again chan struct{} // closed by Mend; nil while the line is not cut
	every int           // loses each answer of that number
	calls int
}

// NewLine returns a line to an engine. While it is cut, calls wait for as long as wait.
func NewLine(e fleet.Engine, wait time.Duration) *Line {
	l := &Line{engine: e, wait: wait}
	l.up, l.down = context.WithCancel(context.Background())
	return l
}

// Cut cuts the line.
func (l *Line) Cut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.again == nil {
		l.again = make(chan struct{})
		l.down()
	}
}

// Mend makes a line that was cut good again.
func (l *Line) Mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.again != nil {
		close(l.again)
		l.again = nil
		l.up, l.down = context.WithCancel(context.Background())
	}
}

// Lose makes the line lose every nth answer of calls that change something; 0 is none.
func (l *Line) Lose(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.every = n
}

// state returns the context of the line, and what tells when it is good again, nil if it is.
func (l *Line) state() (up context.Context, again chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.up, l.again
}

// loses reports whether the answer of this call is lost.
func (l *Line) loses() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	return l.every > 0 && l.calls%l.every == 0
}

// begin waits until the line is good, for a while. It returns a context that ends when the line is
// cut.
func (l *Line) begin(ctx context.Context) (context.Context, context.CancelFunc, error) {
	up, again := l.state()
	if again != nil {
		timer := time.NewTimer(l.wait)
		defer timer.Stop()
		select {
		case <-again:
			return l.begin(ctx)
		case <-timer.C:
			return nil, nil, ErrCut
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(up, func() { cancel(ErrCut) })
	return ctx, func() { stop(); cancel(nil) }, nil
}

// over makes a call over the line. If the line is cut in the meantime, it fails whatever has become
// of it.
func over[T any](ctx context.Context, l *Line, call func(ctx context.Context) (T, error)) (T, error) {
	var none T
	ctx, done, err := l.begin(ctx)
	if err != nil {
		return none, err
	}
	defer done()
	v, err := call(ctx)
	if context.Cause(ctx) == ErrCut {
		return none, ErrCut
	}
	return v, err
}

// change makes a call that changes something over the line, which may lose the answer.
func (l *Line) change(ctx context.Context, call func(ctx context.Context) error) error {
	_, err := over(ctx, l, func(ctx context.Context) (struct{}, error) { return struct{}{}, call(ctx) })
	if err == nil && l.loses() {
		return ErrCut
	}
	return err
}

// sequence iterates over the line.
func sequence[T any](ctx context.Context, l *Line, seq func(ctx context.Context) iter.Seq2[T, error]) iter.Seq2[T,
	error] {
	return func(yield func(T, error) bool) {
		var none T
		ctx, done, err := l.begin(ctx)
		if err != nil {
			yield(none, err)
			return
		}
		defer done()
		for v, err := range seq(ctx) {
			if context.Cause(ctx) == ErrCut {
				v, err = none, ErrCut
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// Tenants implements [fleet.Engine].
func (l *Line) Tenants(ctx context.Context) ([]fleet.Tenant, error) {
	return over(ctx, l, l.engine.Tenants)
}

// Open implements [fleet.Engine].
func (l *Line) Open(ctx context.Context, tenant string) (fleet.Space, error) {
	return over(ctx, l, func(ctx context.Context) (fleet.Space, error) {
		s, err := l.engine.Open(ctx, tenant)
		return lineSpace{l, s}, err
	})
}

// Leases implements [fleet.Engine].
func (l *Line) Leases() fleet.Leases { return lineLeases{l.engine.Leases(), l} }

// Slots implements [fleet.Engine].
func (l *Line) Slots() fleet.Slots { return lineSlots{l.engine.Slots(), l} }

// Ledger implements [fleet.Engine].
func (l *Line) Ledger(scope string, budget agent.Budget) agent.Ledger {
	return lineLedger{l.engine.Ledger(scope, budget), l}
}

// Close implements [fleet.Engine]. It works without the line.
func (l *Line) Close() error { return l.engine.Close() }

// lineSpace is a space behind a line.
type lineSpace struct {
	l     *Line
	space fleet.Space
}

func (s lineSpace) Tasks() fleet.Tasks      { return lineTasks{s.space.Tasks(), s.l} }
func (s lineSpace) Journals() journal.Store { return lineJournals{s.space.Journals(), s.l} }
func (s lineSpace) Objects() fleet.Objects  { return lineObjects{s.space.Objects(), s.l} }
func (s lineSpace) Bus() fleet.Bus          { return lineBus{s.space.Bus(), s.l} }
func (s lineSpace) Asks() fleet.Asks        { return lineAsks{s.space.Asks(), s.l} }

// lineTasks are tasks behind a line.
type lineTasks struct {
	fleet.Tasks
	l *Line
}

func (t lineTasks) Submit(ctx context.Context, task fleet.Task) (s fleet.Status, isNew bool, err error) {
	err = t.l.change(ctx, func(ctx context.Context) (err error) {
		s, isNew,
			err = t.Tasks.Submit(ctx, task)
		return err
	})
	return s, isNew, err
}

func (t lineTasks) Get(ctx context.Context, id string) (fleet.Task, fleet.Status, error) {
	var status fleet.Status
	task, err := over(ctx, t.l, func(ctx context.Context) (task fleet.Task, err error) {
		task, status, err = t.Tasks.Get(ctx, id)
		return task, err
	})
	return task, status, err
}

func (t lineTasks) List(ctx context.Context) iter.Seq2[fleet.Status, error] {
	return sequence(ctx, t.l, t.Tasks.List)
}

func (t lineTasks) Watch(ctx context.Context, id string) iter.Seq2[fleet.Status, error] {
	return sequence(ctx, t.l, func(ctx context.Context) iter.Seq2[fleet.Status, error] {
		return t.Tasks.Watch(ctx,
			id)
	})
}

func (t lineTasks) Cancel(ctx context.Context, id string) error {
	return t.l.change(ctx, func(ctx context.Context) error { return t.Tasks.Cancel(ctx, id) })
}

func (t lineTasks) Claim(ctx context.Context, worker string, hold time.Duration) (fleet.Claim, error) {
	c, err := over(ctx, t.l, func(ctx context.Context) (fleet.Claim, error) { return t.Tasks.Claim(ctx, worker, hold) })
	if err != nil {
		return nil, err
	}
	return lineClaim{c, t.l}, nil
}

func (t lineTasks) Remove(ctx context.Context, ids ...string) error {
	return t.l.change(ctx, func(ctx context.Context) error { return t.Tasks.Remove(ctx, ids...) })
}

// lineClaim is a claim behind a line.
type lineClaim struct {
	fleet.Claim
	l *Line
}

func (c lineClaim) Extend(ctx context.Context) error { return c.l.change(ctx, c.Claim.Extend) }

func (c lineClaim) Update(ctx context.Context, s fleet.Status) error {
	return c.l.change(ctx, func(ctx context.Context) error { return c.Claim.Update(ctx, s) })
}

func (c lineClaim) Finish(ctx context.Context, s fleet.Status) error {
	return c.l.change(ctx, func(ctx context.Context) error { return c.Claim.Finish(ctx, s) })
}

func (c lineClaim) Return(ctx context.Context, s fleet.Status) error {
	return c.l.change(ctx, func(ctx context.Context) error { return c.Claim.Return(ctx, s) })
}

// lineLeases are leases behind a line.
type lineLeases struct {
	fleet.Leases
	l *Line
}

func (s lineLeases) Acquire(ctx context.Context, w fleet.WorkerInfo, ttl time.Duration) (fleet.Lease, error) {
	lease, err := over(ctx, s.l, func(ctx context.Context) (fleet.Lease, error) {
		return s.Leases.Acquire(ctx, w,
			ttl)
	})
	if err != nil {
		return nil, err
	}
	return lineLease{lease, s.l}, nil
}

func (s lineLeases) List(ctx context.Context) ([]fleet.WorkerInfo, error) {
	return over(ctx, s.l, s.Leases.List)
}

func (s lineLeases) Drain(ctx context.Context, worker string) error {
	return s.l.change(ctx, func(ctx context.Context) error { return s.Leases.Drain(ctx, worker) })
}

// lineLease is a lease behind a line.
type lineLease struct {
	fleet.Lease
	l *Line
}

func (e lineLease) Renew(ctx context.Context, w fleet.WorkerInfo) error {
	return e.l.change(ctx, func(ctx context.Context) error { return e.Lease.Renew(ctx, w) })
}

func (e lineLease) Release(ctx context.Context) error { return e.l.change(ctx, e.Lease.Release) }

// lineSlots are slots behind a line.
type lineSlots struct {
	fleet.Slots
	l *Line
}

func (s lineSlots) Acquire(ctx context.Context, provider, model string, tokens int) (fleet.Slot, error) {
	slot, err := over(ctx, s.l, func(ctx context.Context) (fleet.Slot, error) {
		return s.Slots.Acquire(ctx, provider,
			model, tokens)
	})
	if err != nil {
		return nil, err
	}
	return lineSlot{slot, s.l}, nil
}

func (s lineSlots) Pause(ctx context.Context, provider string, until time.Time, reason string) error {
	return s.l.change(ctx, func(ctx context.Context) error { return s.Slots.Pause(ctx, provider, until, reason) })
}

func (s lineSlots) Paused(ctx context.Context, provider string) (until time.Time, reason string, err error) {
	until, err = over(ctx, s.l, func(ctx context.Context) (until time.Time, err error) {
		until, reason, err = s.Slots.Paused(ctx, provider)
		return until, err
	})
	return until, reason, err
}

// lineSlot is a slot behind a line.
type lineSlot struct {
	fleet.Slot
	l *Line
}

func (s lineSlot) Release(ctx context.Context, tokens int) error {
	return s.l.change(ctx, func(ctx context.Context) error { return s.Slot.Release(ctx, tokens) })
}

// lineLedger is a ledger behind a line.
type lineLedger struct {
	ledger agent.Ledger
	l      *Line
}

func (e lineLedger) Reserve(ctx context.Context, c agent.Claim) (int, error) {
	return over(ctx, e.l, func(ctx context.Context) (int, error) { return e.ledger.Reserve(ctx, c) })
}

func (e lineLedger) Settle(ctx context.Context, c agent.Claim, took agent.Spent) error {
	return e.l.change(ctx, func(ctx context.Context) error { return e.ledger.Settle(ctx, c, took) })
}

// lineObjects are objects behind a line.
type lineObjects struct {
	fleet.Objects
	l *Line
}

func (o lineObjects) Put(ctx context.Context, name string, data io.Reader) (a fleet.Artifact, err error) {
	err = o.l.change(ctx, func(ctx context.Context) (err error) { a, err = o.Objects.Put(ctx, name, data); return err })
	return a, err
}

func (o lineObjects) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	// The reader is used after the call: the call's context must not end it.
	_, done, err := o.l.begin(ctx)
	if err != nil {
		return nil, err
	}
	done()
	return o.Objects.Open(ctx, name)
}

func (o lineObjects) List(ctx context.Context, prefix string) iter.Seq2[fleet.Artifact, error] {
	return sequence(ctx, o.l, func(ctx context.Context) iter.Seq2[fleet.Artifact, error] {
		return o.Objects.List(ctx,
			prefix)
	})
}

func (o lineObjects) Remove(ctx context.Context, names ...string) error {
	return o.l.change(ctx, func(ctx context.Context) error { return o.Objects.Remove(ctx, names...) })
}

// lineAsks are asks behind a line.
type lineAsks struct {
	fleet.Asks
	l *Line
}

func (a lineAsks) Put(ctx context.Context, ask fleet.Ask) error {
	return a.l.change(ctx, func(ctx context.Context) error { return a.Asks.Put(ctx, ask) })
}

func (a lineAsks) Wait(ctx context.Context, task, id string) (fleet.Answer, error) {
	return over(ctx, a.l, func(ctx context.Context) (fleet.Answer, error) { return a.Asks.Wait(ctx, task, id) })
}

func (a lineAsks) Answer(ctx context.Context, task, id string, answer fleet.Answer) error {
	return a.l.change(ctx, func(ctx context.Context) error { return a.Asks.Answer(ctx, task, id, answer) })
}

func (a lineAsks) Open(ctx context.Context, task string) iter.Seq2[fleet.Ask, error] {
	return sequence(ctx, a.l, func(ctx context.Context) iter.Seq2[fleet.Ask, error] { return a.Asks.Open(ctx, task) })
}

func (a lineAsks) Remove(ctx context.Context, task string) error {
	return a.l.change(ctx, func(ctx context.Context) error { return a.Asks.Remove(ctx, task) })
}

// lineBus is a bus behind a line. A task that is served over a line that is cut is out of reach.
type lineBus struct {
	fleet.Bus
	l *Line
}

func (b lineBus) Publish(ctx context.Context, id string, data []byte) error {
	return b.l.change(ctx, func(ctx context.Context) error { return b.Bus.Publish(ctx, id, data) })
}

func (b lineBus) Listen(ctx context.Context, id string) iter.Seq2[[]byte, error] {
	return sequence(ctx, b.l, func(ctx context.Context) iter.Seq2[[]byte, error] { return b.Bus.Listen(ctx, id) })
}

func (b lineBus) Serve(ctx context.Context, id string, handle func(ctx context.Context, request []byte) []byte) (func(),
	error) {
	return over(ctx, b.l, func(context.Context) (func(), error) {
		return b.Bus.Serve(ctx, id, func(ctx context.Context, request []byte) []byte {
			_, done, err := b.l.begin(ctx)
			if err != nil {
				return nil
			}
			defer done()
			return handle(ctx, request)
		})
	})
}

func (b lineBus) Request(ctx context.Context, id string, request []byte) ([]byte, error) {
	return over(ctx, b.l, func(ctx context.Context) ([]byte, error) { return b.Bus.Request(ctx, id, request) })
}
