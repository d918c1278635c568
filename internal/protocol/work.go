package protocol

import (
	"context"
	"errors"
	"fmt"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
)

// give gives the session the work of a line, and returns what its reply has besides the error.
func (c *Conversation) give(ctx context.Context, in *input) (r Reply, err error) {
	if in.Type == TypeDiff { // the session need not wait for it
		return c.diff(ctx)
	}
	c.giving.Lock()
	defer c.giving.Unlock()
	c.settle(ctx)
	switch {
	case c.finished:
		return r, errEnding
	case c.alone != "" && in.Type != TypeSet:
		return r, fmt.Errorf("not yet: %s", c.alone)
	}
	switch in.Type {
	case TypeUser, TypeFollowUp, TypeSteer:
		return c.giveText(ctx, in)
	case TypeContinue:
		return r, c.giveContinue()
	case TypeCompact:
		return r, c.session.Compact(ctx)
	case TypeTools:
		return r, c.tools.offer(ctx, c.session, *in.Tools)
	case TypeUndo, TypeRedo:
		if c.running {
			return r, errRunning
		}
		r, err = c.undo(ctx, in)
		if c.Host != nil && err == nil && in.Plan != "" {
			c.Host.Undone(r.Text)
		}
		return r, err
	}
	return r, c.change(ctx, in)
}

// settle waits until the worker is idle or works on the next input, if the program already knows
// that the input before has ended. So what a line means does not depend on how fast the program
// sends it. c.giving is held, but not while settle waits.
func (c *Conversation) settle(ctx context.Context) {
	for c.running && ctx.Err() == nil {
		next, ended := c.told.ended()
		if !ended {
			return
		}
		rested := c.rested
		c.giving.Unlock()
		select {
		case <-rested:
		case <-next:
		case <-ctx.Done():
		}
		c.giving.Lock()
	}
}

// giveText begins an input, queues it after the running one, or steers that.
func (c *Conversation) giveText(ctx context.Context, in *input) (r Reply, err error) {
	if !c.running {
		if in.Type == TypeSteer {
			return r, errSteer
		}
		if c.Host == nil || in.own {
			return r, c.begin(ctx, in)
		}
		return r, c.Host.Begin(in.Text, func() error { return c.begin(ctx, in) })
	}
	more, err := in.options()
	switch {
	case err != nil:
		return r, err
	case in.Type == TypeSteer:
		return r, c.session.Steer(ctx, in.Text, more...)
	}
	err = c.setup.FollowUp(ctx, c.session, in.Text, more...)
	r.Queued = err == nil
	return r, err
}

// begin begins an input. One that an earlier process has left open ends first.
func (c *Conversation) begin(ctx context.Context, in *input) error {
	more, err := in.options()
	if err != nil {
		return err
	}
	if c.session.Status() == agent.StatusProcessing {
		c.session.Interrupt()
		if _, err := c.advance(ctx); err != nil {
			return err
		}
	}
	begin := c.setup.Begin
	if in.plain {
		begin = beginPlain
	}
	restore, err := begin(ctx, c.session, in.Text, more...)
	if err != nil {
		return err
	}
	if c.session.Status() != agent.StatusProcessing { // the key is known: the session has had this input
		return restore()
	}
	c.restore = restore
	if c.interrupted.Load() > in.order { // by a line that came meanwhile
		c.session.Interrupt()
	}
	c.start(true)
	return nil
}

// beginPlain is [attractor.Setup.Begin] for a text that is no command.
func beginPlain(ctx context.Context, session *agent.Session, text string,
	more ...agent.SendOption) (restore func() error, err error) {
	return func() error { return nil }, session.Begin(ctx, text, more...)
}

// giveContinue goes on with an input that did not come to its end.
func (c *Conversation) giveContinue() error {
	last := c.session.Result()
	switch {
	case c.running:
		return errors.New("an input is running already")
	case c.session.Status() == agent.StatusProcessing: // left open by an earlier process
	case last == nil:
		return errors.New("there is no input to continue; send user")
	case last.Reason == agent.ReasonCompleted || last.Reason == agent.ReasonDone:
		return errors.New("the last input is complete; send user")
	}
	c.start(true)
	return nil
}

// start gives the worker, which has none, work: an input that it has to continue, or only what is
// in the queue. c.giving is held.
func (c *Conversation) start(begun bool) {
	c.running, c.rested = true, make(chan struct{})
	c.told.begin()
	c.wake <- begun
}

// work works until the session is at rest. What is given to it meanwhile is done as well.
func (c *Conversation) work(ctx context.Context, begun bool) {
	for begun || c.next(ctx) {
		begun = false
		c.result, c.err = c.session.Continue(ctx)
		for errors.Is(c.err, agent.ErrBusy) { // a compaction, which a line gave
			c.waitForLine()
			c.result, c.err = c.session.Continue(ctx)
		}
		if c.Host != nil {
			c.Host.Rested(c.result, c.err)
		}
	}
}

// waitForLine waits until the line that gives the session work has done so.
func (c *Conversation) waitForLine() {
	c.giving.Lock()
	defer c.giving.Unlock()
}

// next begins the next input of the queue. If there is none, it marks the worker as idle and
// returns false.
func (c *Conversation) next(ctx context.Context) bool {
	c.giving.Lock()
	defer c.giving.Unlock()
	begun, err := c.advance(ctx)
	if begun {
		return true
	}
	cut := ctx.Err() != nil && c.session.Status() != agent.StatusProcessing // the last input came to its end before
	ended := c.err != nil && errors.Is(c.err, agent.ErrClosed)              // by that failure
	if err != nil && !cut && !ended {
		c.result, c.err = c.session.Result(), err
	}
	c.running = false
	defer close(c.rested)
	if c.restore != nil {
		if err := c.restore(); err != nil && !errors.Is(err, agent.ErrClosed) {
			c.err = err
		}
		c.restore = nil
	}
	return false
}

// advance takes steps until the session is at rest, or has begun an input of its queue.
func (c *Conversation) advance(ctx context.Context) (begun bool, err error) {
	for {
		step, err := c.session.Advance(ctx)
		if err != nil || step.Act == agent.ActRest || step.Act == agent.ActBeginInput {
			return err == nil && step.Act == agent.ActBeginInput, err
		}
	}
}

// options returns what a line has beside its text.
func (in *input) options() (more []agent.SendOption, err error) {
	parts, err := in.media()
	if in.Key != "" {
		more = append(more, agent.Key(in.Key))
	}
	if parts != nil {
		more = append(more, agent.Attach(parts...))
	}
	return more, err
}

// media returns the parts of a prompt, and then the images of the line.
func (in *input) media() ([]llm.Part, error) {
	parts := in.parts
	for i, image := range in.Images {
		read := func() (llm.Media, error) { return decodeImage(image.MediaType, image.Data) }
		if image.Path != "" {
			read = func() (llm.Media, error) { return ReadImage(image.Path) }
		}
		media, err := read()
		if err != nil {
			return nil, fmt.Errorf("images[%d]: %w", i, err)
		}
		parts = append(parts, media)
	}
	return parts, nil
}

// GoOn goes on with what an earlier process has left: an open input, and those in the queue. It
// waits until Run has begun.
func (c *Conversation) GoOn() {
	<-c.started
	c.giving.Lock()
	defer c.giving.Unlock()
	if c.finished || c.running {
		return
	}
	c.start(c.session.Status() == agent.StatusProcessing)
}
