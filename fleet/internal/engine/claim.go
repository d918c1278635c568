package engine

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/journal"
)

// Claim implements [fleet.Claim].
type Claim struct {
	t    *Tasks
	m    Message // of the queue
	task fleet.Task
	hold time.Duration

	writing sync.Mutex // held during a request; it guards what follows
	seq     uint64     // of the status
	claimed uint64     // that of the status that began the claim
	beat    Record     // the last heartbeat

	holding
	status   fleet.Status
	canceled bool
	ended    fleet.State // the state with which the holder has ended the claim; guarded by writing
}

// begin writes the status of a new owner. It returns nil if somebody else was first, or the task
// was canceled before.
func (c *Claim) begin(ctx context.Context, s taskState, status fleet.Status, worker string) (*Claim, error) {
	now, takeover := time.Now(), status.State == fleet.Running
	if takeover {
		status.Deaths = append(status.Deaths, fleet.Death{Worker: status.Worker, From: status.Claimed, At: now.UTC()})
	}
	status.State, status.Reason, status.Worker, status.NotBefore = fleet.Running, "", worker, time.Time{}
	status.Attempt++
	status.Claimed = now.UTC()
	if status.Started.IsZero() {
		status.Started = status.Claimed
	}
	data, err := json.Marshal(statusRecord{Status: status, Hold: fleet.Duration(c.hold)})
	if err != nil {
		return nil, err
	}
	c.seq, err = c.t.records.put(ctx, taskKey(c.task.ID, statusKind), data, s.status.Seq, 0)
	if errors.Is(err, ErrChanged) {
		c.m.Delay(gap)
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	c.claimed, c.status, c.until = c.seq, status, now.Add(c.hold)
	c.m.Delay(c.hold)
	// From here on the claim is made. What cannot be learned now, Extend learns.
	if wish, err := c.t.records.Get(ctx, taskKey(c.task.ID, cancelKind)); err == nil && wish.Seq > 0 {
		if c.canceled = true; wish.Seq < c.claimed {
			c.m.Done(ctx)
			return nil, nil
		}
	}
	if takeover { // the next heartbeat of the last owner fails; without this, its next update does
		_ = c.heartbeat(ctx)
	}
	return c, nil
}

// Task implements [fleet.Claim].
func (c *Claim) Task() fleet.Task { return c.task }

// Status implements [fleet.Claim].
func (c *Claim) Status() fleet.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status
}

// Canceled implements [fleet.Claim].
func (c *Claim) Canceled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.canceled
}

func (c *Claim) isLost() error { return fmt.Errorf("task %s: %w", c.task.ID, fleet.ErrLost) }

// Extend implements [fleet.Claim].
func (c *Claim) Extend(ctx context.Context) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	sent := time.Now()
	if !c.holds(sent) || c.ended != "" {
		return c.isLost()
	}
	if err := c.heartbeat(ctx); err != nil {
		if errors.Is(err, fleet.ErrLost) {
			c.end()
		}
		return err
	}
	c.m.Delay(c.hold)
	wish, err := c.t.records.Get(ctx, taskKey(c.task.ID, cancelKind))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = sent.Add(c.hold)
	c.canceled = c.canceled || err == nil && wish.Seq > 0
	return nil
}

// heartbeat writes the record that keeps the claim.
func (c *Claim) heartbeat(ctx context.Context) error {
	data := func() ([]byte, error) { return json.Marshal(claimRecord{c.claimed}) }
	mine := func(Record) (bool, error) { // the last owner may have written it just before it lost the task
		now, err := c.t.records.Get(ctx, taskKey(c.task.ID, statusKind))
		return now.Seq == c.seq || c.wrote(now), err
	}
	return lostIfChanged(c.t.records.rewrite(ctx, taskKey(c.task.ID, claimKind), &c.beat.Seq, 0, data, mine), c.isLost)
}

// Update implements [fleet.Claim].
func (c *Claim) Update(ctx context.Context, s fleet.Status) error {
	return c.write(ctx, s, "Update", s.State == fleet.Running)
}

// Finish implements [fleet.Claim].
func (c *Claim) Finish(ctx context.Context, s fleet.Status) error {
	return c.write(ctx, s, "Finish", s.State.Final())
}

// Return implements [fleet.Claim].
func (c *Claim) Return(ctx context.Context, s fleet.Status) error {
	return c.write(ctx, s, "Return", s.State == fleet.Queued || s.State == fleet.Paused)
}

// write writes a status. One that is not Running ends the claim; the same again does nothing. A
// claim that has expired may write until somebody else has the task.
func (c *Claim) write(ctx context.Context, s fleet.Status, method string, fits bool) error {
	if !fits {
		return fmt.Errorf("fleet: %s of task %s cannot write the status %q: %w", method, c.task.ID, s.State,
			fs.ErrInvalid)
	}
	s.ID, s.Tenant = c.task.ID, c.task.Tenant
	c.writing.Lock()
	defer c.writing.Unlock()
	ends := s.State != fleet.Running
	switch {
	case c.ended == "":
	case ends && c.ended == s.State:
		return c.still(ctx)
	default:
		return c.isLost()
	}
	data, err := json.Marshal(statusRecord{Status: s, Claimed: c.claimed, Hold: fleet.Duration(c.hold)})
	if err != nil {
		return err
	}
	if err := c.store(ctx, data); err != nil {
		return err
	}
	c.mu.Lock()
	c.status = s
	if ends {
		c.ended = s.State
	}
	c.mu.Unlock()
	c.settle(ctx, s)
	return nil
}

// still returns ErrLost if another claim has written the status since.
func (c *Claim) still(ctx context.Context) error {
	now, err := c.t.records.Get(ctx, taskKey(c.task.ID, statusKind))
	if err == nil && now.Seq != c.seq {
		err = c.isLost()
	}
	return err
}

// store writes the status after the last one of this claim, which may be one of a call before whose
// outcome was unknown.
func (c *Claim) store(ctx context.Context, data []byte) error {
	text := func() ([]byte, error) { return data, nil }
	same := false
	mine := func(now Record) (bool, error) {
		if same = bytes.Equal(now.Data, data); same {
			c.seq = now.Seq
		}
		return !same && c.wrote(now), nil
	}
	err := c.t.records.rewrite(ctx, taskKey(c.task.ID, statusKind), &c.seq, 0, text, mine)
	if same {
		return nil
	}
	return lostIfChanged(err, c.isLost)
}

// wrote reports whether a status is a Running one of this claim.
func (c *Claim) wrote(now Record) bool {
	var r statusRecord
	return now.Seq > 0 && json.Unmarshal(now.Data, &r) == nil && r.Claimed == c.claimed &&
		r.Status.State == fleet.Running
}

// settle removes or delays the message, as the status says. If that fails, the message is delivered
// again, and its next claimer does so.
func (c *Claim) settle(ctx context.Context, s fleet.Status) {
	switch {
	case s.State.Final():
		c.m.Done(ctx)
	case s.State == fleet.Running:
	case s.NotBefore.IsZero():
		c.m.Delay(0)
	default:
		if err := c.t.queue.Later(ctx, c.task.ID, s.NotBefore); err == nil {
			c.m.Done(ctx)
		}
	}
}

// Claim implements [fleet.Tasks].
func (t *Tasks) Claim(ctx context.Context, worker string, hold time.Duration) (fleet.Claim, error) {
	if hold <= 0 {
		return nil, fmt.Errorf("fleet: a claim has to hold for some time, not %v: %w", hold, fs.ErrInvalid)
	}
	for {
		c, err := t.claimOnce(ctx, worker, hold)
		switch {
		case c != nil:
			return c, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, err
		}
	}
}

// claimOnce asks the queue for a task. Neither a claim nor an error means that there was none.
func (t *Tasks) claimOnce(ctx context.Context, worker string, hold time.Duration) (*Claim, error) {
	m, err := t.queue.Next(ctx)
	if m == nil || err != nil {
		return nil, err
	}
	// The task is this claimer's now: what follows does not end with ctx.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
	defer cancel()
	c, err := t.take(ctx, m, worker, hold)
	if err != nil {
		m.Delay(gap)
	}
	return c, err
}

// take claims the task of a message. It returns nil if the task is not due.
func (t *Tasks) take(ctx context.Context, m Message, worker string, hold time.Duration) (*Claim, error) {
	id := m.ID()
	now, err := t.records.Now(ctx) // read before the last heartbeat, because that may take long
	if err != nil {
		return nil, err
	}
	s, err := t.known(ctx, id, m)
	if errors.Is(err, fs.ErrNotExist) {
		m.Done(ctx)
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	c := &Claim{t: t, m: m, hold: hold}
	if c.task, err = s.task(); err != nil {
		return nil, err
	}
	status, before, err := s.view()
	if err != nil {
		return nil, err
	}
	if status.State.Final() {
		m.Done(ctx)
		return nil, nil
	}
	if c.beat, err = t.records.Get(ctx, taskKey(id, claimKind)); err != nil {
		return nil, err
	}
	if due, err := t.due(ctx, c, s, before, now); !due || err != nil {
		return nil, err
	}
	return c.begin(ctx, s, status, worker)
}

// known returns the records of a task whose message was delivered. If the submission broke off
// before it wrote the task, known writes it.
func (t *Tasks) known(ctx context.Context, id string, m Message) (taskState, error) {
	s, err := t.load(ctx, id)
	if !errors.Is(err, fs.ErrNotExist) || len(m.Data()) == 0 || journal.CheckID(id) != nil {
		return s, err
	}
	var task fleet.Task
	if json.Unmarshal(m.Data(), &task) != nil || task.ID != id || task.Tenant != t.tenant.Name {
		return s, err // no client of ours submits that
	}
	// A task that was removed left the queue before it lost its records, and must not come back.
	current, err2 := m.Current(ctx)
	if err2 != nil {
		return s, err2
	}
	if !current {
		return s, err
	}
	// The name is that of the submission, which learns from it that the task is new.
	writing := cmp.Or(m.Writing(), rand.Text())
	if _, err := t.records.Put(ctx, writing, taskKey(id, specKind), m.Data(), 0, 0); err != nil &&
		!errors.Is(err, ErrChanged) {
		return s, err
	}
	return t.load(ctx, id)
}

// due reports whether a task may be claimed at the time now. If not, its message is delivered again
// when it may be.
func (t *Tasks) due(ctx context.Context, c *Claim, s taskState, before statusRecord, now time.Time) (bool, error) {
	running := before.Status.State == fleet.Running
	if !running && before.Status.NotBefore.IsZero() {
		return true, nil
	}
	if !running {
		if !now.Before(before.Status.NotBefore) {
			return true, nil
		}
		err := t.queue.Later(ctx, c.task.ID, before.Status.NotBefore)
		if err == nil {
			c.m.Done(ctx)
		}
		return false, err
	}
	heard := s.status.At
	var beat claimRecord
	if c.beat.Seq > 0 && json.Unmarshal(c.beat.Data, &beat) == nil && beat.Claimed == before.Claimed {
		heard = c.beat.At
	}
	if left := heard.Add(time.Duration(before.Hold)).Sub(now); left > 0 {
		c.m.Delay(left)
		return false, nil
	}
	return true, nil
}
