package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// The defaults of a Worker.
const (
	defaultSlots     = 4
	defaultTTL       = 10 * time.Second
	defaultGrace     = time.Minute
	defaultMaxDeaths = 3
)

// tenantsEvery is how often a worker looks for other tenants, and for changes of theirs.
const tenantsEvery = 30 * time.Second

// running is a worker that runs.
type running struct {
	Worker
	lease  Lease
	shares *shares
	spaces map[string]*Space // by tenant; used by one goroutine at a time
	outage outages
	good   sync.Map     // by provider, when it last answered
	busy   atomic.Int64 // how many slots have a task

	// life ends when nothing may have an effect any more: with ErrLost, or with nil after
	// everything. Claiming ends with life, with the context of Run, and when the worker is drained.
	life     context.Context
	end      context.CancelCauseFunc
	claiming context.Context
	drain    context.CancelFunc
}

// start takes the lease.
func (w *Worker) start(ctx context.Context) (*running, error) {
	r := &running{Worker: *w, spaces: map[string]*Space{}}
	r.Slots, r.MaxDeaths = cmp.Or(w.Slots, defaultSlots), cmp.Or(w.MaxDeaths, defaultMaxDeaths)
	r.TTL, r.Grace = cmp.Or(w.TTL, defaultTTL), cmp.Or(w.Grace, defaultGrace)
	r.shares = newShares(r.TTL / 4) // much of a claim's hold is left after the wait for it
	if r.Logger == nil {
		r.Logger = slog.New(slog.DiscardHandler)
	}
	if r.Name == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "worker"
		}
		r.Name = host + "-" + uuid.NewString()[:8]
	}
	if err := r.loadTenants(ctx); err != nil {
		return nil, err
	}
	if err := r.acquire(ctx); err != nil {
		return nil, err
	}
	r.life, r.end = context.WithCancelCause(context.WithoutCancel(ctx))
	r.claiming, r.drain = context.WithCancel(ctx)
	context.AfterFunc(r.life, r.drain)
	return r, nil
}

// acquire takes the lease. A lease of this name that nobody renews, such as that of a killed
// process, ends within its time; a worker that lives keeps its own, and the error is ErrLost.
func (r *running) acquire(ctx context.Context) error {
	began := time.Now()
	for {
		lease, err := r.Engine.Leases().Acquire(ctx, r.info(), r.TTL)
		switch {
		case err == nil:
			r.lease = lease
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, ErrLost) && time.Since(began) > 2*r.TTL:
			return fmt.Errorf("the worker %s is running elsewhere: %w", r.Name, err)
		}
		r.Logger.Debug("lease not acquired", "worker", r.Name, "error", err)
		if !pause(ctx, r.TTL/10) {
			return context.Cause(ctx)
		}
	}
}

// info returns the current description of the worker.
func (r *running) info() WorkerInfo {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	return WorkerInfo{Name: r.Name, Host: host, Slots: r.Slots, Running: int(r.busy.Load()),
		Draining: r.claiming != nil && r.claiming.Err() != nil, Since: r.since}
}

// run keeps the lease and fills the slots until claiming has ended and every slot is empty.
func (r *running) run() error {
	r.Logger.Info("worker started", "worker", r.Name, "slots", r.Slots)
	var keepers, slots sync.WaitGroup
	keepers.Go(r.keepLease)
	keepers.Go(r.keepTenants)
	for range r.Slots {
		slots.Go(r.fillSlot)
	}
	slots.Wait()
	if r.lapsed() {
		r.end(ErrLost)
	}
	lost := context.Cause(r.life)
	r.end(nil)
	keepers.Wait()
	if lost != nil {
		r.Logger.Warn("worker lost its lease", "worker", r.Name)
		return fmt.Errorf("the worker %s has ended: %w", r.Name, lost)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.life), r.TTL)
	defer cancel()
	if err := r.lease.Release(ctx); err != nil {
		r.Logger.Warn("lease not released; it ends by itself", "worker", r.Name, "error", err)
	}
	r.Logger.Info("worker ended", "worker", r.Name)
	return nil
}

// keepLease renews the lease until life ends. Errors are tolerated up to the lease's end, at which
// life ends, too.
func (r *running) keepLease() {
	for r.life.Err() == nil {
		ctx, cancel := context.WithDeadline(r.life, r.lease.Until())
		err := r.lease.Renew(ctx, r.info())
		cancel()
		switch {
		case r.life.Err() != nil:
			return
		case errors.Is(err, ErrLost), r.lapsed():
			r.end(ErrLost)
			return
		case err != nil:
			r.Logger.Warn("lease not renewed", "worker", r.Name, "error", err)
			pause(r.life, min(r.TTL/20, time.Until(r.lease.Until())))
			continue
		}
		if r.lease.Draining() {
			r.drain()
		}
		pause(r.life, r.TTL/3)
	}
}

// lapsed reports whether the lease has ended by this machine's clock.
func (r *running) lapsed() bool { return !time.Now().Before(r.lease.Until()) }

// fillSlot claims and runs one task after the other until claiming ends.
func (r *running) fillSlot() {
	for r.claiming.Err() == nil && !r.lapsed() {
		sh, wait, change := r.shares.next()
		if sh == nil {
			select {
			case <-change:
			case <-r.claiming.Done():
			}
			continue
		}
		claim, err := r.claim(sh, wait)
		r.shares.done(sh, err == nil)
		if err != nil {
			if !errors.Is(err, context.DeadlineExceeded) && r.claiming.Err() == nil {
				r.Logger.Warn("no claim", "tenant", r.shares.tenant(sh).Name, "error", err)
				pause(r.claiming, r.TTL/10)
			}
			continue
		}
		r.busy.Add(1)
		newJob(r, sh.space, r.shares.tenant(sh), claim).run()
		r.busy.Add(-1)
	}
}

// claim waits for a task of a tenant.
func (r *running) claim(sh *share, wait time.Duration) (Claim, error) {
	ctx, cancel := context.WithTimeout(r.claiming, wait)
	defer cancel()
	claim, err := sh.space.Tasks.Claim(ctx, r.Name, r.TTL)
	if err != nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	return claim, err
}

// keepTenants reads the tenants again from time to time until claiming ends.
func (r *running) keepTenants() {
	for pause(r.claiming, tenantsEvery) {
		if err := r.loadTenants(r.claiming); err != nil && r.claiming.Err() == nil {
			r.Logger.Warn("tenants unknown", "error", err)
		}
	}
}

// loadTenants reads the tenants that the worker serves, and opens their spaces. After an error of
// one tenant it goes on with the others.
func (r *running) loadTenants(ctx context.Context) error {
	tenants, err := r.Engine.Tenants(ctx)
	if err != nil {
		return fmt.Errorf("the tenants of the fleet: %w", err)
	}
	var errs []error
	for _, name := range r.Tenants {
		if !slices.ContainsFunc(tenants, func(t Tenant) bool { return t.Name == name }) {
			errs = append(errs, fmt.Errorf("the fleet has no tenant %q", name))
		}
	}
	// A tenant that comes back is opened anew: the servers have refused its old connection.
	maps.DeleteFunc(r.spaces, func(name string, _ *Space) bool {
		return !slices.ContainsFunc(tenants, func(t Tenant) bool { return t.Name == name })
	})
	var serves []Tenant
	for _, t := range tenants {
		if r.Tenants != nil && !slices.Contains(r.Tenants, t.Name) {
			continue
		}
		if r.spaces[t.Name] == nil {
			space, err := r.Engine.Open(ctx, t.Name)
			if err != nil {
				errs = append(errs, fmt.Errorf("the tenant %s: %w", t.Name, err))
				continue
			}
			r.spaces[t.Name] = space
		}
		serves = append(serves, t)
	}
	r.shares.set(r.spaces, serves)
	return errors.Join(errs...)
}

// pause waits for some time, and reports whether ctx has not ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
