package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"time"

	"github.com/google/uuid"

	"github.com/attractor-go/attractor/agent"
)

// Client is a tenant's view of its tasks. All methods are safe for concurrent use.
type Client struct{ space *Space }

// NewClient returns a client of a space.
func NewClient(s *Space) *Client { return &Client{space: s} }

// Submit checks a task and submits it. See [Task.Check] and [Tasks.Submit]. A task that exists
// keeps its status, also behind its deadline.
func (c *Client) Submit(ctx context.Context, t Task) (Status, bool, error) {
	if err := t.Check(); err != nil {
		return Status{}, false, fmt.Errorf("fleet: %w", err)
	}
	if !t.Deadline.IsZero() && !time.Now().Before(t.Deadline) {
		if _, _, err := c.space.Tasks.Get(ctx, t.ID); errors.Is(err, fs.ErrNotExist) {
			return Status{}, false, fmt.Errorf("fleet: deadline: %s is over", t.Deadline.Format(time.RFC3339))
		}
	}
	return c.space.Tasks.Submit(ctx, t)
}

// Steer gives a running task a message before its next step. A key that was used before does
// nothing, so a Steer whose outcome is unknown may be made again; without a key each Steer is a
// message of its own. It waits for an owner until ctx ends. The error for a task that has ended
// wraps fs.ErrClosed.
func (c *Client) Steer(ctx context.Context, id, text, key string) error {
	if key == "" {
		key = uuid.NewString()
	}
	return c.control(ctx, id, control{Do: doSteer, Text: text, Key: key})
}

// Interrupt ends what a task is doing: its input ends as interrupted, and the task is done. It
// waits for an owner until ctx ends. The error for a task that has ended wraps fs.ErrClosed.
func (c *Client) Interrupt(ctx context.Context, id string) error {
	return c.control(ctx, id, control{Do: doInterrupt})
}

// Cancel ends a task for good. See [Tasks.Cancel].
func (c *Client) Cancel(ctx context.Context, id string) error {
	if err := c.space.Tasks.Cancel(ctx, id); err != nil {
		return err
	}
	if request, err := json.Marshal(control{Do: doCancel}); err == nil {
		_, _ = c.space.Bus.Request(ctx, id, request) // it is canceled already; this tells its owner sooner
	}
	return nil
}

// The times between two attempts to reach a task's owner.
const (
	firstRetry   = 20 * time.Millisecond
	longestRetry = time.Second
)

// control sends a request to the owner of a task, and again until an owner has carried it out.
func (c *Client) control(ctx context.Context, id string, request control) error {
	data, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("fleet: %w", err)
	}
	var failed error // why the last attempt has failed, unless that was for want of an owner
	for wait := firstRetry; ; wait = min(2*wait, longestRetry) {
		reply, err := c.request(ctx, id, data)
		switch {
		case err == nil && reply.Error != "":
			return errors.New("fleet: the task's owner: " + reply.Error)
		case err == nil && !reply.Leaving:
			return nil
		case ctx.Err() != nil:
			return gaveUp(ctx, failed)
		}
		_, s, err := c.space.Tasks.Get(ctx, id)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return err
		case err == nil && s.State.Final():
			return fmt.Errorf("fleet: the task %s has ended (%s): %w", id, s.State, fs.ErrClosed)
		case ctx.Err() == nil:
			failed = err
		}
		if !pause(ctx, wait) {
			return gaveUp(ctx, failed)
		}
	}
}

// gaveUp returns the error of a call whose context has ended, with that of the last attempt, if
// there is one.
func gaveUp(ctx context.Context, failed error) error {
	if failed == nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("%w; the last attempt: %w", context.Cause(ctx), failed)
}

// request makes one request.
func (c *Client) request(ctx context.Context, id string, data []byte) (reply controlReply, err error) {
	text, err := c.space.Bus.Request(ctx, id, data)
	if err != nil {
		return reply, err
	}
	return reply, json.Unmarshal(text, &reply)
}

// Asked yields the asks without an answer, of one task or, if id is empty, of all, ordered by their
// time. The error for an unknown task wraps fs.ErrNotExist.
func (c *Client) Asked(ctx context.Context, id string) iter.Seq2[Ask, error] {
	return func(yield func(Ask, error) bool) {
		if id != "" {
			if _, _, err := c.space.Tasks.Get(ctx, id); err != nil {
				yield(Ask{}, err)
				return
			}
		}
		c.space.Asks.Open(ctx, id)(yield)
	}
}

// Answer answers an ask. See [Asks.Answer].
func (c *Client) Answer(ctx context.Context, task, id string, a Answer) error {
	if a.At.IsZero() {
		a.At = time.Now().UTC()
	}
	return c.space.Asks.Answer(ctx, task, id, a)
}

// Wait waits for the end of a task.
func (c *Client) Wait(ctx context.Context, id string) (Status, error) {
	for s, err := range c.Statuses(ctx, id) {
		if err != nil || s.State.Final() {
			return s, err
		}
	}
	return Status{}, context.Cause(ctx)
}

// Statuses yields the status of a task, or of all tasks if id is empty, as [Tasks.Watch] does, over
// failures of the engine: a status may come again after one. It ends with ctx, or after the final
// status of the task.
func (c *Client) Statuses(ctx context.Context, id string) iter.Seq2[Status, error] {
	return func(yield func(Status, error) bool) {
		for wait := firstRetry; ; wait = min(2*wait, longestRetry) {
			for s, err := range c.space.Tasks.Watch(ctx, id) {
				if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
					yield(s, err)
					return
				}
				if err != nil {
					break
				}
				wait = firstRetry
				if !yield(s, nil) || id != "" && s.State.Final() {
					return
				}
			}
			if !pause(ctx, wait) {
				yield(Status{}, context.Cause(ctx))
				return
			}
		}
	}
}

// Artifact opens an artifact of a task, see Status.Artifacts. The caller closes it.
func (c *Client) Artifact(ctx context.Context, id, name string) (io.ReadCloser, error) {
	return c.space.Objects.Open(ctx, artifactName(id, name))
}

// control is a request to a task's owner.
type control struct {
	Do   controlAct `json:"do"`
	Text string     `json:"text,omitempty"`
	Key  string     `json:"key,omitempty"`
}

// controlAct names what the owner is asked to do.
type controlAct string

const (
	doSteer     controlAct = "steer"
	doInterrupt controlAct = "interrupt"
	doCancel    controlAct = "cancel" // the engine says so, too; this is only faster
)

// controlReply is the owner's reply.
type controlReply struct {
	Error string `json:"error,omitempty"`
	// Leaving says that the session is being given away: the next owner is to be asked.
	Leaving bool `json:"leaving,omitempty"`
}

// serve answers requests for the task until stop is called.
func (j *Job) serve() (stop func(), err error) {
	stop, err = j.Space.Bus.Serve(j.hold, j.Task.ID, func(ctx context.Context, request []byte) []byte {
		reply, err := json.Marshal(j.answerControl(ctx, request))
		if err != nil { // a controlReply always has JSON
			return nil
		}
		return reply
	})
	if err != nil {
		return func() {}, err
	}
	return stop, nil
}

// answerControl carries out a request and returns the reply.
func (j *Job) answerControl(ctx context.Context, request []byte) controlReply {
	var c control
	if err := json.Unmarshal(request, &c); err != nil {
		return controlReply{Error: "the request is no JSON of this protocol: " + err.Error()}
	}
	if j.stop.Err() != nil || !j.gate.open() {
		return controlReply{Leaving: true}
	}
	switch c.Do {
	case doSteer:
		err := j.session.Load().Steer(ctx, c.Text, agent.Key(c.Key))
		if errors.Is(err, agent.ErrReleased) || errors.Is(err, agent.ErrTakenOver) || errors.Is(err, agent.ErrClosed) {
			return controlReply{Leaving: true}
		}
		if err != nil {
			return controlReply{Error: err.Error()}
		}
	case doInterrupt:
		j.endStop(errInterrupted)
	case doCancel:
		j.extend()
	default:
		return controlReply{Error: fmt.Sprintf("this worker does not know %q: it may be of an older version", c.Do)}
	}
	return controlReply{}
}
