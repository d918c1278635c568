package protocol

import (
	"context"
	"errors"
	"fmt"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
)

// Do carries out a line that is not from the reader of Run, and returns its reply. It waits until the
// session has begun, and as long as the line takes, but not longer than ctx. It is safe for
// concurrent use.
func (c *Conversation) Do(ctx context.Context, line []byte) *Reply {
	in, err := decode(line)
	in.order = c.orders.Add(1)
	if err != nil {
		return c.answer(in, Reply{}, err)
	}
	select {
	case <-c.started:
	case <-ctx.Done():
		return c.answer(in, Reply{}, errors.New("the session has not begun yet"))
	}
	if in.Plan != "" { // an undo that has begun goes on without the page
		ctx = context.WithoutCancel(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-c.over:
			cancel(errEnding)
		case <-ctx.Done():
		}
	}()
	if r, controls := c.control(ctx, in); controls {
		if in.Type == TypeClose {
			c.stop(ErrClosed)
		}
		return r
	}
	r, err := c.give(ctx, in)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return c.answer(in, r, err)
}

// Worker works on the inputs of a session.
type Worker interface {
	// Begin begins an input, which may be a command, with more parts. It returns an error if one
	// runs already, or if none can begin now.
	Begin(ctx context.Context, text string, more []llm.Part) error
	// Running reports whether an input runs.
	Running() bool
	// Interrupt ends what runs.
	Interrupt()
	// Alone calls do, with a context of the host's, and lets nothing else begin until it has
	// returned what the host shows a person. If something runs, it returns an error instead. If ctx
	// ends before do, it does not wait any longer.
	Alone(ctx context.Context, what string, do func(ctx context.Context) (said string)) error
}

// Desk carries out single lines for a session whose host works on the inputs itself. It is safe for
// concurrent use.
type Desk struct {
	controls
	worker Worker
}

// NewDesk returns a desk for a session that has begun. The other parameters are those of [New].
func NewDesk(setup *attractor.Setup, session *agent.Session, asks *Asks, keep Keep,
	worker Worker) *Desk {
	return &Desk{controls: controls{setup: setup, asks: asks, keep: keep, session: session}, worker: worker}
}

// Do carries out a line and returns its reply. It waits as long as the line takes, but not longer
// than ctx.
func (d *Desk) Do(ctx context.Context, line []byte) *Reply {
	in, err := decode(line)
	if err != nil {
		return d.answer(in, Reply{}, err)
	}
	if r, controls := d.control(ctx, in); controls {
		return r
	}
	r, err := d.give(ctx, in)
	return d.answer(in, r, err)
}

// give carries out a line that is neither about asks nor about the state.
func (d *Desk) give(ctx context.Context, in *input) (r Reply, err error) {
	running := d.worker.Running()
	switch in.Type {
	case TypeUser, TypeFollowUp, TypeSteer:
		r.Queued, err = d.giveText(ctx, in, running, d.begin)
		return r, err
	case TypeInterrupt:
		if !running {
			return r, errors.New("nothing runs that could be interrupted")
		}
		d.setup.StopCommand()
		d.worker.Interrupt()
		return r, nil
	case TypeCompact:
		return r, d.session.Compact(ctx)
	case TypeSet:
		return r, d.change(ctx, in)
	case TypeDiff:
		return d.diff(ctx)
	case TypeUndo, TypeRedo:
		if running {
			return r, errRunning
		}
		return d.undoAlone(ctx, in)
	}
	return r, fmt.Errorf("%s is not for a session that a terminal has open", in.Type)
}

// undoAlone calls undo while the worker does nothing else. If ctx ends, it returns, and the undo goes
// on.
func (d *Desk) undoAlone(ctx context.Context, in *input) (Reply, error) {
	var r Reply
	var failed error
	err := d.worker.Alone(ctx, "taking changes back", func(ctx context.Context) string {
		if r, failed = d.undo(ctx, in); failed != nil || in.Plan == "" {
			return ""
		}
		return r.Text
	})
	if err != nil { // r may still be written
		return Reply{}, err
	}
	return r, failed
}

// begin begins an input.
func (d *Desk) begin(ctx context.Context, in *input) error {
	if in.Key != "" {
		return errors.New("key is not for a session that a terminal has open, unless an input runs")
	}
	parts, err := in.media()
	if err != nil {
		return err
	}
	return d.worker.Begin(ctx, in.Text, parts)
}
