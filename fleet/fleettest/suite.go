// Package fleettest checks that an engine of package fleet keeps its contract, for authors of
// engines.
//
// [Suite] is the whole check; a [Fleet] says how to open engines on a fleet that is checked.
//
// The checks use several engines on one fleet, as several machines would, and real time, in the
// unit of the Fleet. They pass on a slow machine, too: they wait until something expires, and what
// must not expire lasts for minutes. They do not check speed, who may connect to an engine, or
// workers.
package fleettest

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/attractor-go/attractor/fleet"
)

// Options says what fleet a check needs.
type Options struct {
	// Tenants holds the tenants; nil means [fleet.DefaultTenant] without limits.
	Tenants []fleet.Tenant
	// Limits bounds the model calls.
	Limits []fleet.SlotLimit
}

// Fleet is a fleet to check.
type Fleet struct {
	// Engine opens another engine on the fleet, as another machine would. It closes the engine when
	// the test ends, unless the check has closed it.
	Engine func(t *testing.T) fleet.Engine
	// Unit is a short time for the engine: claims and leases that expire in a check last for a few
	// of them.
	Unit time.Duration
	// Restart ends the fleet's server, as a crash does, and starts it again with what was durable.
	// The checks open new engines then. It is nil for a fleet that does not outlive its program.
	Restart func(t *testing.T)
}

// bound is how long a check may take. Whatever waits in a check ends then, and the check fails.
const bound = time.Minute

// long is a time that does not pass in a check.
const long = 10 * time.Minute

// check is one check of the suite.
type check struct {
	name    string
	run     func(t *tester)
	options Options
}

// Suite checks that the engines of a fleet keep the contract of package fleet. Fresh returns a new
// fleet, and is called for each check.
func Suite(t *testing.T, fresh func(t *testing.T, o Options) Fleet) {
	for _, c := range slices.Concat(taskChecks, claimChecks, leaseChecks, slotChecks, ledgerChecks, journalChecks,
		objectChecks, busChecks, askChecks, tenantChecks, durableChecks) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), bound)
			t.Cleanup(cancel)
			if len(c.options.Tenants) == 0 {
				c.options.Tenants = onlyTenant.Tenants
			}
			c.run(&tester{T: t, Fleet: fresh(t, c.options), ctx: ctx})
		})
	}
	t.Run("P4_Journals", func(t *testing.T) { journals(t, fresh) })
}

// onlyTenant is a fleet of a tenant without limits.
var onlyTenant = Options{Tenants: []fleet.Tenant{{Name: fleet.DefaultTenant}}}

// tester runs one check.
type tester struct {
	*testing.T
	Fleet
	ctx context.Context // ends after bound
}

// engine opens another engine.
func (t *tester) engine() fleet.Engine {
	t.Helper()
	return t.Fleet.Engine(t.T)
}

// space opens another engine and the space of a tenant there.
func (t *tester) space(tenant string) *fleet.Space {
	t.Helper()
	s, err := t.engine().Open(t.ctx, tenant)
	t.ok(err)
	return s
}

// own opens another engine and the space of the only tenant there.
func (t *tester) own() *fleet.Space {
	t.Helper()
	return t.space(fleet.DefaultTenant)
}

// lastError returns the error that ends a sequence.
func lastError[T any](seq iter.Seq2[T, error]) (last error) {
	for _, err := range seq {
		last = err
	}
	return last
}

// ok ends the check if there is an error.
func (t *tester) ok(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// is checks that an error is the one that is wanted.
func (t *tester) is(err, want error, what string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s = %v, want %v", what, err, want)
	}
}

// refused checks that there is an error.
func (t *tester) refused(err error, what string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s is no error", what)
	}
}

// short returns a context that ends soon, for calls that have to wait until it does.
func (t *tester) short() context.Context {
	ctx, cancel := context.WithTimeout(t.ctx, 10*t.Unit)
	t.Cleanup(cancel)
	return ctx
}

// eventually calls is until it returns true. It ends the check if that does not happen in time.
func (t *tester) eventually(what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(max(time.Millisecond, t.Unit/4))
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-t.ctx.Done():
			t.Fatalf("it does not happen that %s", what)
		}
	}
}

// in calls f for 0 to n-1, each on a goroutine of its own, and waits for all of them. They must not
// end the check.
func (t *tester) in(n int, f func(i int)) {
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() { f(i) })
	}
	calls.Wait()
}

// all returns the values of a sequence. An error ends the check.
func all[T any](t *tester, seq iter.Seq2[T, error]) []T {
	t.Helper()
	var list []T
	for v, err := range seq {
		t.ok(err)
		list = append(list, v)
	}
	return list
}

// follow reads a sequence that waits on a goroutine of its own. Next returns the next element, or
// false if the sequence has ended.
func follow[T any](t *tester, seq func(ctx context.Context) iter.Seq2[T, error]) (next func() (T, bool), stop func()) {
	ctx, cancel := context.WithCancel(t.ctx)
	elements := make(chan T)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(elements)
		for v, err := range seq(ctx) {
			if err != nil {
				if ctx.Err() == nil && !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("a sequence that waits ended with: %v", err)
				}
				return
			}
			select {
			case elements <- v:
			case <-ctx.Done():
				return
			}
		}
		if ctx.Err() == nil {
			t.Error("a sequence that waits ended without an error, and before its context")
		}
	}()
	stop = func() { cancel(); <-ended }
	t.Cleanup(stop)
	return func() (T, bool) { v, ok := <-elements; return v, ok }, stop
}
