package protocol

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
)

// Do carries out a line that is not from the reader of Run, and returns its reply. It waits until
// the session has begun, and as long as the line takes, but not longer than ctx. It is safe for
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
	if c.Host != nil {
		switch {
		case in.Type == TypeClose || in.Type == TypeTools:
			return c.answer(in, Reply{}, fmt.Errorf("%s is not for a session that a terminal has open", in.Type))
		case in.Type == TypeInterrupt && c.session.Status() == agent.StatusIdle:
			return c.answer(in, Reply{}, errors.New("nothing runs that could be interrupted"))
		}
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

// Host shows a person the session, and has it work by Send, ContinueLast, Compact, Alone and
// Interrupt.
type Host interface {
	// Begin calls begin, which begins an input with the text of a line, or returns why that cannot
	// be.
	Begin(text string, begin func() error) error
	// Rested tells how the last input has ended. The next one begins when Rested has returned.
	Rested(result *agent.Result, err error)
	// Undone tells what has become of an undo of a line.
	Undone(text string)
}

// Serve works on what Do and the host bring, until ctx or the session ends.
func (c *Conversation) Serve(ctx context.Context, session *agent.Session) {
	in, never := io.Pipe()
	defer never.Close()                // which never fails
	_, _ = c.Run(ctx, session, in, "") // the host learns how inputs end
}

// Send begins an input of the host's, or queues it after the running one. A plain text is no
// command.
func (c *Conversation) Send(ctx context.Context, text string, plain bool, parts ...llm.Part) error {
	<-c.started
	if c.session.Status() == agent.StatusClosed {
		return c.session.Begin(ctx, text) // which says why it has ended
	}
	_, err := c.give(ctx, &input{Type: TypeUser, fields: fields{Text: text}, parts: parts, plain: plain, own: true,
		order: c.orders.Add(1)})
	return err
}

// Compact is [agent.Session.Compact] for a host. Nothing else is given to the session meanwhile.
func (c *Conversation) Compact(ctx context.Context) error {
	<-c.started
	_, err := c.give(ctx, &input{Type: TypeCompact})
	return err
}

// Interrupt ends the input that runs, or is about to begin.
func (c *Conversation) Interrupt() {
	c.interrupted.Store(c.orders.Add(1))
	c.interrupt()
}

// Alone calls do while nothing else works on the session and no input begins. If something does, it
// returns an error, but waits for the end of an input that the host was told of. Meanwhile lines
// are told what is done. The end of ctx ends only the wait.
func (c *Conversation) Alone(ctx context.Context, what string, do func() error) error {
	c.giving.Lock()
	c.settle(ctx)
	if c.running {
		c.giving.Unlock()
		return cmp.Or(context.Cause(ctx), errors.New("an input is running: interrupt it or wait for its end"))
	}
	c.alone = what
	c.giving.Unlock()
	defer func() {
		c.giving.Lock()
		defer c.giving.Unlock()
		c.alone = ""
	}()
	return do()
}
