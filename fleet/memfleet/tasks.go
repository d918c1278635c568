package memfleet

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/journal"
)

// taskTable holds the tasks of a tenant.
type taskTable struct {
	monitor
	records map[string]*record // by id
	queue   []*record          // those that are not final, in the order in which they were submitted
	version int64              // of the last status that was written
}

// record is a task and what has become of it.
type record struct {
	text     []byte // of the task: the same JSON is the same task
	status   fleet.Status
	version  int64     // of the status
	canceled bool      // Cancel was called
	claim    *claim    // the last one; only it may write
	held     bool      // the claim's holder has not given it back
	until    time.Time // by when that must happen
}

// set writes a status. The caller holds the lock.
func (t *taskTable) set(r *record, s fleet.Status) {
	t.version++
	r.status, r.version = s, t.version
	if s.State.Final() {
		t.queue = slices.DeleteFunc(t.queue, func(q *record) bool { return q == r })
	}
	t.changed()
}

// find returns the record of a task. The caller holds the lock.
func (t *taskTable) find(id string) (*record, error) {
	if r := t.records[id]; r != nil {
		return r, nil
	}
	return nil, fmt.Errorf("fleet: there is no task %.200q: %w", id, fs.ErrNotExist)
}

// tasks implements [fleet.Tasks].
type tasks struct {
	e *Engine
	t *tenant
	*taskTable
}

// Submit implements [fleet.Tasks].
func (s tasks) Submit(ctx context.Context, task fleet.Task) (fleet.Status, bool, error) {
	if task.Tenant == "" {
		task.Tenant = s.t.Name
	}
	if err := errors.Join(s.e.check(ctx), journal.CheckID(task.ID), s.own(task)); err != nil {
		return fleet.Status{}, false, err
	}
	text, err := json.Marshal(task)
	if err != nil {
		return fleet.Status{}, false, err
	}
	s.Lock()
	defer s.Unlock()
	r := s.records[task.ID]
	isNew := r == nil
	switch {
	case !isNew && !bytes.Equal(r.text, text):
		return fleet.Status{}, false, fmt.Errorf("task %s: %w", task.ID, fleet.ErrDifferent)
	case isNew && s.t.MaxQueued > 0 && len(s.queue) >= s.t.MaxQueued:
		return fleet.Status{}, false, &fleet.LimitError{Tenant: s.t.Name,
			What: fmt.Sprintf("%d tasks are waiting or running", len(s.queue))}
	case isNew:
		r = &record{text: text}
		s.records[task.ID] = r
		s.queue = append(s.queue, r)
		s.set(r, fleet.Status{ID: task.ID, Tenant: task.Tenant, State: fleet.Queued, Submitted: time.Now().UTC(),
			Labels: maps.Clone(task.Labels)})
	}
	status, err := clone(r.status)
	return status, isNew, err
}

// own checks that a task is of this tenant.
func (s tasks) own(t fleet.Task) error {
	if t.Tenant == s.t.Name {
		return nil
	}
	return fmt.Errorf("fleet: task %.200q is of tenant %.200q: it cannot be submitted for %s: %w", t.ID, t.Tenant,
		s.t.Name, fs.ErrInvalid)
}

// Get implements [fleet.Tasks].
func (s tasks) Get(ctx context.Context, id string) (task fleet.Task, status fleet.Status, err error) {
	if err := s.e.check(ctx); err != nil {
		return task, status, err
	}
	s.Lock()
	defer s.Unlock()
	r, err := s.find(id)
	if err != nil {
		return task, status, err
	}
	if err := json.Unmarshal(r.text, &task); err != nil {
		return task, status, err
	}
	status, err = clone(r.status)
	return task, status, err
}

// List implements [fleet.Tasks].
func (s tasks) List(ctx context.Context) iter.Seq2[fleet.Status, error] {
	return func(yield func(fleet.Status, error) bool) {
		s.Lock()
		list, err := s.since("", 0)
		s.Unlock()
		if err := errors.Join(s.e.check(ctx), err); err != nil {
			yield(fleet.Status{}, err)
			return
		}
		for _, r := range list {
			if !yield(r.status, nil) {
				return
			}
		}
	}
}

// since returns copies of what has changed after a version, of one task or, if id is empty, of all,
// the oldest change first. The caller holds the lock.
func (t *taskTable) since(id string, version int64) ([]record, error) {
	var list []record
	for _, r := range t.records {
		if r.version <= version || id != "" && r.status.ID != id {
			continue
		}
		status, err := clone(r.status)
		if err != nil {
			return nil, err
		}
		list = append(list, record{status: status, version: r.version})
	}
	slices.SortFunc(list, func(a, b record) int { return cmp.Compare(a.version, b.version) })
	return list, nil
}

// Watch implements [fleet.Tasks]. A watcher remembers the last version that it has seen. What
// changes twice before it looks again is yielded once.
func (s tasks) Watch(ctx context.Context, id string) iter.Seq2[fleet.Status, error] {
	return func(yield func(fleet.Status, error) bool) {
		ctx, done := s.e.within(ctx)
		defer done()
		for seen := int64(0); ; {
			list, err := s.news(ctx, id, seen)
			if err != nil {
				yield(fleet.Status{}, err)
				return
			}
			for _, r := range list {
				if !yield(r.status, nil) {
					return
				}
				seen = r.version
			}
		}
	}
}

// news waits until since returns something. The error for a task that is not there, or not any
// more, wraps fs.ErrNotExist.
func (s tasks) news(ctx context.Context, id string, version int64) ([]record, error) {
	s.Lock()
	defer s.Unlock()
	for {
		if err := ended(ctx); err != nil {
			return nil, err
		}
		if id != "" {
			if _, err := s.find(id); err != nil {
				return nil, err
			}
		}
		if list, err := s.since(id, version); err != nil || len(list) > 0 {
			return list, err
		}
		if err := s.wait(ctx, time.Time{}); err != nil {
			return nil, err
		}
	}
}

// Cancel implements [fleet.Tasks].
func (s tasks) Cancel(ctx context.Context, id string) error {
	if err := s.e.check(ctx); err != nil {
		return err
	}
	s.Lock()
	defer s.Unlock()
	r, err := s.find(id)
	if err != nil || r.status.State.Final() {
		return err
	}
	r.canceled = true
	if !r.held || !time.Now().Before(r.until) {
		r.held = false
		s.set(r, canceled(r.status))
	}
	return nil
}

// canceled returns the status of a task that was canceled while nobody had it.
func canceled(s fleet.Status) fleet.Status {
	s.State, s.Reason, s.Ended, s.NotBefore = fleet.Canceled, "It was canceled while no worker had it.",
		time.Now().UTC(), time.Time{}
	return s
}

// Remove implements [fleet.Tasks].
func (s tasks) Remove(ctx context.Context, ids ...string) error {
	var failures []error
	for _, id := range ids {
		failures = append(failures, s.remove(ctx, id))
	}
	return errors.Join(failures...)
}

// remove removes one task. The record goes last: what fails on the way can be done again.
func (s tasks) remove(ctx context.Context, id string) error {
	_, status, err := s.Get(ctx, id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if !status.State.Final() {
		return fmt.Errorf("fleet: task %s is %s: cancel it before it is removed: %w", id, status.State, fs.ErrInvalid)
	}
	if err := s.t.journals.Remove(ctx, id); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.t.objects.removeTask(id)
	s.t.asks.removeTask(id)
	s.Lock()
	defer s.Unlock()
	delete(s.records, id)
	s.changed()
	return nil
}
