package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/journal"
)

// Claim implements [fleet.Tasks].
func (t *Tasks) Claim(ctx context.Context, worker string, hold time.Duration) (fleet.Claim, error) {
	if hold <= 0 {
		return nil, fmt.Errorf("fleet: a claim has to hold for some time, not %v: %w", hold, fs.ErrInvalid)
	}
	for failing := time.Now(); ; {
		c, err := t.claimOnce(ctx, worker, hold)
		switch {
		case c != nil:
			return c, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err == nil:
			failing = time.Now()
		case !t.records.Passes(err) || time.Since(failing) > failTime:
			return nil, err
		default:
			if err := Wait(ctx, gap); err != nil {
				return nil, err
			}
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
