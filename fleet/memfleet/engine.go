package memfleet

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/internal/engine"
	"github.com/attractor-go/attractor/journal"
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
	fleet   *shared
	life    context.Context // ends with Close
	end     context.CancelFunc
	leases  fleet.Leases
	slots   fleet.Slots
	ledgers *engine.Ledgers
}

// shared holds what the engines of a fleet share.
type shared struct {
	operator *engine.Memory
	limits   []fleet.SlotLimit
	tenants  map[string]*tenant
}

// slotHold is how long a slot stays taken whose engine was closed.
const slotHold = 3 * time.Second

// New returns an engine on a new fleet.
func New(o Options) *Engine {
	if len(o.Tenants) == 0 {
		o.Tenants = []fleet.Tenant{{Name: fleet.DefaultTenant}}
	}
	all := &shared{engine.NewMemory(), o.Limits, map[string]*tenant{}}
	for _, t := range o.Tenants {
		all.tenants[t.Name] = newTenant(t)
	}
	return (&Engine{fleet: all}).Share()
}

// Share returns another engine on the same fleet, as another machine would have.
func (e *Engine) Share() *Engine {
	other := &Engine{fleet: e.fleet}
	other.life, other.end = context.WithCancel(context.Background())
	table := e.fleet.operator.Open(other.life)
	other.leases, other.ledgers = engine.NewLeases(table), engine.NewLedgers(table)
	other.slots = engine.NewSlots(table, e.fleet.limits, slotHold)
	return other
}

// Tenants implements [fleet.Engine].
func (e *Engine) Tenants(ctx context.Context) ([]fleet.Tenant, error) {
	var list []fleet.Tenant
	for _, t := range e.fleet.tenants {
		list = append(list, t.Tenant)
	}
	slices.SortFunc(list, func(a, b fleet.Tenant) int { return cmp.Compare(a.Name, b.Name) })
	return list, e.check(ctx)
}

// Open implements [fleet.Engine].
func (e *Engine) Open(ctx context.Context, name string) (*fleet.Space, error) {
	if err := e.check(ctx); err != nil {
		return nil, err
	}
	t := e.fleet.tenants[name]
	if t == nil {
		return nil, fmt.Errorf("memfleet: there is no tenant %q: %w", name, fs.ErrNotExist)
	}
	return e.space(t), nil
}

// Leases implements [fleet.Engine].
func (e *Engine) Leases() fleet.Leases { return e.leases }

// Slots implements [fleet.Engine].
func (e *Engine) Slots() fleet.Slots { return e.slots }

// Ledger implements [fleet.Engine].
func (e *Engine) Ledger(scope string, budget agent.Budget) agent.Ledger {
	return e.ledgers.Open(scope, budget)
}

// Close implements [fleet.Engine]. It ends what waits, as the death of its machine does. Leases and
// claims go on to their ends, and so do slots.
func (e *Engine) Close() error {
	e.end()
	return nil
}

func (e *Engine) check(ctx context.Context) error { return engine.Begins(ctx, e.life) }

// within returns a context for a call that waits: it ends with ctx and with the engine.
func (e *Engine) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	stop := context.AfterFunc(e.life, func() { end(engine.ErrClosed) })
	return ctx, func() { stop(); end(nil) }
}

// tenant holds what belongs to one tenant.
type tenant struct {
	fleet.Tenant
	records  *engine.Memory // tasks and asks
	queue    *engine.MemoryQueue
	journals *journal.MemoryStore
	objects  objectTable
	bus      busTable
}

func newTenant(t fleet.Tenant) *tenant {
	return &tenant{
		Tenant:   t,
		records:  engine.NewMemory(),
		queue:    engine.NewMemoryQueue(t.Limit),
		journals: journal.NewMemoryStore(true),
		objects:  objectTable{objects: map[string]object{}},
		bus:      busTable{listeners: map[*listener]bool{}, owners: map[string]*owner{}},
	}
}

// space returns the space of a tenant in this engine.
func (e *Engine) space(t *tenant) *fleet.Space {
	table, objects := t.records.Open(e.life), objects{e, &t.objects}
	s := &fleet.Space{Journals: journals{t.journals, e}, Objects: objects, Bus: bus{e, &t.bus},
		Asks: engine.NewAsks(table)}
	s.Tasks = engine.NewTasks(table, t.queue.Open(e.life), t.Tenant, s.Journals, objects, s.Asks)
	return s
}

// journals is a store that is closed with its engine. Logs that are open remain so: a writer ends
// when another opens its log.
type journals struct {
	journal.Store
	e *Engine
}

// Create implements [journal.Store].
func (s journals) Create(ctx context.Context, id string) (journal.Log, error) {
	if err := s.e.check(ctx); err != nil {
		return nil, err
	}
	return s.Store.Create(ctx, id)
}

// Open implements [journal.Store].
func (s journals) Open(ctx context.Context, id string) (journal.Log, error) {
	if err := s.e.check(ctx); err != nil {
		return nil, err
	}
	return s.Store.Open(ctx, id)
}

// Follow implements [journal.Store].
func (s journals) Follow(ctx context.Context, id string, from int64) iter.Seq2[journal.Record, error] {
	return func(yield func(journal.Record, error) bool) {
		ctx, done := s.e.within(ctx)
		defer done()
		s.Store.Follow(ctx, id, from)(yield)
	}
}
