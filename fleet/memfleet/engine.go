package memfleet

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/fleet"
)

// Options says who has tasks in a fleet, and what bounds it.
type Options struct {
	// Tenants holds the tenants. Without any there is one, [fleet.DefaultTenant], which may take
	// all.
	Tenants []fleet.Tenant
	// Limits bounds model calls.
	Limits []fleet.SlotLimit
}

// Engine is a [fleet.Engine] in memory.
type Engine struct {
	all    *tables
	life   context.Context // ends with Close
	end    context.CancelFunc
	leases leases
	slots  slots
}

// tables holds what the engines of a fleet share.
type tables struct {
	tenants map[string]*tenant
	leases  leaseTable
	slots   *slotTable
	ledgers ledgerTable
}

var errClosed = fmt.Errorf("memfleet: the engine is closed: %w", fs.ErrClosed)

// New returns an engine on a new fleet.
func New(o Options) *Engine {
	if len(o.Tenants) == 0 {
		o.Tenants = []fleet.Tenant{{Name: fleet.DefaultTenant}}
	}
	all := &tables{tenants: map[string]*tenant{}, leases: leaseTable{leases: map[string]*lease{}},
		slots:   newSlotTable(o.Limits),
		ledgers: ledgerTable{accounts: map[string]*account{}}}
	for _, t := range o.Tenants {
		all.tenants[t.Name] = newTenant(t)
	}
	return (&Engine{all: all}).Share()
}

// Share returns another engine on the same fleet, as another machine has one.
func (e *Engine) Share() *Engine {
	other := &Engine{all: e.all}
	other.life, other.end = context.WithCancel(context.Background())
	other.leases, other.slots = leases{other, &e.all.leases}, slots{other, e.all.slots}
	return other
}

// Tenants implements [fleet.Engine].
func (e *Engine) Tenants(ctx context.Context) ([]fleet.Tenant, error) {
	var list []fleet.Tenant
	for _, t := range e.all.tenants {
		list = append(list, t.Tenant)
	}
	slices.SortFunc(list, func(a, b fleet.Tenant) int { return cmp.Compare(a.Name, b.Name) })
	return list, e.check(ctx)
}

// Open implements [fleet.Engine].
func (e *Engine) Open(ctx context.Context, name string) (fleet.Space, error) {
	if err := e.check(ctx); err != nil {
		return nil, err
	}
	t := e.all.tenants[name]
	if t == nil {
		return nil, fmt.Errorf("memfleet: there is no tenant %q: %w", name, fs.ErrNotExist)
	}
	return space{e, t}, nil
}

// Leases implements [fleet.Engine].
func (e *Engine) Leases() fleet.Leases { return e.leases }

// Slots implements [fleet.Engine].
func (e *Engine) Slots() fleet.Slots { return e.slots }

// Ledger implements [fleet.Engine].
func (e *Engine) Ledger(scope string, budget agent.Budget) agent.Ledger {
	return ledger{e, &e.all.ledgers, scope, budget}
}

// Close implements [fleet.Engine]. It gives back the slots that were taken through this engine, as
// the death of its machine does, and ends what waits. Leases and claims go on to their ends.
func (e *Engine) Close() error {
	e.end()
	e.slots.releaseAll()
	return nil
}

// check returns why a call cannot begin.
func (e *Engine) check(ctx context.Context) error {
	if e.life.Err() != nil {
		return errClosed
	}
	return ctx.Err()
}

// within returns a context for a call that waits: it ends with ctx and with the engine.
func (e *Engine) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(e.life, func() { end(errClosed) })
	return ctx, func() { stop(); end(nil) }
}

// ended returns why a context of within has ended, or nil.
func ended(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), errClosed) {
		return errClosed
	}
	return ctx.Err()
}

// clone returns a copy that shares nothing with v. It goes through JSON, as it does in every other
// engine.
func clone[T any](v T) (T, error) {
	var c T
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	return c, err
}
