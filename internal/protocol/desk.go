package protocol

import (
	"context"
	"errors"
	"fmt"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
)

// Do carries out a line that comes from elsewhere than the input of Run, and returns its reply. It
// waits until the session has begun, and as long as the line takes, but not longer than ctx. It is
// safe for concurrent use.
func (c *Conversation) Do(ctx context.Context, line []byte) *Reply {
	in, err := decode(line)
	in.order = c.orders.Add(1)
	if err != nil {
		return c.answer(in, Reply{}, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	select {
	case <-c.started:
	case <-ctx.Done():
		return c.answer(in, Reply{}, errors.New("the session has not begun yet"))
	}
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
	queued, err := c.give(ctx, in)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return c.answer(in, Reply{Queued: queued && err == nil}, err)
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
}

// Desk carries out single lines for a session whose host works on the inputs itself. It is safe for
// concurrent use.
type Desk struct {
	controls
	worker Worker
}

// NewDesk returns a desk for a session that has begun. The other parameters are those of [New].
func NewDesk(setup *attractor.Setup, session *agent.Session, asks *Asks, keep func(ctx context.Context,
	rules []string) (file string, err error), worker Worker) *Desk {
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
	queued, err := d.give(ctx, in)
	return d.answer(in, Reply{Queued: queued && err == nil}, err)
}

// give does what a line says that is neither about asks nor about the state.
func (d *Desk) give(ctx context.Context, in *input) (queued bool, err error) {
	running := d.worker.Running()
	switch in.Type {
	case TypeUser, TypeFollowUp, TypeSteer:
		return d.giveText(ctx, in, running)
	case TypeInterrupt:
		if !running {
			return false, errors.New("nothing runs that could be interrupted")
		}
		d.setup.StopCommand()
		d.worker.Interrupt()
		return false, nil
	case TypeCompact:
		return false, d.session.Compact(ctx)
	case TypeSet:
		return false, d.change(ctx, in)
	}
	return false, fmt.Errorf("%s is not for a session that a terminal has open", in.Type)
}

// giveText begins an input, queues it behind the running one, or steers that.
func (d *Desk) giveText(ctx context.Context, in *input, running bool) (queued bool, err error) {
	switch {
	case !running && in.Type == TypeSteer:
		return false, errSteer
	case !running && in.Key != "":
		return false, errors.New("key is not for a session that a terminal has open, unless an input runs")
	case !running:
		parts, err := in.media()
		if err != nil {
			return false, err
		}
		return false, d.worker.Begin(ctx, in.Text, parts)
	}
	more, err := in.options()
	if err != nil {
		return false, err
	}
	if in.Type == TypeSteer {
		return false, d.session.Steer(ctx, in.Text, more...)
	}
	return true, d.setup.FollowUp(ctx, d.session, in.Text, more...)
}
