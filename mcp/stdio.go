package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/lastline"
	"github.com/attractor-go/attractor/internal/shquote"
)

const (
	politeTime = 2 * time.Second // from the end of a server's input to the end of its process
	killTime   = 15 * time.Second
	exitTime   = time.Second // from the end of a server's output to that of its process, which says more
)

// stdio holds the connection to a server that runs as a process. It implements the SDK's Transport and Connection.
//
// Programs print other things than messages on standard output, so lines that are no messages are skipped.
type stdio struct {
	process env.Process
	inbox   *inbox
	in      *bufio.Reader
	pipe    *io.PipeReader
	out     chan []byte      // messages on their way to the server
	said    *lastline.Buffer // the end of what it printed besides messages
	closed  chan struct{}    // closed by Close
	once    sync.Once

	queue []jsonrpc.Message // the rest of a batch; for Read alone
	busy  sync.WaitGroup
	mu    sync.Mutex
	why   error // why the connection ended, if it was not closed by this side
	muted *time.Timer
}

// startStdio starts a server's process in an environment.
func startStdio(ctx context.Context, e env.Environment, s *Server, in *inbox) (*stdio, error) {
	r, w := io.Pipe()
	c := &stdio{inbox: in, pipe: r, in: bufio.NewReaderSize(r, 64<<10), out: make(chan []byte, 16), said: new(lastline.Buffer), closed: make(chan struct{})}
	cmd := env.Command{Script: script(s), Dir: s.Dir, Stdin: true, Output: func(stream int, p []byte) {
		if stream == env.Stderr {
			c.said.Add(p)
			return
		}
		_, _ = w.Write(p) // blocks until Read has taken it; fails only when the connection is closed
	}}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		cmd.Env = append(cmd.Env, name+"="+s.Env[name])
	}
	cmd.Ended = func(stream int) {
		if stream == env.Stdout {
			c.mute(w)
		}
	}
	process, err := e.Start(ctx, cmd)
	if err != nil {
		return nil, err
	}
	c.process = process
	c.busy.Go(c.write)
	c.busy.Go(func() {
		exit, err := process.Wait(context.Background()) // ends, because close kills the process
		if err == nil {
			err = &exitError{exit}
		}
		c.ended(err)
		_ = w.Close() // never fails
	})
	return c, nil
}

// script returns the shell script that becomes the server's process.
func script(s *Server) string {
	return "exec " + shquote.Words(append([]string{s.Command}, s.Args...)...)
}

// exitError says how a process ended.
type exitError struct{ env.Exit }

// Error returns the exit code or the signal.
func (e *exitError) Error() string {
	text := fmt.Sprintf("its process ended with exit code %d", e.Code)
	switch {
	case e.Signal != "":
		return "its process was ended by " + e.Signal
	case e.Code == notFound:
		return text + ", because its command, or a program that it runs, is not installed or not in PATH"
	}
	return text
}

// notFound is the exit code with which a shell says that there is no such program.
const notFound = 127

// ended keeps the first reason for the connection's end.
func (c *stdio) ended(why error) {
	select {
	case <-c.closed:
		return
	default:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why == nil {
		c.why = why
	}
}

// errMute means that a server cannot say anything any more.
var errMute = errors.New("it closed its output and went on running")

// mute ends the connection if the process does not end soon, because its output has ended.
func (c *stdio) mute(w *io.PipeWriter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.muted = time.AfterFunc(exitTime, func() {
		c.ended(errMute)
		_ = w.Close() // never fails
	})
}

// reason returns why the connection ended, or nil if this side closed it.
func (c *stdio) reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.why
}

// exited reports whether the process has ended by itself.
func (c *stdio) exited() bool {
	var exit *exitError
	return errors.As(c.reason(), &exit)
}

// Connect implements the SDK's Transport.
func (c *stdio) Connect(context.Context) (sdk.Connection, error) { return c, nil }

// SessionID implements the SDK's Connection.
func (c *stdio) SessionID() string { return "" }

// Read implements the SDK's Connection. One goroutine calls it. Nothing more is read from a server whose request was refused until it takes
// the refusal.
func (c *stdio) Read(context.Context) (jsonrpc.Message, error) {
	for {
		for len(c.queue) > 0 {
			m := c.queue[0]
			c.queue = c.queue[1:]
			pass, refusal := c.inbox.admit(m)
			if pass {
				return m, nil
			}
			if refusal != nil {
				_ = c.send(context.Background(), refusal) // it fails only when the connection is closed
			}
		}
		if err := c.fill(); err != nil {
			c.ended(err) // unless the process ended first
			return nil, err
		}
	}
}

// fill puts the messages of the next line into the queue. Any other line was printed for people.
func (c *stdio) fill() error {
	line, err := readLine(c.in, maxMessage)
	switch {
	case errors.Is(err, io.ErrClosedPipe):
		return io.EOF
	case err != nil:
		return err
	}
	line = bytes.TrimSpace(line)
	if c.queue, err = messages(line); err == nil && len(c.queue) == 0 && len(line) > 0 {
		c.said.Add(append(slices.Clone(line[:min(len(line), lastline.Max)]), '\n'))
	}
	return err
}

// Write implements the SDK's Connection. It returns when the message is on its way.
func (c *stdio) Write(ctx context.Context, m jsonrpc.Message) error {
	if r, ok := m.(*jsonrpc.Response); ok {
		c.inbox.answered(r.ID)
	}
	return c.send(ctx, m)
}

// send puts a message on its way.
func (c *stdio) send(ctx context.Context, m jsonrpc.Message) error {
	line, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	select {
	case c.out <- append(line, '\n'):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.closed:
		return io.ErrClosedPipe
	}
}

// write passes messages on to the process. A server that does not read its input holds up only this goroutine.
func (c *stdio) write() {
	for {
		select {
		case line := <-c.out:
			if _, err := c.process.Stdin().Write(line); err != nil {
				return // the process has ended or is about to; Read says so
			}
		case <-c.closed:
			return
		}
	}
}

// Close implements the SDK's Connection: Read and Write return. end ends the process.
func (c *stdio) Close() error {
	c.once.Do(func() {
		close(c.closed)
		_ = c.pipe.CloseWithError(io.ErrClosedPipe) // never fails
	})
	return nil
}

// end ends the process: it closes the input, waits, and kills what is left.
func (c *stdio) end() error {
	_ = c.Close()                 // never fails
	_ = c.process.Stdin().Close() // it may be closed already
	ctx, cancel := context.WithTimeout(context.Background(), killTime)
	defer cancel()
	polite, stop := context.WithTimeout(ctx, politeTime)
	defer stop()
	_, _ = c.process.Wait(polite) // whether it has ended or not, Kill ends what is left
	err := c.process.Kill(ctx)
	c.mu.Lock()
	if c.muted != nil {
		c.muted.Stop()
	}
	c.mu.Unlock()
	if err == nil {
		c.busy.Wait()
	}
	return err
}
