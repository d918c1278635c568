package memfleet

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"time"

	"github.com/attractor-go/attractor/fleet"
)

// Claim implements [fleet.Tasks].
func (s tasks) Claim(ctx context.Context, worker string, hold time.Duration) (fleet.Claim, error) {
	ctx, done := s.e.within(ctx)
	defer done()
	s.Lock()
	defer s.Unlock()
	for {
		if err := ended(ctx); err != nil {
			return nil, err
		}
		r, at := s.due(time.Now(), s.t.Limit)
		if r != nil {
			return s.take(r, worker, hold)
		}
		if err := s.wait(ctx, at); err != nil {
			return nil, err
		}
	}
}

// due returns the first task that may be claimed. If there is none, it returns the time at which
// there may be one, unless something changes before. The caller holds the lock.
func (t *taskTable) due(now time.Time, limit int) (*record, time.Time) {
	var first *record
	var at time.Time
	held := 0
	for _, r := range t.queue {
		switch {
		case r.held && now.Before(r.until):
			held++
			at = sooner(at, r.until)
		case now.Before(r.status.NotBefore):
			at = sooner(at, r.status.NotBefore)
		case first == nil:
			first = r
		}
	}
	if limit > 0 && held >= limit {
		first = nil
	}
	return first, at
}

// take claims a task. The claim of a holder that has not given it back is a death. The caller holds
// the lock.
func (s tasks) take(r *record, worker string, hold time.Duration) (fleet.Claim, error) {
	status, err := clone(r.status)
	if err != nil {
		return nil, err
	}
	c := &claim{e: s.e, t: s.taskTable, r: r, worker: worker, hold: hold, canceled: r.canceled}
	if err := json.Unmarshal(r.text, &c.task); err != nil {
		return nil, err
	}
	now := time.Now()
	if r.held {
		status.Deaths = append(status.Deaths, fleet.Death{Worker: r.claim.worker, From: status.Claimed, At: now.UTC()})
	}
	status.State, status.Reason, status.Worker, status.NotBefore = fleet.Running, "", worker, time.Time{}
	status.Attempt++
	status.Claimed = now.UTC()
	if status.Started.IsZero() {
		status.Started = status.Claimed
	}
	if c.status, err = clone(status); err != nil {
		return nil, err
	}
	r.claim, r.held, r.until = c, true, now.Add(hold)
	s.set(r, status)
	return c, nil
}

// claim implements [fleet.Claim].
type claim struct {
	e      *Engine
	t      *taskTable
	r      *record
	task   fleet.Task
	worker string
	hold   time.Duration

	// The lock of the table guards these.
	status   fleet.Status // as the holder has last written it
	canceled bool
}

// Task implements [fleet.Claim].
func (c *claim) Task() fleet.Task { return c.task }

// Status implements [fleet.Claim].
func (c *claim) Status() fleet.Status {
	c.t.Lock()
	defer c.t.Unlock()
	return c.status
}

// Canceled implements [fleet.Claim].
func (c *claim) Canceled() bool {
	c.t.Lock()
	defer c.t.Unlock()
	return c.canceled
}

// Extend implements [fleet.Claim].
func (c *claim) Extend(ctx context.Context) error {
	if err := c.e.check(ctx); err != nil {
		return err
	}
	c.t.Lock()
	defer c.t.Unlock()
	now := time.Now()
	if c.r.claim != c || !c.r.held || !now.Before(c.r.until) {
		return c.lost()
	}
	c.r.until, c.canceled = now.Add(c.hold), c.r.canceled
	return nil
}

func (c *claim) lost() error { return fmt.Errorf("task %s: %w", c.task.ID, fleet.ErrLost) }

// Update implements [fleet.Claim].
func (c *claim) Update(ctx context.Context, s fleet.Status) error {
	return c.write(ctx, s, "Update", s.State == fleet.Running)
}

// Finish implements [fleet.Claim].
func (c *claim) Finish(ctx context.Context, s fleet.Status) error {
	return c.write(ctx, s, "Finish", s.State.Final())
}

// Return implements [fleet.Claim]. A task that was canceled ends instead.
func (c *claim) Return(ctx context.Context, s fleet.Status) error {
	return c.write(ctx, s, "Return", s.State == fleet.Queued || s.State == fleet.Paused)
}

// write writes a status. One that is not Running ends the claim; the same again does nothing. A
// claim that has expired may write until somebody else has the task.
func (c *claim) write(ctx context.Context, s fleet.Status, method string, fits bool) error {
	if err := c.e.check(ctx); err != nil {
		return err
	}
	if !fits {
		return fmt.Errorf("fleet: %s of task %s cannot write the status %q: %w", method, c.task.ID, s.State,
			fs.ErrInvalid)
	}
	s.ID, s.Tenant = c.task.ID, c.task.Tenant
	kept, err := clone(s)
	if err != nil {
		return err
	}
	c.t.Lock()
	defer c.t.Unlock()
	switch ends := s.State != fleet.Running; {
	case c.r.claim == c && !c.r.held && ends && s.State == c.status.State:
		return nil
	case c.r.claim != c || !c.r.held:
		return c.lost()
	case ends:
		c.r.held = false
		if c.r.canceled && !s.State.Final() {
			kept = canceled(kept)
		}
	}
	c.status = s
	c.t.set(c.r, kept)
	return nil
}
