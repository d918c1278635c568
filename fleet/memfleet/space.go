package memfleet

import (
	"context"
	"iter"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/internal/engine"
	"github.com/attractor-go/attractor/journal"
)

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
	s := &fleet.Space{Journals: journals{t.journals, e}, Objects: objects, Bus: bus{e, &t.bus}, Asks: engine.NewAsks(table)}
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
