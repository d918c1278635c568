package natsfleet

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/journal"
)

// workersConsumer delivers the queue to claimers.
const workersConsumer = "workers"

// deliveredWait is after what time the server delivers a task again whose claimer has not got it.
// Who has claimed it says how long the claim holds.
const deliveredWait = 3 * time.Second

// failTime bounds how long a claimer goes on against a server that does not answer.
const failTime = makeTime

// newWorkers makes the consumer of the queue.
func (t *tasks) newWorkers(ctx context.Context) error {
	c := jetstream.ConsumerConfig{
		Durable: workersConsumer, FilterSubject: queuePrefix + "*", AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: deliveredWait, MaxDeliver: -1, MaxAckPending: -1, MaxWaiting: 1 << 16,
	}
	if t.limits.Limit > 0 {
		c.MaxAckPending = t.limits.Limit
	}
	var err error
	t.workers, err = retry(ctx, t.account, makeTime, func(ctx context.Context) (jetstream.Consumer, error) {
		return t.queue.CreateOrUpdateConsumer(ctx, c)
	})
	return err
}

// Claim implements [fleet.Tasks].
func (t *tasks) Claim(ctx context.Context, worker string, hold time.Duration) (fleet.Claim, error) {
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
		case !mayPass(err) || time.Since(failing) > failTime:
			return nil, err
		default:
			if err := wait(ctx, attemptPause); err != nil {
				return nil, err
			}
		}
	}
}

// claimOnce makes one request for a task. Neither a claim nor an error means that there was none.
func (t *tasks) claimOnce(ctx context.Context, worker string, hold time.Duration) (*claim, error) {
	for m, err := range t.fetch(ctx, t.workers, 1) {
		if err != nil {
			return nil, err
		}
		// The task is this claimer's now: what follows does not end with ctx.
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
		defer cancel()
		c, err := t.take(bounded, m, worker, hold)
		if err != nil {
			t.delay(m, attemptPause)
		}
		return c, err
	}
	return nil, nil
}

// again has the server deliver a message again at once. That may get lost: then the server delivers
// the message again when its time is over.
func (t *tasks) again(m jetstream.Msg) { _ = t.nc.Publish(m.Reply(), []byte("-NAK")) }

// delay has the server deliver a message again after a while. Jetstream.Msg does so only once.
func (t *tasks) delay(m jetstream.Msg, d time.Duration) {
	_ = t.nc.Publish(m.Reply(), fmt.Appendf(nil, `-NAK {"delay":%d}`, max(d, time.Millisecond))) // see again
}

// done has the server forget a message. Where it is not acknowledged, the next claimer finds that
// there is nothing to do.
func (t *tasks) done(ctx context.Context, m jetstream.Msg) {
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	_, _ = t.nc.RequestWithContext(ctx, m.Reply(), []byte("+ACK")) // see above
}

// take claims the task of a message. It returns nil if the task is not due.
func (t *tasks) take(ctx context.Context, m jetstream.Msg, worker string, hold time.Duration) (*claim, error) {
	id := tokenOf(strings.TrimPrefix(m.Subject(), queuePrefix))
	s, err := t.known(ctx, id, m)
	if errors.Is(err, fs.ErrNotExist) {
		t.done(ctx, m)
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	c := &claim{t: t, m: m, hold: hold}
	if c.task, err = s.task(); err != nil {
		return nil, err
	}
	status, before, err := t.view(ctx, s)
	if err != nil {
		return nil, err
	}
	if status.State.Final() {
		t.done(ctx, m)
		return nil, nil
	}
	if c.beat, err = t.get(ctx, taskSubject(id, claimKind)); err != nil {
		return nil, err
	}
	if due, err := t.due(ctx, c, s, before); !due || err != nil {
		return nil, err
	}
	return c.begin(ctx, s, status, worker)
}

// known returns the records of a task whose message was delivered. That of a submission that broke
// off is written now.
func (t *tasks) known(ctx context.Context, id string, m jetstream.Msg) (taskState, error) {
	s, err := t.load(ctx, id)
	if !errors.Is(err, fs.ErrNotExist) || len(m.Data()) == 0 || journal.CheckID(id) != nil {
		return s, err
	}
	var task fleet.Task
	if json.Unmarshal(m.Data(), &task) != nil || task.ID != id || task.Tenant != t.limits.Name {
		return s, err // no client of ours submits that
	}
	// A task that was removed left the queue before it lost its records, and must not come back.
	meta, err2 := m.Metadata()
	if err2 != nil {
		return s, err2
	}
	queued, err2 := (&records{t.account, t.queue}).get(ctx, m.Subject())
	if err2 != nil {
		return s, err2
	}
	if queued.seq != meta.Sequence.Stream {
		return s, err
	}
	// of the submission, which thereby knows that the task is new
	writing := cmp.Or(m.Headers().Get(jetstream.MsgIDHeader), nuid.Next())
	if _, err := t.putAs(ctx, writing, taskSubject(id, specKind), m.Data(), 0, 0); err != nil &&
		!errors.Is(err, errChanged) {
		return s, err
	}
	return t.load(ctx, id)
}

// due reports whether a task may be claimed now. If not, the server delivers its message when it
// may be.
func (t *tasks) due(ctx context.Context, c *claim, s taskState, before statusRecord) (bool, error) {
	running := before.Status.State == fleet.Running
	if !running && before.Status.NotBefore.IsZero() {
		return true, nil
	}
	now, err := t.now(ctx)
	if err != nil {
		return false, err
	}
	if !running {
		if !now.Before(before.Status.NotBefore) {
			return true, nil
		}
		err := t.later(ctx, c.task.ID, before.Status.NotBefore)
		if err == nil {
			t.done(ctx, c.m)
		}
		return false, err
	}
	heard := s.status.at
	var sign claimRecord
	if c.beat.seq > 0 && json.Unmarshal(c.beat.data, &sign) == nil && sign.Claimed == before.Claimed {
		heard = c.beat.at
	}
	if left := heard.Add(time.Duration(before.Hold)).Sub(now); left > 0 {
		t.delay(c.m, left)
		return false, nil
	}
	return true, nil
}

// claim implements [fleet.Claim].
type claim struct {
	t    *tasks
	m    jetstream.Msg // of the queue
	task fleet.Task
	hold time.Duration

	writing sync.Mutex // held during a request; it guards what follows
	seq     uint64     // of the status
	claimed uint64     // that of the status that began the claim
	beat    record     // the last sign of life

	mu       sync.Mutex
	status   fleet.Status
	until    time.Time // by this machine's clock
	canceled bool
	lost     bool
	ended    fleet.State // the state with which the holder has ended the claim
	finished time.Time
}

// begin writes the status of a new owner. It returns nil if somebody else was first, or the task
// was canceled before.
func (c *claim) begin(ctx context.Context, s taskState, status fleet.Status, worker string) (*claim, error) {
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
	data, err := c.t.pack(ctx, statusRecord{Status: status, Hold: fleet.Duration(c.hold)})
	if err != nil {
		return nil, err
	}
	c.seq, err = c.t.put(ctx, taskSubject(c.task.ID, statusKind), data, s.status.seq, 0)
	if errors.Is(err, errChanged) {
		c.t.delay(c.m, attemptPause)
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	c.claimed, c.status, c.until = c.seq, status, now.Add(c.hold)
	c.t.delay(c.m, c.hold)
	// From here on the claim is made. What cannot be learned now, Extend learns.
	if wish, err := c.t.get(ctx, taskSubject(c.task.ID, cancelKind)); err == nil && wish.seq > 0 {
		if c.canceled = true; wish.seq < c.claimed {
			c.t.done(ctx, c.m)
			return nil, nil
		}
	}
	// from now on the last owner learns that it is too late; if this fails, it learns that at its
	// next update
	if takeover {
		_ = c.sign(ctx) // see above
	}
	return c, nil
}

// Task implements [fleet.Claim].
func (c *claim) Task() fleet.Task { return c.task }

// Status implements [fleet.Claim].
func (c *claim) Status() fleet.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status
}

// Canceled implements [fleet.Claim].
func (c *claim) Canceled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.canceled
}

func (c *claim) isLost() error { return fmt.Errorf("task %s: %w", c.task.ID, fleet.ErrLost) }

// holds reports whether the claim has not ended by this machine's clock. Once it has, it stays so.
func (c *claim) holds(now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = c.lost || !now.Before(c.until)
	return !c.lost && c.ended == ""
}

// Extend implements [fleet.Claim].
func (c *claim) Extend(ctx context.Context) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	sent := time.Now()
	if !c.holds(sent) {
		return c.isLost()
	}
	if err := c.sign(ctx); err != nil {
		c.mu.Lock()
		c.lost = c.lost || errors.Is(err, fleet.ErrLost)
		c.mu.Unlock()
		return err
	}
	c.t.delay(c.m, c.hold)
	wish, err := c.t.get(ctx, taskSubject(c.task.ID, cancelKind))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.until = sent.Add(c.hold)
	c.canceled = c.canceled || err == nil && wish.seq > 0
	return nil
}

// sign gives a sign of life.
func (c *claim) sign(ctx context.Context) error {
	data, err := json.Marshal(claimRecord{c.claimed})
	if err != nil {
		return err
	}
	subject := taskSubject(c.task.ID, claimKind)
	for {
		seq, err := c.t.put(ctx, subject, data, c.beat.seq, 0)
		if err == nil {
			c.beat.seq = seq
			return nil
		}
		if !errors.Is(err, errChanged) {
			return err
		}
		// The owner before may have given a sign just before it lost the task.
		if c.beat, err = c.t.get(ctx, subject); err != nil {
			return err
		}
		now, err := c.t.get(ctx, taskSubject(c.task.ID, statusKind))
		if err != nil {
			return err
		}
		if now.seq != c.seq && !c.wrote(now) {
			return c.isLost()
		}
	}
}

// Update implements [fleet.Claim].
func (c *claim) Update(ctx context.Context, s fleet.Status) error {
	return c.write(ctx, s, "Update", s.State == fleet.Running)
}

// Finish implements [fleet.Claim].
func (c *claim) Finish(ctx context.Context, s fleet.Status) error {
	if s.Ended.IsZero() {
		s.Ended = c.ending()
	}
	return c.write(ctx, s, "Finish", s.State.Final())
}

// ending returns the time of the first call of Finish, so that a second one writes the same.
func (c *claim) ending() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.finished.IsZero() {
		c.finished = time.Now().UTC()
	}
	return c.finished
}

// Return implements [fleet.Claim].
func (c *claim) Return(ctx context.Context, s fleet.Status) error {
	return c.write(ctx, s, "Return", s.State == fleet.Queued || s.State == fleet.Paused)
}

// write writes a status. One that is not Running ends the claim; the same again does nothing. A
// claim that has expired may write until somebody else has the task.
func (c *claim) write(ctx context.Context, s fleet.Status, method string, fits bool) error {
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
	data, err := c.t.pack(ctx, statusRecord{Status: s, Claimed: c.claimed, Hold: fleet.Duration(c.hold)})
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
	return c.settle(ctx, s)
}

// still returns ErrLost unless the status is the one that this claim has written last.
func (c *claim) still(ctx context.Context) error {
	now, err := c.t.get(ctx, taskSubject(c.task.ID, statusKind))
	if err == nil && now.seq != c.seq {
		err = c.isLost()
	}
	return err
}

// store writes the status after the last one of this claim, which may be one of a call before whose
// outcome was unknown.
func (c *claim) store(ctx context.Context, data []byte) error {
	subject := taskSubject(c.task.ID, statusKind)
	for {
		seq, err := c.t.put(ctx, subject, data, c.seq, 0)
		if err == nil {
			c.seq = seq
			return nil
		}
		if !errors.Is(err, errChanged) {
			return err
		}
		now, err := c.t.get(ctx, subject)
		if err != nil {
			return err
		}
		same := bytes.Equal(now.data, data)
		if !same && !c.wrote(now) {
			return c.isLost()
		}
		if c.seq = now.seq; same {
			return nil
		}
	}
}

// wrote reports whether a status is a Running one of this claim.
func (c *claim) wrote(now record) bool {
	var r statusRecord
	return now.seq > 0 && json.Unmarshal(now.data, &r) == nil && r.Claimed == c.claimed &&
		r.Status.State == fleet.Running
}

// settle does with the message what the status says. What fails here, the next claimer does when
// the message comes again.
func (c *claim) settle(ctx context.Context, s fleet.Status) error {
	switch {
	case s.State.Final():
		c.t.done(ctx, c.m)
	case s.State == fleet.Running:
	case s.NotBefore.IsZero():
		c.t.again(c.m)
	default:
		if err := c.t.later(ctx, c.task.ID, s.NotBefore); err == nil {
			c.t.done(ctx, c.m)
		}
	}
	return nil
}
