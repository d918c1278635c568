package natsfleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/journal"
)

const (
	queueStream = "queue"
	queuePrefix = "queue." // a task that is due, or claimed
	laterPrefix = "later." // a task that is due later
)

// tasks implements [fleet.Tasks].
//
// The queue is a stream in which each task that is not final has one message. The server delivers
// it to one claimer, and again when that gives no sign of life. It only decides who looks
// at a task next: the records name its owner, so a message too many does no harm. A task is in the
// queue before it has its first record, so a submission that was interrupted has left nothing, or
// is completed by a worker.
type tasks struct {
	*records
	queue    jetstream.Stream
	workers  jetstream.Consumer // of the queue
	journals journal.Store
	objects  *objects
	asks     fleet.Asks
}

func newTasks(ctx context.Context, a *account, j journal.Store, o *objects, asks fleet.Asks) (fleet.Tasks, error) {
	r, err := newRecords(ctx, a, taskStream, taskPrefix+"*.*")
	if err != nil {
		return nil, err
	}
	// Scheduled messages want DiscardOld. It only discards the message of a task
	// that gets a newer one.
	q, err := a.stream(ctx, jetstream.StreamConfig{
		Name: queueStream, Subjects: []string{queuePrefix + "*", laterPrefix + "*"},
		Retention: jetstream.WorkQueuePolicy, MaxMsgsPerSubject: 1,
		AllowMsgSchedules: true, AllowRollup: true,
	})
	if err != nil {
		return nil, err
	}
	t := &tasks{records: r, queue: q, journals: j, objects: o, asks: asks}
	return t, t.newWorkers(ctx)
}

// Submit implements [fleet.Tasks].
func (t *tasks) Submit(ctx context.Context, task fleet.Task) (s fleet.Status, isNew bool, err error) {
	if task.Tenant == "" {
		task.Tenant = t.limits.Name
	}
	if task.Tenant != t.limits.Name {
		return s, false, fmt.Errorf("fleet: task %.200q is of tenant %.200q: it cannot be submitted for %s: %w",
			task.ID, task.Tenant, t.limits.Name, fs.ErrInvalid)
	}
	if err := journal.CheckID(task.ID); err != nil {
		return s, false, err
	}
	text, err := json.Marshal(task)
	if err != nil {
		return s, false, err
	}
	if most := t.nc.MaxPayload() - 4096; int64(len(text)) > most {
		return s, false, fmt.Errorf(
			"fleet: task %s has %d bytes; at most %d go, so put long texts into the repository: %w", task.ID, len(text),
			most, fs.ErrInvalid)
	}
	writing := nuid.Next() // of this submission; a worker that is faster writes the record with it, too
	for {
		state, err := t.load(ctx, task.ID)
		switch {
		case err == nil && !bytes.Equal(state.spec.data, text):
			return s, false, fmt.Errorf("task %s: %w", task.ID, fleet.ErrDifferent)
		case err == nil:
			s, _, err = t.view(ctx, state)
			return s, state.spec.writing == writing, err
		case !errors.Is(err, fs.ErrNotExist):
			return s, false, err
		}
		if err := t.enqueue(ctx, writing, task.ID, text); err != nil {
			return s, false, err
		}
		if _, err := t.putAs(ctx, writing, taskSubject(task.ID, specKind), text, 0, 0); err != nil &&
			!errors.Is(err, errChanged) {
			return s, false, err
		}
	}
}

// enqueue adds a task to the queue, unless it is there.
func (t *tasks) enqueue(ctx context.Context, writing, id string, text []byte) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	q := &records{t.account, t.queue}
	for {
		last, err := t.room(ctx)
		full := (*fleet.LimitError)(nil)
		if err != nil && !errors.As(err, &full) {
			return err
		}
		there, err2 := q.get(ctx, queuePrefix+token(id))
		if err2 != nil || there.seq > 0 {
			return err2
		}
		if full != nil {
			return err
		}
		m := &nats.Msg{Subject: queuePrefix + token(id), Data: text, Header: nats.Header{}}
		m.Header.Set(jetstream.MsgIDHeader, writing)
		m.Header.Set(jetstream.ExpectedLastSubjSeqHeader, "0")
		if t.limits.MaxQueued > 0 { // then nobody else may have added one meanwhile
			m.Header.Set(jetstream.ExpectedLastSeqHeader, strconv.FormatUint(last, 10))
		}
		once, end := context.WithTimeout(ctx, attemptTime)
		_, err = t.js.PublishMsg(once, m, jetstream.WithRetryAttempts(0))
		end()
		if err == nil || !isWrongSequence(err) && !mayPass(err) {
			return err
		}
		if !isWrongSequence(err) && wait(ctx, attemptPause) != nil {
			return err
		}
	}
}

// room returns the last sequence of the queue, or a LimitError if the tenant has all the tasks that
// it may have.
func (t *tasks) room(ctx context.Context) (last uint64, err error) {
	if t.limits.MaxQueued == 0 {
		return 0, nil
	}
	info, err := retry(ctx, t.account, callTime, func(ctx context.Context) (*jetstream.StreamInfo, error) { return t.queue.Info(ctx) })
	if err != nil {
		return 0, err
	}
	if n := info.State.Msgs; n >= uint64(t.limits.MaxQueued) {
		return 0, &fleet.LimitError{Tenant: t.limits.Name, What: fmt.Sprintf("%d tasks are waiting or running", n)}
	}
	return info.State.LastSeq, nil
}

// Get implements [fleet.Tasks].
func (t *tasks) Get(ctx context.Context, id string) (task fleet.Task, status fleet.Status, err error) {
	s, err := t.load(ctx, id)
	if err != nil {
		return task, status, err
	}
	if task, err = s.task(); err == nil {
		status, _, err = t.view(ctx, s)
	}
	return task, status, err
}

// subjects returns the subjects of a task that tell its status, those of all tasks for "*".
func (t *tasks) subjects(id string) (list []string) {
	for _, kind := range viewKinds() {
		list = append(list, taskSubject(id, kind))
	}
	return list
}

// List implements [fleet.Tasks].
func (t *tasks) List(ctx context.Context) iter.Seq2[fleet.Status, error] {
	return func(yield func(fleet.Status, error) bool) {
		all := map[string]*taskState{}
		for r, err := range t.list(ctx, t.subjects("*")...) {
			if err != nil {
				yield(fleet.Status{}, err)
				return
			}
			id, kind := taskOf(r.subject)
			if all[id] == nil {
				all[id] = &taskState{}
			}
			all[id].set(r, kind)
		}
		for _, s := range all {
			if s.spec.seq == 0 {
				continue // it is removed just now
			}
			status, _, err := t.view(ctx, *s)
			if !yield(status, err) || err != nil {
				return
			}
		}
	}
}

// Watch implements [fleet.Tasks].
func (t *tasks) Watch(ctx context.Context, id string) iter.Seq2[fleet.Status, error] {
	if id == "" {
		return t.watchAll(ctx)
	}
	return func(yield func(fleet.Status, error) bool) {
		if err := journal.CheckID(id); err != nil {
			yield(fleet.Status{}, fmt.Errorf("%w: %w", err, fs.ErrNotExist))
			return
		}
		var before []byte
		for err := range t.changes(ctx, taskSubject(id, statusKind), taskSubject(id, cancelKind)) {
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
func (t *tasks) watchAll(ctx context.Context) iter.Seq2[fleet.Status, error] {
	return func(yield func(fleet.Status, error) bool) {
		w := watched{tasks: t, all: map[string]*watchedTask{}, first: map[string]bool{}}
		for r, err := range t.follow(ctx, t.subjects("*")...) {
			if err != nil {
				yield(fleet.Status{}, err)
				return
			}
			for _, id := range w.take(r) {
				status, changed, err := w.look(ctx, id)
				if (changed || err != nil) && !yield(status, err) || err != nil {
					return
				}
			}
		}
	}
}

// watched is what a watcher of all tasks knows.
type watched struct {
	*tasks
	all   map[string]*watchedTask // those that are not final
	first map[string]bool         // the tasks that there were at the beginning; nil once all of those have been read
}

type watchedTask struct {
	taskState
	text []byte // of the last status that was yielded
}

// take takes a record over, and returns the tasks to look at. It returns none until the records
// that were there at the beginning have been read.
func (w *watched) take(r record) []string {
	id, kind := taskOf(r.subject)
	if r.seq > 0 {
		// a removed task may be submitted again
		if before := w.all[id]; before == nil || kind == specKind && before.spec.seq > 0 {
			w.all[id] = &watchedTask{}
		}
		w.all[id].set(r, kind)
	}
	switch {
	case w.first == nil && r.seq > 0:
		return []string{id}
	case w.first == nil:
		return nil
	case r.seq > 0:
		w.first[id] = true
	}
	if r.after > 0 {
		return nil
	}
	ids := make([]string, 0, len(w.first))
	for id := range w.first {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	w.first = nil
	return ids
}

// look returns the status of a task, and whether it has changed. It forgets a final one:
// later records of that task come without its spec and are ignored, unless the task is removed and
// submitted again.
func (w *watched) look(ctx context.Context, id string) (fleet.Status, bool, error) {
	t := w.all[id]
	if t.spec.seq == 0 {
		delete(w.all, id)
		return fleet.Status{}, false, nil
	}
	status, _, err := w.view(ctx, t.taskState)
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
func (t *tasks) Cancel(ctx context.Context, id string) error {
	_, status, err := t.Get(ctx, id)
	if err != nil || status.State.Final() {
		return err
	}
	if _, err := t.put(ctx, taskSubject(id, cancelKind), nil, 0, 0); err != nil && !errors.Is(err, errChanged) {
		return err
	}
	_, status, err = t.Get(ctx, id)
	if err == nil && status.State == fleet.Canceled {
		// It stays canceled, whoever claims it, so it need not be in the queue. If this fails, the
		// next claimer removes it.
		_ = t.dequeue(ctx, id)
	}
	return err
}

// dequeue removes a task from the queue. What is deleted by its sequence does not count as
// delivered any more.
func (t *tasks) dequeue(ctx context.Context, id string) error {
	q := &records{t.account, t.queue}
	var failures []error
	for _, prefix := range []string{laterPrefix, queuePrefix} {
		m, err := q.get(ctx, prefix+token(id))
		if err == nil && m.seq > 0 {
			err = q.removeSeq(ctx, m.seq)
		}
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// Remove implements [fleet.Tasks].
func (t *tasks) Remove(ctx context.Context, ids ...string) error {
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
func (t *tasks) removeOne(ctx context.Context, id string) error {
	if err := t.journals.Remove(ctx, id); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := t.objects.removeOf(ctx, id); err != nil {
		return err
	}
	if err := t.asks.Remove(ctx, id); err != nil {
		return err
	}
	if err := t.dequeue(ctx, id); err != nil {
		return err
	}
	return t.remove(ctx, taskPrefix+token(id)+".*")
}

// later puts a task into the queue at a time by the server's clock.
func (t *tasks) later(ctx context.Context, id string, at time.Time) error {
	m := &nats.Msg{Subject: laterPrefix + token(id), Header: nats.Header{}}
	m.Header.Set("Nats-Schedule", "@at "+at.UTC().Format(time.RFC3339Nano))
	m.Header.Set("Nats-Schedule-Target", queuePrefix+token(id))
	_, err := retry(ctx, t.account, callTime, func(ctx context.Context) (*jetstream.PubAck, error) {
		return t.js.PublishMsg(ctx, m, jetstream.WithRetryAttempts(0))
	})
	return err
}
