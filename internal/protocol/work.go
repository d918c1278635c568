package protocol

import (
	"context"
	"errors"
	"fmt"
	"time"

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
	if c.finished {
		return r, errEnding
	}
	switch in.Type {
	case TypeUser, TypeFollowUp, TypeSteer:
		r.Queued, err = c.giveText(ctx, in)
	case TypeContinue:
		err = c.giveContinue()
	case TypeCompact:
		c.compacting.Lock()
		defer c.compacting.Unlock()
		err = c.session.Compact(ctx)
	case TypeTools:
		err = c.tools.offer(ctx, c.session, *in.Tools)
	case TypeUndo, TypeRedo:
		if c.running {
			return r, errRunning
		}
		return c.undo(ctx, in)
	default:
		err = c.change(ctx, in)
	}
	r.Queued = r.Queued && err == nil
	return r, err
}

// settle waits until the worker is idle or works on the next input, if the program already knows
// that the input before has ended. So what a line means does not depend on how fast the program sends
// it. c.giving is held, but not while settle waits.
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
func (c *Conversation) giveText(ctx context.Context, in *input) (queued bool, err error) {
	if in.Type == TypeSteer && !c.running {
		return false, errSteer
	}
	more, err := in.options()
	if err != nil {
		return false, err
	}
	switch {
	case in.Type == TypeSteer:
		err = c.session.Steer(ctx, in.Text, more...)
	case c.running:
		queued, err = true, c.setup.FollowUp(ctx, c.session, in.Text, more...)
	default:
		err = c.begin(ctx, in, more)
	}
	if err == nil && (queued || c.begun) {
		c.notify()
	}
	return queued, err
}

// begin begins an input. One that an earlier process has left open ends first.
func (c *Conversation) begin(ctx context.Context, in *input, more []agent.SendOption) error {
	if c.session.Status() == agent.StatusProcessing {
		c.session.Interrupt()
		if err := c.advance(ctx); err != nil {
			return err
		}
	}
	if in.plain {
		if err := c.session.Begin(ctx, in.Text, more...); err != nil {
			return err
		}
	} else {
		restore, err := c.setup.Begin(ctx, c.session, in.Text, more...)
		if err != nil {
			return err
		}
		c.restore = append(c.restore, restore)
	}
	if c.session.Status() != agent.StatusProcessing { // the key is known: the session has had this input
		return c.restoreAll()
	}
	c.begun = true
	if c.interrupted.Load() > in.order { // by a line that came meanwhile
		c.session.Interrupt()
	}
	return nil
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
	c.begun = true
	c.notify()
	return nil
}

// notify tells the worker that there is work.
func (c *Conversation) notify() {
	c.accepted++
	if !c.running {
		c.running, c.rested = true, make(chan struct{})
		c.told.begin()
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// work works until there is nothing to do. What is given to the session meanwhile is done as well.
func (c *Conversation) work(ctx context.Context) {
	for {
		c.giving.Lock()
		running, accepted, begun := c.running, c.accepted, c.begun
		c.begun = false
		c.giving.Unlock()
		if !running { // the work that it was notified of is done already
			return
		}
		if begun {
			c.note(c.session.Continue(ctx))
		}
		err := c.advance(ctx)
		cut := ctx.Err() != nil && c.session.Status() != agent.StatusProcessing // the last input came to its end before
		ended := c.err != nil && errors.Is(err, agent.ErrClosed)                // by that failure
		if err != nil && !cut && !ended {
			c.note(c.session.Result(), err)
		}
		if c.endWork(accepted) {
			return
		}
	}
}

// endWork marks the worker as idle and returns true, unless there is more work than it has seen.
func (c *Conversation) endWork(accepted int) bool {
	c.giving.Lock()
	defer c.giving.Unlock()
	if c.accepted != accepted && c.session.Status() != agent.StatusClosed {
		return false
	}
	c.running = false
	defer close(c.rested)
	if err := c.restoreAll(); err != nil && !errors.Is(err, agent.ErrClosed) {
		c.note(c.result, err)
	}
	return true
}

// restoreAll undoes what commands have changed. c.giving is held.
func (c *Conversation) restoreAll() (err error) {
	for _, restore := range c.restore {
		err = errors.Join(err, restore())
	}
	c.restore = nil
	return err
}

// advance takes steps until the session is idle: of an open input, and of queued ones.
func (c *Conversation) advance(ctx context.Context) error {
	for {
		step, err := c.session.Advance(ctx)
		switch {
		case errors.Is(err, agent.ErrBusy): // a compaction
			c.compacting.Lock()
			c.compacting.Unlock() //nolint:staticcheck // this only waits
		case err != nil && ctx.Err() != nil && c.session.Status() == agent.StatusProcessing:
			return err // the input stays open
		case err != nil || step.Act == agent.ActRest:
			return err
		case step.Act == agent.ActBeginInput:
			c.note(c.session.Continue(ctx))
		case step.Act == agent.ActWait:
			if err := sleep(ctx, time.Until(step.Until)); err != nil {
				return err
			}
		}
	}
}

// sleep waits for a time.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// note keeps the outcome of an input.
func (c *Conversation) note(result *agent.Result, err error) { c.result, c.err = result, err }

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
	c.begun = c.session.Status() == agent.StatusProcessing
	c.notify()
}
