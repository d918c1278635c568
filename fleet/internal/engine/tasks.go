package engine

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/journal"
)

// Objects holds the objects of a tenant.
type Objects interface {
	fleet.Objects
	// RemoveTask removes the objects of a task: those named KIND/TASK/..., with any KIND.
	RemoveTask(ctx context.Context, task string) error
}

// maxObjectName bounds the bytes of an object's name.
const maxObjectName = 512

// CheckObjectName returns an error that wraps fs.ErrInvalid for a text that cannot name an object.
func CheckObjectName(name string) error {
	if name == "" || len(name) > maxObjectName || !utf8.ValidString(name) ||
		strings.ContainsFunc(name, unicode.IsControl) {
		return fmt.Errorf("fleet: %.600q cannot name an object: 1 to %d bytes of UTF-8 without control characters: %w",
			name, maxObjectName, fs.ErrInvalid)
	}
	return nil
}

// Tasks implements [fleet.Tasks].
//
// The records of a task name its owner; the queue only decides who looks at it next. A task is in
// the queue before it has its first record, so a submission that was interrupted has left nothing,
// or is completed by a worker.
type Tasks struct {
	records  table
	queue    Queue
	tenant   fleet.Tenant
	journals journal.Store
	objects  Objects
	asks     fleet.Asks
}

// NewTasks returns the tasks of a tenant. Its keys are task.ID.KIND.
func NewTasks(t Table, q Queue, tenant fleet.Tenant, j journal.Store, o Objects, asks fleet.Asks) *Tasks {
	return &Tasks{table{t}, q, tenant, j, o, asks}
}

// Submit implements [fleet.Tasks].
func (t *Tasks) Submit(ctx context.Context, task fleet.Task) (s fleet.Status, isNew bool, err error) {
	if task.Tenant == "" {
		task.Tenant = t.tenant.Name
	}
	if task.Tenant != t.tenant.Name {
		return s, false, fmt.Errorf("fleet: task %.200q is of tenant %.200q: it cannot be submitted for %s: %w",
			task.ID, task.Tenant, t.tenant.Name, fs.ErrInvalid)
	}
	if err := journal.CheckID(task.ID); err != nil {
		return s, false, err
	}
	text, err := json.Marshal(task)
	if err != nil {
		return s, false, err
	}
	if most := t.records.Most(); len(text) > most {
		return s, false, fmt.Errorf(
			"fleet: task %s has %d bytes, and may have %d: put long texts into files of the repository: %w", task.ID,
			len(text), most, fs.ErrInvalid)
	}
	writing := rand.Text() // of this submission; a worker that is faster writes the record with it, too
	for {
		state, err := t.load(ctx, task.ID)
		switch {
		case err == nil && !bytes.Equal(state.spec.Data, text):
			return s, false, fmt.Errorf("task %s: %w", task.ID, fleet.ErrDifferent)
		case err == nil:
			s, _, err = state.view()
			return s, state.spec.Writing == writing, err
		case !errors.Is(err, fs.ErrNotExist):
			return s, false, err
		}
		full, err := t.queue.Add(ctx, writing, task.ID, text, t.tenant.MaxQueued)
		if err == nil && full > 0 {
			err = &fleet.LimitError{Tenant: t.tenant.Name, What: fmt.Sprintf("%d tasks are waiting or running", full)}
		}
		if err != nil {
			return s, false, err
		}
		if _, err := t.records.Put(ctx, writing, taskKey(task.ID, specKind), text, 0, 0); err != nil &&
			!errors.Is(err, ErrChanged) {
			return s, false, err
		}
	}
}

// Get implements [fleet.Tasks].
func (t *Tasks) Get(ctx context.Context, id string) (task fleet.Task, status fleet.Status, err error) {
	s, err := t.load(ctx, id)
	if err != nil {
		return task, status, err
	}
	if task, err = s.task(); err == nil {
		status, _, err = s.view()
	}
	return task, status, err
}

// keys returns the keys of the records that a task's status depends on, or those of all tasks for
// "*".
func (t *Tasks) keys(id string) (list []string) {
	for _, kind := range viewKinds() {
		list = append(list, taskKey(id, kind))
	}
	return list
}

// List implements [fleet.Tasks].
func (t *Tasks) List(ctx context.Context) iter.Seq2[fleet.Status, error] {
	return func(yield func(fleet.Status, error) bool) {
		all := map[string]*taskState{}
		for r, err := range t.records.List(ctx, t.keys("*")...) {
			if err != nil {
				yield(fleet.Status{}, err)
				return
			}
			id, kind := taskOf(r.Key)
			if all[id] == nil {
				all[id] = &taskState{}
			}
			all[id].set(r, kind)
		}
		for _, s := range all {
			if s.spec.Seq == 0 {
				continue // it is removed just now
			}
			status, _, err := s.view()
			if !yield(status, err) || err != nil {
				return
			}
		}
	}
}

// Watch implements [fleet.Tasks].
func (t *Tasks) Watch(ctx context.Context, id string) iter.Seq2[fleet.Status, error] {
	if id == "" {
		return t.watchAll(ctx)
	}
	return func(yield func(fleet.Status, error) bool) {
		if err := journal.CheckID(id); err != nil {
			yield(fleet.Status{}, fmt.Errorf("%w: %w", err, fs.ErrNotExist))
			return
		}
		var before []byte
		for err := range t.records.Changes(ctx, taskKey(id, statusKind), taskKey(id, cancelKind)) {
			var status fleet.Status
			if err == nil {
				_, status, err = t.Get(ctx, id)
			}
			now, err2 := json.Marshal(status)
			if err = errors.Join(err, err2); err == nil && bytes.Equal(before, now) {
				continue
			}
			if before = now; !yield(status, err) || err != nil {
				return
			}
		}
	}
}

// watchAll watches all tasks by one consumer.
func (t *Tasks) watchAll(ctx context.Context) iter.Seq2[fleet.Status, error] {
	return func(yield func(fleet.Status, error) bool) {
		w := watched{Tasks: t, all: map[string]*watchedTask{}}
		for r, err := range t.records.Follow(ctx, t.keys("*")...) {
			if err != nil {
				yield(fleet.Status{}, err)
				return
			}
			for _, id := range w.take(r) {
				status, changed, err := w.look(id)
				if (changed || err != nil) && !yield(status, err) || err != nil {
					return
				}
			}
		}
	}
}

// watched holds what a watcher of all tasks knows.
type watched struct {
	*Tasks
	all   map[string]*watchedTask // those that are not final
	begun bool                    // the records that there were at the beginning have been read
}

type watchedTask struct {
	taskState
	text []byte // of the last status that was yielded
}

// take stores a record, and returns the tasks whose statuses may have changed. It returns none
// until the records that were there at the beginning have been read.
func (w *watched) take(r Record) []string {
	id, kind := taskOf(r.Key)
	if r.Seq > 0 {
		// a removed task may be submitted again
		if before := w.all[id]; before == nil || kind == specKind && before.spec.Seq > 0 {
			w.all[id] = &watchedTask{}
		}
		w.all[id].set(r, kind)
	}
	switch {
	case w.begun && r.Seq > 0:
		return []string{id}
	case w.begun || r.After > 0:
		return nil
	}
	w.begun = true
	return slices.Sorted(maps.Keys(w.all))
}

// look returns the status of a task, and whether it has changed. It forgets a task that is final:
// later records of that task come without its spec and are ignored, unless the task is removed and
// submitted again.
func (w *watched) look(id string) (fleet.Status, bool, error) {
	t := w.all[id]
	if t.spec.Seq == 0 {
		delete(w.all, id)
		return fleet.Status{}, false, nil
	}
	status, _, err := t.view()
	if err != nil {
		return status, false, err
	}
	if status.State.Final() {
		delete(w.all, id)
	}
	text, err := json.Marshal(status)
	if err != nil || bytes.Equal(text, t.text) {
		return status, false, err
	}
	t.text = text
	return status, true, nil
}

// Cancel implements [fleet.Tasks].
func (t *Tasks) Cancel(ctx context.Context, id string) error {
	_, status, err := t.Get(ctx, id)
	if err != nil || status.State.Final() {
		return err
	}
	if _, err := t.records.put(ctx, taskKey(id, cancelKind), nil, 0, 0); err != nil && !errors.Is(err, ErrChanged) {
		return err
	}
	_, status, err = t.Get(ctx, id)
	if err == nil && status.State == fleet.Canceled {
		// It stays canceled, whoever claims it, so it need not be in the queue. If this fails, the
		// next claimer removes it.
		_ = t.queue.Remove(ctx, id)
	}
	return err
}

// Remove implements [fleet.Tasks].
func (t *Tasks) Remove(ctx context.Context, ids ...string) error {
	var failures []error
	var final []string
	for _, id := range ids {
		_, status, err := t.Get(ctx, id)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			failures = append(failures, err)
		case !status.State.Final():
			failures = append(failures, fmt.Errorf("fleet: task %s is %s: cancel it before it is removed: %w", id,
				status.State, fs.ErrInvalid))
		default:
			final = append(final, id)
		}
	}
	for _, id := range final {
		failures = append(failures, t.removeOne(ctx, id))
	}
	return errors.Join(failures...)
}

// removeOne removes a task. Its records go last and at once: what fails on the way can be done
// again.
func (t *Tasks) removeOne(ctx context.Context, id string) error {
	if err := t.journals.Remove(ctx, id); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := t.objects.RemoveTask(ctx, id); err != nil {
		return err
	}
	if err := t.asks.Remove(ctx, id); err != nil {
		return err
	}
	if err := t.queue.Remove(ctx, id); err != nil {
		return err
	}
	return t.records.Remove(ctx, taskPrefix+Token(id)+".*")
}

// A task has up to four records, each with one kind of writer. That of a client never changes; the
// others have the owner as their only writer.
const (
	taskPrefix = "task."
	specKind   = "spec"   // the task, by a client
	cancelKind = "cancel" // the request to cancel it, by a client
	statusKind = "status" // by an owner, from the first claim on
	claimKind  = "claim"  // the owner's last heartbeat
)

// taskKey is the key of a record of a task. The id may be "*".
func taskKey(id, kind string) string { return taskPrefix + Token(id) + "." + kind }

// taskOf returns the id and the kind of a key.
func taskOf(key string) (id, kind string) {
	t, kind, _ := strings.Cut(strings.TrimPrefix(key, taskPrefix), ".")
	return TokenID(t), kind
}

// viewKinds returns the kinds of the records that a status depends on.
func viewKinds() []string { return []string{specKind, statusKind, cancelKind} }

// statusRecord is a status as its owner writes it.
type statusRecord struct {
	Status fleet.Status `json:"status"`
	// Claimed is the sequence of the record that began the claim, or 0 in that record itself.
	Claimed uint64 `json:"claimed,omitempty"`
	// Hold is how long the claim holds without a heartbeat.
	Hold fleet.Duration `json:"hold,omitempty"`
}

// claimRecord is a heartbeat of an owner.
type claimRecord struct {
	Claimed uint64 `json:"claimed"`
}

// taskState holds the records of a task that its status depends on.
type taskState struct{ spec, status, cancel Record }

// set replaces the record of a kind.
func (s *taskState) set(r Record, kind string) {
	switch kind {
	case specKind:
		s.spec = r
	case statusKind:
		s.status = r
	case cancelKind:
		s.cancel = r
	}
}

// load reads the records of a task. It reads the task itself last, so that a task that is removed
// meanwhile is found missing.
func (t *Tasks) load(ctx context.Context, id string) (s taskState, err error) {
	if err := journal.CheckID(id); err != nil {
		return s, fmt.Errorf("%w: %w", err, fs.ErrNotExist)
	}
	for _, kind := range []string{cancelKind, statusKind, specKind} {
		r, err := t.records.Get(ctx, taskKey(id, kind))
		if err != nil {
			return s, err
		}
		s.set(r, kind)
	}
	if s.spec.Seq == 0 {
		return s, fmt.Errorf("fleet: there is no task %.200q: %w", id, fs.ErrNotExist)
	}
	return s, nil
}

// task returns the task.
func (s *taskState) task() (t fleet.Task, err error) {
	return t, json.Unmarshal(s.spec.Data, &t)
}

// view returns the status, as everybody sees it, and the record that its owner has written.
//
// A request to cancel that was written before the task was claimed ends it, whoever claims it. Both
// are records of one table, so their sequences say which was first.
func (s *taskState) view() (fleet.Status, statusRecord, error) {
	var r statusRecord
	if s.status.Seq == 0 {
		task, err := s.task()
		if err != nil {
			return r.Status, r, err
		}
		r.Status = fleet.Status{ID: task.ID, Tenant: task.Tenant, State: fleet.Queued, Submitted: s.spec.At.UTC(),
			Labels: task.Labels}
	} else if err := json.Unmarshal(s.status.Data, &r); err != nil {
		return r.Status, r, err
	}
	if r.Claimed == 0 {
		r.Claimed = s.status.Seq
	}
	status := r.Status
	if s.cancel.Seq > 0 && !status.State.Final() && (status.State != fleet.Running || s.cancel.Seq < r.Claimed) {
		status.State, status.Reason, status.NotBefore = fleet.Canceled, "It was canceled while no worker had it.",
			time.Time{}
		status.Ended = s.cancel.At.UTC()
	}
	return status, r, nil
}
