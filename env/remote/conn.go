package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/remote/internal/wire"
	"github.com/attractor-go/attractor/internal/guard"
)

// settleTime limits how long a canceled change waits to learn whether it has happened.
const settleTime = 2 * time.Second

// conn is one connection to a helper.
type conn struct {
	link    *wire.Link
	welcome wire.Welcome
	number  int           // of this connection in its Env, from 1
	short   chan struct{} // has an element for each operation that does not last
	lasting chan struct{} // and for each that does
	// how long the answer to the end of something is waited for, besides the grace time of
	// processes
	end time.Duration
}

// newConn greets the far side. It owns the stream.
func newConn(ctx context.Context, stream io.ReadWriteCloser, o Options, number int) (*conn, error) {
	link, err := wire.Near(stream, o.Silence)
	if err != nil {
		return nil, err
	}
	c := &conn{link: link, number: number, short: make(chan struct{}, wire.MaxOperations-wire.MaxLasting),
		lasting: make(chan struct{}, wire.MaxLasting), end: closeTime}
	greeting, cancel := context.WithTimeoutCause(ctx, wire.GreetingTime, errNoGreeting)
	defer cancel()
	if err := c.greet(greeting, o); err != nil {
		err = fmt.Errorf("open an environment on a stream: %w", err)
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		return nil, errors.Join(err, link.Close(closing))
	}
	return c, nil
}

// closeTime limits how long the end of a connection waits for the stream's Close, and the end of
// something over there for its answer.
const closeTime = 10 * time.Second

var errNoGreeting = errors.New("the other side has not answered the greeting in time; is a helper running there?")

func (c *conn) greet(ctx context.Context, o Options) error {
	hello := wire.Hello{Magic: wire.Magic, Oldest: wire.OldestVersion, Newest: wire.NewestVersion, Options: o.wire()}
	w, err := ask[wire.Welcome](ctx, c, wire.Request{Op: wire.OpHello, Hello: &hello})
	if err != nil {
		return err
	}
	if w.Version < wire.OldestVersion || w.Version > wire.NewestVersion {
		return &VersionError{wire.OldestVersion, wire.NewestVersion, w.Oldest, w.Newest}
	}
	w.Grace = min(max(w.Grace, 0), max(cmp.Or(o.Grace, env.DefaultGrace), 0)) // others wait for so long
	c.welcome = w
	return nil
}

// lost reports whether the connection has broken.
func (c *conn) lost() bool {
	select {
	case <-c.link.Done():
		return true
	default:
		return false
	}
}

// explain returns the error of an operation. Errors of the stream end the connection.
func (c *conn) explain(err error) error {
	var broken *wire.Broken
	if !errors.As(err, &broken) {
		return err
	}
	_ = c.link.Broke(broken.Err) // lostError has it
	return c.lostError()
}

// lostError returns the error of an operation that was under way when the connection broke. Who
// shows it says what may have happened. It has the reason only as text: errors.Is must not take it
// for the end of a file (io.EOF), or for a file that does not exist.
func (c *conn) lostError() error {
	return fmt.Errorf("%w (%v)", env.ErrLost, c.link.Reason())
}

// enter waits for the turn of an operation.
func (c *conn) enter(ctx context.Context, op wire.Op) (leave func(), err error) {
	turns := c.short
	if op.Lasting() {
		turns = c.lasting
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, turnTime, wire.ErrBusy)
		defer cancel()
	}
	select {
	case turns <- struct{}{}:
		return func() { <-turns }, nil
	case <-c.link.Done():
		return nil, c.notBegun()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// turnTime limits how long an operation waits for others that last, because these may last for
// ever.
const turnTime = 10 * time.Second

// notBegun returns the error of an operation that found the connection broken, with the reason as
// text, too.
func (c *conn) notBegun() error {
	return fmt.Errorf("%w (%v)", env.ErrLostBefore, c.link.Reason())
}

// operation is the stream of an operation, and its turn.
type operation struct {
	*wire.Stream
	leave func() // may be called again
}

// Close ends the operation.
func (o *operation) Close() {
	o.Stream.Close()
	o.leave()
}

// Cancel ends the operation without waiting for the connection.
func (o *operation) Cancel() {
	o.Stream.Cancel()
	o.leave()
}

// begin opens a stream and sends a request.
func (c *conn) begin(r wire.Request, leave func()) (*operation, error) {
	s, err := c.link.Open()
	if err != nil {
		leave()
		return nil, err
	}
	o := &operation{s, sync.OnceFunc(leave)}
	if err := s.Request(r); err != nil {
		o.Close()
		return nil, err
	}
	return o, nil
}

// ask asks one question.
func ask[T any](ctx context.Context, c *conn, r wire.Request) (v T, err error) {
	return converse(ctx, c, r, func(o *operation) (v T, err error) {
		defer o.Close()
		err = o.Answer(&v)
		return v, err
	})
}

// tell asks for a change, which has no answer but its end.
func tell(ctx context.Context, c *conn, r wire.Request) error {
	_, err := converse(ctx, c, r, func(o *operation) (struct{}, error) {
		defer o.Close()
		return struct{}{}, o.Answer(nil)
	})
	return err
}

// converse begins an operation and calls talk on a goroutine, which closes the operation unless it
// lasts. When the context ends, converse cancels the operation and returns the context's cause;
// only for a change it waits for a short time to learn whether it has happened.
func converse[T any](ctx context.Context, c *conn, r wire.Request, talk func(*operation) (T, error)) (v T, err error) {
	if err := context.Cause(ctx); err != nil {
		return v, err
	}
	leave, err := c.enter(ctx, r.Op)
	if err != nil {
		return v, err
	}
	opened := make(chan *operation, 1)
	ended := guard.Start("an operation", func() (v T, err error) {
		o, err := c.begin(r, leave)
		opened <- o
		if err != nil {
			return v, err
		}
		return talk(o)
	})
	select {
	case o := <-ended:
		return o.Value, c.explain(o.Err)
	case <-ctx.Done():
	}
	if r.Op.Changes() {
		return settle(ctx, c, opened, ended)
	}
	go func() {
		if o := <-opened; o != nil {
			o.Cancel()
		}
	}()
	return v, context.Cause(ctx)
}

// settle cancels a change and waits for its outcome.
func settle[T any](ctx context.Context, c *conn, opened <-chan *operation,
	ended <-chan guard.Result[T]) (v T, err error) {
	enough := time.NewTimer(settleTime)
	defer enough.Stop()
	go func() {
		if o := <-opened; o != nil {
			o.Stream.Close() // the answer can still be read
		}
	}()
	select {
	case o := <-ended:
		switch {
		case o.Err == nil:
			return o.Value, nil
		case c.lost():
			return v, errors.Join(context.Cause(ctx), c.lostError())
		}
		return v, context.Cause(ctx)
	case <-enough.C:
		return v, fmt.Errorf("%w; whether this had an effect is unknown", context.Cause(ctx))
	}
}

// pathError returns an operation's error with the name of the file. Errors of the far side have one
// already.
func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	if p, ok := err.(*fs.PathError); ok {
		return p
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
