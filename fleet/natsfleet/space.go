package natsfleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/internal/engine"
	"github.com/attractor-go/attractor/journal"
)

// space implements [fleet.Space] in a tenant's account.
type space struct {
	account  *account
	records  *records // of the tasks
	queue    *queue
	tasks    fleet.Tasks
	journals journal.Store
	objects  fleet.Objects
	bus      fleet.Bus
	asks     fleet.Asks
}

// newSpace opens the parts of a space and makes missing streams, all at the same time: in a cluster
// each stream takes a while.
func newSpace(ctx context.Context, a *account) (*space, error) {
	s := &space{account: a, bus: newBus(a)}
	var objects *objects
	var errs [5]error
	parts := []func() error{
		func() (err error) { s.journals, err = newJournals(ctx, a); return named("the journals", err) },
		func() (err error) { objects, err = newObjects(ctx, a); return named("the objects", err) },
		func() (err error) { s.queue, err = newQueue(ctx, a); return named("the queue", err) },
		func() (err error) {
			asks, err := newRecords(ctx, a, "asks", "ask.*.*", "answer.*.*")
			s.asks = engine.NewAsks(asks)
			return named("the asks", err)
		},
		func() (err error) {
			s.records, err = newRecords(ctx, a, "tasks", "task.*.*")
			return named("the tasks", err)
		},
	}
	each(len(parts), func(i int) { errs[i] = parts[i]() })
	err := errors.Join(errs[:]...)
	if err != nil {
		return nil, err
	}
	s.objects = objects
	s.tasks = engine.NewTasks(s.records, s.queue, a.limits, s.journals, objects, s.asks)
	return s, nil
}

// named adds to an error what it is about. It returns nil for nil.
func named(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Tasks implements [fleet.Space].
func (s *space) Tasks() fleet.Tasks { return s.tasks }

// Journals implements [fleet.Space].
func (s *space) Journals() journal.Store { return s.journals }

// Objects implements [fleet.Space].
func (s *space) Objects() fleet.Objects { return s.objects }

// Bus implements [fleet.Space].
func (s *space) Bus() fleet.Bus { return s.bus }

// Asks implements [fleet.Space].
func (s *space) Asks() fleet.Asks { return s.asks }
