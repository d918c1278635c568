package command

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/memfleet"
)

// losing is an engine whose leases are lost after a while.
type losing struct {
	fleet.Engine
	after    time.Duration
	acquired atomic.Int64
}

func (e *losing) Leases() fleet.Leases { return &losingLeases{e.Engine.Leases(), e} }

type losingLeases struct {
	fleet.Leases
	engine *losing
}

func (l *losingLeases) Acquire(ctx context.Context, w fleet.WorkerInfo, ttl time.Duration) (fleet.Lease, error) {
	l.engine.acquired.Add(1)
	lease, err := l.Leases.Acquire(ctx, w, ttl)
	return &losingLease{lease, time.Now().Add(l.engine.after)}, err
}

type losingLease struct {
	fleet.Lease
	lost time.Time
}

func (l *losingLease) Renew(ctx context.Context, w fleet.WorkerInfo) error {
	if time.Now().After(l.lost) {
		return fleet.ErrLost
	}
	return l.Lease.Renew(ctx, w)
}

type noWorkspaces struct{}

func (noWorkspaces) Open(context.Context, fleet.Task, fleet.Objects, *fleet.WorkspacePoint) (fleet.Workspace, error) {
	return nil, errors.ErrUnsupported
}

// A worker that has lost its lease begins anew, unless that happens right after it has begun.
func TestP4_WorkersBeginAnew(t *testing.T) {
	for _, test := range []struct {
		after time.Duration
		anew  bool
	}{{time.Minute, true}, {time.Second, false}} {
		synctest.Test(t, func(t *testing.T) {
			var stderr strings.Builder
			e := &losing{Engine: memfleet.New(memfleet.Options{Tenants: []fleet.Tenant{{Name: fleet.DefaultTenant}}}),
				after: test.after}
			w := &fleet.Worker{Engine: e, Slots: 1, TTL: 10 * time.Second, Workspaces: noWorkspaces{},
				Host: func(context.Context, *fleet.Job) (fleet.Hosted, error) {
					return fleet.Hosted{},
						errors.ErrUnsupported
				}}
			ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
			defer cancel()
			err := (&program{err: &stderr}).keepRunning(ctx, w)
			n := e.acquired.Load()
			if anew := n > 1; anew != test.anew || errors.Is(err, fleet.ErrLost) == test.anew ||
				strings.Contains(stderr.String(), "begins anew in 5s") != test.anew {
				t.Errorf("with a lease of %v it began %d times and ended with %v: %s", test.after, n, err, &stderr)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
