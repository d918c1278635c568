package natsfleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/fleet/internal/engine"
)

// space is the space of a tenant, with the account that has it.
type space struct {
	fleet.Space
	account *account
	queue   *queue
}

// newSpace opens the parts of a space and makes missing streams, all at the same time: in a cluster
// each stream takes a while.
func newSpace(ctx context.Context, a *account) (*space, error) {
	s := &space{account: a, Space: fleet.Space{Bus: newBus(a)}}
	var objects *objects
	var tasks *records
	var errs [5]error
	parts := []func() error{
		func() (err error) { s.Journals, err = newJournals(ctx, a); return named("the journals", err) },
		func() (err error) { objects, err = newObjects(ctx, a); return named("the objects", err) },
		func() (err error) { s.queue, err = newQueue(ctx, a); return named("the queue", err) },
		func() (err error) {
			asks, err := newRecords(ctx, a, "asks", "ask.*.*", "answer.*.*")
			s.Asks = engine.NewAsks(asks)
			return named("the asks", err)
		},
		func() (err error) {
			tasks, err = newRecords(ctx, a, "tasks", "task.*.*")
			return named("the tasks", err)
		},
	}
	each(len(parts), func(i int) { errs[i] = parts[i]() })
	err := errors.Join(errs[:]...)
	if err != nil {
		return nil, err
	}
	s.Objects = objects
	s.Tasks = engine.NewTasks(tasks, s.queue, a.limits, s.Journals, objects, s.Asks)
	return s, nil
}

// named adds to an error what it is about. It returns nil for nil.
func named(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
