package memfleet

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/attractor-go/attractor/fleet"
)

// leaseTable holds the last lease of each worker.
type leaseTable struct {
	monitor
	leases map[string]*lease // by the worker's name
}

// leases implements [fleet.Leases].
type leases struct {
	e *Engine
	*leaseTable
}

// lease implements [fleet.Lease].
type lease struct {
	e   *Engine
	t   *leaseTable
	ttl time.Duration

	// The lock of the table guards these.
	info     fleet.WorkerInfo
	until    time.Time // the zero time once it was released
	draining bool
}

// holds reports whether the lease has not ended. The caller holds the lock.
func (l *lease) holds(now time.Time) bool { return l != nil && now.Before(l.until) }

// Acquire implements [fleet.Leases].
func (s leases) Acquire(ctx context.Context, w fleet.WorkerInfo, ttl time.Duration) (fleet.Lease, error) {
	if err := s.e.check(ctx); err != nil {
		return nil, err
	}
	s.Lock()
	defer s.Unlock()
	now := time.Now()
	if s.leases[w.Name].holds(now) {
		return nil, fmt.Errorf("worker %s: %w", w.Name, fleet.ErrLost)
	}
	l := &lease{e: s.e, t: s.leaseTable, ttl: ttl, info: w, until: now.Add(ttl)}
	s.leases[w.Name] = l
	return l, nil
}

// List implements [fleet.Leases].
func (s leases) List(ctx context.Context) ([]fleet.WorkerInfo, error) {
	if err := s.e.check(ctx); err != nil {
		return nil, err
	}
	s.Lock()
	defer s.Unlock()
	var list []fleet.WorkerInfo
	for _, l := range s.leases {
		if l.holds(time.Now()) {
			w := l.info
			w.Draining = w.Draining || l.draining
			list = append(list, w)
		}
	}
	slices.SortFunc(list, func(a, b fleet.WorkerInfo) int { return cmp.Compare(a.Name, b.Name) })
	return list, nil
}

// Drain implements [fleet.Leases].
func (s leases) Drain(ctx context.Context, worker string) error {
	if err := s.e.check(ctx); err != nil {
		return err
	}
	s.Lock()
	defer s.Unlock()
	l := s.leases[worker]
	if !l.holds(time.Now()) {
		return fmt.Errorf("fleet: there is no worker %.200q: %w", worker, fs.ErrNotExist)
	}
	l.draining = true
	return nil
}

// Renew implements [fleet.Lease].
func (l *lease) Renew(ctx context.Context, w fleet.WorkerInfo) error {
	if err := l.e.check(ctx); err != nil {
		return err
	}
	l.t.Lock()
	defer l.t.Unlock()
	now := time.Now()
	if l.t.leases[l.info.Name] != l || !l.holds(now) {
		return fmt.Errorf("worker %s: %w", l.info.Name, fleet.ErrLost)
	}
	w.Name = l.info.Name
	l.info, l.until = w, now.Add(l.ttl)
	return nil
}

// Until implements [fleet.Lease].
func (l *lease) Until() time.Time {
	l.t.Lock()
	defer l.t.Unlock()
	return l.until
}

// Draining implements [fleet.Lease].
func (l *lease) Draining() bool {
	l.t.Lock()
	defer l.t.Unlock()
	return l.draining
}

// Release implements [fleet.Lease].
func (l *lease) Release(ctx context.Context) error {
	if err := l.e.check(ctx); err != nil {
		return err
	}
	l.t.Lock()
	defer l.t.Unlock()
	l.until = time.Time{}
	if l.t.leases[l.info.Name] == l {
		delete(l.t.leases, l.info.Name)
	}
	return nil
}
