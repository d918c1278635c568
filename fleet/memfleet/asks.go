package memfleet

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"time"

	"github.com/attractor-go/attractor/fleet"
)

// askTable holds the asks of a tenant.
type askTable struct {
	monitor
	tasks map[string]map[string]*asked // by task and id
}

// asked is an ask and its answer.
type asked struct {
	ask    fleet.Ask
	answer *fleet.Answer // nil for none yet
}

// asks implements [fleet.Asks].
type asks struct {
	e *Engine
	*askTable
}

// find returns an ask. The caller holds the lock.
func (t *askTable) find(task, id string) (*asked, error) {
	if a := t.tasks[task][id]; a != nil {
		return a, nil
	}
	return nil, fmt.Errorf("fleet: task %.200q asks nothing by the id %.200q: %w", task, id, fs.ErrNotExist)
}

// Put implements [fleet.Asks].
func (s asks) Put(ctx context.Context, a fleet.Ask) error {
	if err := s.e.check(ctx); err != nil {
		return err
	}
	kept, err := clone(a)
	if err != nil {
		return err
	}
	s.Lock()
	defer s.Unlock()
	if s.tasks[a.Task] == nil {
		s.tasks[a.Task] = map[string]*asked{}
	}
	if s.tasks[a.Task][a.ID] == nil {
		s.tasks[a.Task][a.ID] = &asked{ask: kept}
	}
	return nil
}

// Wait implements [fleet.Asks].
func (s asks) Wait(ctx context.Context, task, id string) (fleet.Answer, error) {
	ctx, done := s.e.within(ctx)
	defer done()
	s.Lock()
	defer s.Unlock()
	for {
		if err := ended(ctx); err != nil {
			return fleet.Answer{}, err
		}
		a, err := s.find(task, id)
		if err != nil {
			return fleet.Answer{}, err
		}
		if a.answer != nil {
			return clone(*a.answer)
		}
		if err := s.wait(ctx, time.Time{}); err != nil {
			return fleet.Answer{}, err
		}
	}
}

// Answer implements [fleet.Asks].
func (s asks) Answer(ctx context.Context, task, id string, answer fleet.Answer) error {
	if err := s.e.check(ctx); err != nil {
		return err
	}
	kept, err := clone(answer)
	if err != nil {
		return err
	}
	s.Lock()
	defer s.Unlock()
	a, err := s.find(task, id)
	if err != nil {
		return err
	}
	if a.answer == nil {
		a.answer = &kept
		s.changed()
		return nil
	}
	if !a.answer.Same(kept) {
		return fmt.Errorf("ask %.200q of task %.200q: %w", id, task, fleet.ErrAnswered)
	}
	return nil
}

// Open implements [fleet.Asks].
func (s asks) Open(ctx context.Context, task string) iter.Seq2[fleet.Ask, error] {
	return func(yield func(fleet.Ask, error) bool) {
		if err := s.e.check(ctx); err != nil {
			yield(fleet.Ask{}, err)
			return
		}
		for _, a := range s.open(task) {
			if !yield(clone(a)) {
				return
			}
		}
	}
}

func (t *askTable) open(task string) []fleet.Ask {
	t.Lock()
	defer t.Unlock()
	var list []fleet.Ask
	for id, asks := range t.tasks {
		for _, a := range asks {
			if (task == "" || id == task) && a.answer == nil {
				list = append(list, a.ask)
			}
		}
	}
	slices.SortFunc(list, func(a, b fleet.Ask) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Task, b.Task), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// Remove implements [fleet.Asks].
func (s asks) Remove(ctx context.Context, task string) error {
	if err := s.e.check(ctx); err != nil {
		return err
	}
	s.removeTask(task)
	return nil
}

// removeTask removes the asks of a task. Those who wait for an answer learn that there will be
// none.
func (t *askTable) removeTask(task string) {
	t.Lock()
	defer t.Unlock()
	delete(t.tasks, task)
	t.changed()
}
