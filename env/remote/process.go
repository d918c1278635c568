package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"sync"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/remote/internal/wire"
	"github.com/attractor-go/attractor/internal/guard"
)

// Start implements env.Environment. The command runs over there, and ends there at the latest with
// the connection: then Wait returns an error that wraps env.ErrLost. Output that nobody takes makes
// only this command wait.
func (e *Env) Start(ctx context.Context, cmd env.Command) (env.Process, error) {
	c, err := e.connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("start command: %w", err)
	}
	p, err := converse(ctx, c, wire.Request{Op: wire.OpStart, Command: commandOf(cmd)}, func(o *operation) (*process,
		error) {
		p, err := started(c, o, cmd)
		if err != nil {
			o.Close()
		}
		return p, err
	})
	if err != nil {
		return nil, startError(err)
	}
	go p.follow(cmd)
	return p, nil
}

// startError returns the error of a command that did not start. One of the far side says already
// what it is about.
func startError(err error) error {
	if errors.Is(err, env.ErrLost) || errors.Is(err, context.Canceled) {
		return fmt.Errorf("start command: %w", err)
	}
	return err
}

// commandOf returns a command for the wire.
func commandOf(cmd env.Command) *wire.Command {
	return &wire.Command{Script: wire.Text(cmd.Script), Dir: wire.Text(cmd.Dir), Env: wire.Texts(cmd.Env),
		Stdin: cmd.Stdin, TTY: cmd.TTY}
}

// started waits until a command has started.
func started(c *conn, o *operation, cmd env.Command) (*process, error) {
	m, err := o.Receive(nil)
	if err == nil && m.Type != wire.TypeStarted {
		err = failure(m)
	}
	var s wire.Started
	if err == nil {
		err = m.Into(wire.TypeStarted, &s)
	}
	if err != nil {
		return nil, err
	}
	p := &process{conn: c, o: o, far: s.ID, id: string(s.ID), done: make(chan struct{})}
	if c.number > 1 { // ids of an earlier connection may be the same
		p.id = strconv.Itoa(c.number) + "." + p.id
	}
	if s.Input {
		p.in = &input{process: p}
	}
	return p, nil
}

// process is a command over there.
type process struct {
	conn *conn
	o    *operation
	id   string
	far  wire.Text // its id over there
	in   *input    // nil without input

	done chan struct{} // closed when exit and err are set
	exit env.Exit
	err  error
}

// follow delivers a command's output until its end.
func (p *process) follow(cmd env.Command) {
	defer close(p.done)
	exit, err := p.receive(cmd)
	if err != nil {
		p.exit, p.err = env.Exit{Code: -1}, fmt.Errorf("wait for the command: %w", p.conn.explain(err))
	} else {
		p.exit = exit
	}
	if p.in != nil {
		p.in.end(fs.ErrClosed)
	}
	p.o.Close()
}

// receive receives a command's messages to the last.
func (p *process) receive(cmd env.Command) (exit env.Exit, err error) {
	buf := make([]byte, wire.MaxData)
	var answer []byte
	for {
		m, err := p.o.Receive(buf)
		if err != nil {
			return exit, err
		}
		switch m.Type {
		case wire.TypeStdout, wire.TypeStderr:
			if cmd.Output != nil && len(m.Payload) > 0 {
				cmd.Output(env.Stdout+int(m.Type-wire.TypeStdout), m.Payload)
			}
		case wire.TypeEnded:
			if cmd.Ended != nil && len(m.Payload) == 1 && (m.Payload[0] == env.Stdout || m.Payload[0] == env.Stderr) {
				cmd.Ended(int(m.Payload[0]))
			}
		case wire.TypeInput:
			failure, err := m.Failure()
			if err != nil {
				return exit, err
			}
			if p.in != nil && failure != nil {
				p.in.end(failure)
			}
		case wire.TypeAnswer:
			if answer = append(answer, m.Payload...); len(answer) > wire.MaxRequest {
				return exit, &wire.Broken{Err: fmt.Errorf("an exit of more than %d bytes: %w", wire.MaxRequest,
					wire.ErrProtocol)}
			}
		default:
			failure, err := m.Failure()
			if err = cmp.Or(err, failure); err != nil {
				return exit, err
			}
			return exit, wire.Decode(answer, &exit)
		}
	}
}

// ID returns the id, such as p1, or 2.p1 after the second connection.
func (p *process) ID() string { return p.id }

// Stdin implements env.Process. Write returns when the data is on its way; an error of the
// command's input comes with a later Write.
func (p *process) Stdin() io.WriteCloser {
	if p.in == nil {
		return nil // not a nil *input in an interface
	}
	return p.in
}

// Wait implements env.Process.
func (p *process) Wait(ctx context.Context) (env.Exit, error) {
	select {
	case <-p.done: // a known exit takes precedence over an ended context
		return p.exit, p.err
	default:
	}
	select {
	case <-p.done:
		return p.exit, p.err
	case <-ctx.Done():
		return env.Exit{}, context.Cause(ctx)
	}
}

// errNotKilled is the error of a kill that the far side does not answer.
var errNotKilled = errors.New("the other side does not say whether the command has ended")

// Kill implements env.Process. The context ends the waiting, not the kill. Without an answer, Kill
// waits for the grace time and ten seconds.
func (p *process) Kill(ctx context.Context) error {
	// The far side does not end a kill with its stream, so it is asked even if the context has
	// ended.
	_, err := guard.Within(ctx, "a kill", func() (struct{}, error) {
		ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), p.conn.welcome.Grace+p.conn.end,
			errNotKilled)
		defer cancel()
		return struct{}{}, p.ended(ctx, tell(ctx, p.conn, wire.Request{Op: wire.OpKill, ID: p.far}))
	})
	return err
}

// ended returns the error of a kill. If there is none, it waits until the exit is known here too.
func (p *process) ended(ctx context.Context, err error) error {
	exit, waitErr := p.Wait(ctx)
	switch {
	case errors.Is(err, fs.ErrNotExist) && waitErr == nil && len(exit.Left) == 0: // it ended long ago
		return nil
	case err != nil:
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return nil
}

// input is the writing end of a command's input.
type input struct {
	process *process
	writing sync.Mutex // held while data is sent

	mu    sync.Mutex
	ended error // why nothing can be written; nil while it can
}

// state returns why nothing can be written, or nil.
func (in *input) state() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.ended
}

// end notes why nothing can be written any more, and returns what was noted before. That it was
// closed counts more than that the command does not read it.
func (in *input) end(why error) (before error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if before = in.ended; before != fs.ErrClosed {
		in.ended = why
	}
	return before
}

// Write sends data to the command. It waits while the command does not read.
func (in *input) Write(b []byte) (n int, err error) {
	in.writing.Lock()
	defer in.writing.Unlock()
	for {
		if err := in.state(); err != nil {
			return n, err
		}
		part := b[n:min(len(b), n+wire.MaxData)]
		if err := in.process.o.Send(wire.Message{Type: wire.TypeData, Payload: part}); err != nil {
			if closed := in.state(); closed != nil {
				return n, closed
			}
			return n, in.process.conn.explain(err)
		}
		if n += len(part); n == len(b) {
			return n, nil
		}
	}
}

// Close ends the input. If a Write waits for the command, the input is closed without its data.
func (in *input) Close() error {
	if in.end(fs.ErrClosed) == fs.ErrClosed {
		return nil
	}
	if in.writing.TryLock() {
		defer in.writing.Unlock()
		err := in.process.o.Send(wire.Message{Type: wire.TypeEnd})
		select {
		case <-in.process.done:
			return nil
		default:
		}
		if err != nil {
			return in.process.conn.explain(err)
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), in.process.conn.end)
	defer cancel()
	return tell(ctx, in.process.conn, wire.Request{Op: wire.OpEOF, ID: in.process.far})
}
