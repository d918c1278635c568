package fleet_test

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/journal"
)

var errCut = errors.New("the network is gone")

// cutEngine is a machine's way to the fleet, which can be cut. What was on its way to a worker,
// such as an answer of the model, comes all the same.
type cutEngine struct {
	fleet.Engine
	loses    int64 // the answer of each call of that number is lost; 0 is none
	calls    atomic.Int64
	cut      atomic.Bool
	noFinish atomic.Bool // a final status does not get through
	noExtend atomic.Bool // claims are not extended
	extended atomic.Int64
	opened   atomic.Int64 // how often a journal was opened, or made
}

func (e *cutEngine) err() error {
	if e.cut.Load() {
		return errCut
	}
	return nil
}

// call makes a call whose answer may be lost.
func (e *cutEngine) call(do func() error) error {
	if err := e.err(); err != nil {
		return err
	}
	err := do()
	if err == nil && e.loses > 0 && e.calls.Add(1)%e.loses == 0 {
		return errCut
	}
	return err
}

func (e *cutEngine) Leases() fleet.Leases { return cutLeases{e.Engine.Leases(), e} }

func (e *cutEngine) Open(ctx context.Context, tenant string) (*fleet.Space, error) {
	s, err := e.Engine.Open(ctx, tenant)
	if err != nil {
		return nil, err
	}
	cut := *s
	cut.Tasks, cut.Journals = cutTasks{s.Tasks, e}, cutJournals{s.Journals, e}
	return &cut, nil
}

type cutLeases struct {
	fleet.Leases
	e *cutEngine
}

func (l cutLeases) Acquire(ctx context.Context, w fleet.WorkerInfo, ttl time.Duration) (fleet.Lease, error) {
	lease, err := l.Leases.Acquire(ctx, w, ttl)
	return cutLease{lease, l.e}, err
}

type cutLease struct {
	fleet.Lease
	e *cutEngine
}

func (l cutLease) Renew(ctx context.Context, w fleet.WorkerInfo) error {
	return l.e.call(func() error { return l.Lease.Renew(ctx, w) })
}

type cutTasks struct {
	fleet.Tasks
	e *cutEngine
}

func (t cutTasks) Claim(ctx context.Context, worker string, hold time.Duration) (fleet.Claim, error) {
	if err := t.e.err(); err != nil {
		return nil, err
	}
	c, err := t.Tasks.Claim(ctx, worker, hold)
	if err != nil {
		return nil, err
	}
	return cutClaim{c, t.e}, nil
}

type cutClaim struct {
	fleet.Claim
	e *cutEngine
}

func (c cutClaim) Extend(ctx context.Context) error {
	if err := c.e.err(); err != nil || c.e.noExtend.Load() {
		return errCut
	}
	c.e.extended.Add(1)
	return c.e.call(func() error { return c.Claim.Extend(ctx) })
}

func (c cutClaim) Update(ctx context.Context, s fleet.Status) error {
	return c.e.call(func() error { return c.Claim.Update(ctx, s) })
}

func (c cutClaim) Return(ctx context.Context, s fleet.Status) error {
	return c.e.call(func() error { return c.Claim.Return(ctx, s) })
}

func (c cutClaim) Finish(ctx context.Context, s fleet.Status) error {
	if err := c.e.err(); err != nil || c.e.noFinish.Load() {
		c.e.cut.Store(true)
		return errCut
	}
	return c.e.call(func() error { return c.Claim.Finish(ctx, s) })
}

// cutJournals holds journals to which a cut machine can still append: the fence and the lease have
// to keep it from that.
type cutJournals struct {
	journal.Store
	e *cutEngine
}

func (j cutJournals) Open(ctx context.Context, id string) (journal.Log, error) {
	j.e.opened.Add(1)
	return j.Store.Open(ctx, id)
}

func (j cutJournals) Create(ctx context.Context, id string) (journal.Log, error) {
	j.e.opened.Add(1)
	return j.Store.Create(ctx, id)
}
