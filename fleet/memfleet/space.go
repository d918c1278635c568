package memfleet

import (
	"context"
	"iter"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/journal"
)

// tenant holds what belongs to one tenant.
type tenant struct {
	fleet.Tenant
	tasks    taskTable
	journals *journal.MemoryStore
	objects  objectTable
	bus      busTable
	asks     askTable
}

func newTenant(t fleet.Tenant) *tenant {
	return &tenant{
		Tenant:   t,
		tasks:    taskTable{records: map[string]*record{}},
		journals: journal.NewMemoryStore(true),
		objects:  objectTable{objects: map[string]object{}},
		bus:      busTable{listeners: map[*listener]bool{}, owners: map[string]*owner{}},
		asks:     askTable{tasks: map[string]map[string]*asked{}},
	}
}

// space implements [fleet.Space].
type space struct {
	e *Engine
	t *tenant
}

// Tasks implements [fleet.Space].
func (s space) Tasks() fleet.Tasks { return tasks{s.e, s.t, &s.t.tasks} }

// Journals implements [fleet.Space].
func (s space) Journals() journal.Store { return journals{s.t.journals, s.e} }

// Objects implements [fleet.Space].
func (s space) Objects() fleet.Objects { return objects{s.e, &s.t.objects} }

// Bus implements [fleet.Space].
func (s space) Bus() fleet.Bus { return bus{s.e, &s.t.bus} }

// Asks implements [fleet.Space].
func (s space) Asks() fleet.Asks { return asks{s.e, &s.t.asks} }

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
