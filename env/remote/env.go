package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/remote/internal/wire"
	"github.com/attractor-go/attractor/search"
)

// Env is an environment on the other side of a stream. All methods are safe for concurrent use.
// After the stream has broken, their errors wrap [env.ErrLost], unless the environment can dial
// again; see [Dial].
//
// Files that are written at once have at most 256 MiB, and the answer to one question, such as a
// listing, at most 32 MiB. Errors for more wrap fs.ErrInvalid. At most 384 commands, open files and
// locks exist at a time.
type Env struct {
	options Options
	// redial, if set, returns another stream to the same place. It is called when an operation
	// finds the stream broken, by one goroutine at a time.
	redial func(ctx context.Context) (io.ReadWriteCloser, error)

	mu      sync.Mutex
	current *conn
	dialing *dialing // nil while nobody dials
	closed  bool

	closing  sync.Once
	closeErr error
}

var (
	_ env.Environment = (*Env)(nil)
	_ env.Replacer    = (*Env)(nil)
	_ env.Locker      = (*Env)(nil)
	_ env.Resolver    = (*Env)(nil)
	_ env.Confined    = (*Env)(nil)
	_ env.Tree        = (*Env)(nil)
	_ env.DirOpener   = (*Env)(nil)
	_ search.Searcher = (*Env)(nil)
)

// New opens an environment on a stream whose other side serves one (serve.Serve). The stream's
// Close must end a Read that waits. New closes the stream if it fails, and Close does.
func New(ctx context.Context, stream io.ReadWriteCloser, o Options) (*Env, error) {
	c, err := newConn(ctx, stream, o, 1)
	if err != nil {
		return nil, err
	}
	return &Env{options: o, current: c}, nil
}

// dialing is an attempt to open another connection, for which any number of operations wait.
type dialing struct {
	cancel context.CancelFunc
	done   chan struct{}
	err    error
}

// redialTime limits one attempt to connect again, including the greeting.
const redialTime = time.Minute

// connect returns a connection for an operation that begins now. If it is broken and the
// environment can dial again, connect waits for that.
func (e *Env) connect(ctx context.Context) (*conn, error) {
	e.mu.Lock()
	c, d := e.current, e.dialing
	switch {
	case e.closed:
		e.mu.Unlock()
		return nil, fmt.Errorf("the environment is closed: %w", fs.ErrClosed)
	case !c.lost():
		e.mu.Unlock()
		return c, nil
	case e.redial == nil:
		e.mu.Unlock()
		return nil, c.notBegun()
	case d == nil:
		d = e.dial(ctx)
	}
	e.mu.Unlock()
	select {
	case <-d.done:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if d.err != nil {
		// only text, as in lostError
		return nil, fmt.Errorf("%w, and it could not be made again: %v", c.notBegun(), d.err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.current, nil
}

// dial begins to dial. The attempt goes on if the operation that has begun it is canceled, because
// others may wait too. It needs e.mu.
func (e *Env) dial(ctx context.Context) *dialing {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), redialTime)
	d := &dialing{cancel: cancel, done: make(chan struct{})}
	e.dialing = d
	number := e.current.number + 1
	go func() {
		defer close(d.done)
		defer cancel()
		c, err := e.again(ctx, number)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.dialing = nil
		if d.err = err; err == nil {
			e.current = c
		}
	}()
	return d
}

// again opens another connection.
func (e *Env) again(ctx context.Context, number int) (*conn, error) {
	stream, err := e.redial(ctx)
	if err != nil {
		return nil, err
	}
	return newConn(ctx, stream, e.options, number)
}

// welcome returns what the far side has said about itself.
func (e *Env) welcome() wire.Welcome {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.current.welcome
}

// WorkDir returns the working directory over there.
func (e *Env) WorkDir() string { return string(e.welcome().WorkDir) }

// Platform describes the machine over there.
func (e *Env) Platform() env.Platform { return e.welcome().Platform }

// Confinement returns what tools and commands can reach over there.
func (e *Env) Confinement() env.Confinement {
	w := e.welcome()
	c := w.Confinement.Env()
	c.Containment, c.HidesHost, c.KillGrace = string(w.Containment), w.HidesHost, w.Grace
	return c
}

// Abandoned returns the processes that an earlier helper, which was killed, had left over there and
// that were ended, one line each, and an error if ending them failed.
func (e *Env) Abandoned() ([]string, error) {
	w := e.welcome()
	return wire.Strings(w.Ended), w.EndedError.Err()
}

// Close ends everything that runs over there, and the stream. Its error says if that is not
// certain. Later calls return the same error.
func (e *Env) Close() error {
	e.closing.Do(func() { e.closeErr = e.close() })
	return e.closeErr
}

func (e *Env) close() error {
	e.mu.Lock()
	e.closed = true
	d := e.dialing
	e.mu.Unlock()
	if d != nil {
		d.cancel()
		<-d.done
	}
	c := e.current // nobody dials any more
	ctx, cancel := context.WithTimeout(context.Background(), c.welcome.Grace+c.end)
	defer cancel()
	var err error
	if !c.lost() {
		err = tell(ctx, c, wire.Request{Op: wire.OpClose})
	}
	return errors.Join(err, c.close())
}

// KillNow ends the stream and does not wait. The far side then ends everything. It is for a program
// that is about to exit; all others call Close.
func (e *Env) KillNow() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	if e.dialing != nil {
		e.dialing.cancel()
	}
	e.current.link.Fail(fs.ErrClosed)
	return nil
}

// close ends the connection.
func (c *conn) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	return c.link.Close(ctx)
}
