package stdioproc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
)

const (
	maxQueue = 64 << 20 // bytes on their way to the server
	killTime = 15 * time.Second
	exitTime = time.Second // from the end of a server's output to that of its process, which says more
)

// NotFound is the exit code with which a shell says that there is no such program.
const NotFound = 127

var (
	errDeaf = errors.New("it does not read its input")
	errMute = errors.New("it closed its output and went on running")
)

// ExitError says how a process ended.
type ExitError struct{ env.Exit }

// Error returns the exit code or the signal.
func (e *ExitError) Error() string {
	text := fmt.Sprintf("its process ended with exit code %d", e.Code)
	switch {
	case e.Signal != "":
		return "its process was ended by " + e.Signal
	case e.Code == NotFound:
		return text + ", because its command, or a program that it runs, is not installed or not in PATH"
	}
	return text
}

// Process is the process of a server.
type Process struct {
	Out    *bufio.Reader // its standard output, until it ends or Close is called
	Said   texts.Tail    // the end of what it prints on standard error
	Closed chan struct{} // closed by Close

	process env.Process
	pipe    *io.PipeReader
	in      chan []byte
	queued  atomic.Int64 // bytes in in
	once    sync.Once
	busy    sync.WaitGroup

	mu  sync.Mutex
	why error
}

// Start starts a process. Of the command, Stdin, Output and Ended are set.
func Start(ctx context.Context, e env.Environment, cmd env.Command) (*Process, error) {
	r, w := io.Pipe()
	p := &Process{Out: bufio.NewReaderSize(r, 64<<10), Closed: make(chan struct{}), pipe: r,
		in: make(chan []byte, 4096)}
	cmd.Stdin = true
	cmd.Output = func(stream int, b []byte) {
		if stream == env.Stderr {
			_, _ = p.Said.Write(b) // it does not fail
			return
		}
		_, _ = w.Write(b) // blocks until it is read; fails only after Close
	}
	cmd.Ended = func(stream int) {
		if stream == env.Stdout {
			time.AfterFunc(exitTime, func() {
				p.Fail(errMute)
				_ = w.Close() // never fails
			})
		}
	}
	var err error
	if p.process, err = e.Start(ctx, cmd); err != nil {
		return nil, err
	}
	p.busy.Go(p.write)
	p.busy.Go(func() {
		exit, err := p.process.Wait(context.Background()) // ends, because End kills the process
		if err == nil {
			err = &ExitError{exit}
		}
		p.Fail(err)
		_ = w.Close() // never fails
	})
	return p, nil
}

// Fail notes why the server cannot be spoken to any more. The first reason counts, and none does
// after Close.
func (p *Process) Fail(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.Closed:
	default:
		if p.why == nil {
			p.why = why
		}
	}
}

// Reason returns why the server cannot be spoken to any more, or nil.
func (p *Process) Reason() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.why
}

// Send puts bytes on their way to the server. It does not wait: a server that does not read its
// input loses the connection.
func (p *Process) Send(data []byte) error {
	select {
	case <-p.Closed:
		return io.ErrClosedPipe
	default:
	}
	if p.queued.Add(int64(len(data))) <= maxQueue {
		select {
		case p.in <- data:
			return nil
		default:
		}
	}
	p.Fail(errDeaf)
	p.Close()
	return errDeaf
}

// write passes on what is sent.
func (p *Process) write() {
	for {
		select {
		case data := <-p.in:
			if _, err := p.process.Stdin().Write(data); err != nil {
				return // the process has ended or is about to
			}
			p.queued.Add(-int64(len(data)))
		case <-p.Closed:
			return
		}
	}
}

// Close ends reading and sending. The process goes on until End.
func (p *Process) Close() {
	p.once.Do(func() {
		close(p.Closed)
		_ = p.pipe.CloseWithError(io.ErrClosedPipe) // never fails
	})
}

// Wait waits until the process has ended.
func (p *Process) Wait(ctx context.Context) { _, _ = p.process.Wait(ctx) }

// End closes the input, waits a while for the end of the process, and kills what is left.
func (p *Process) End(polite time.Duration) error {
	p.Close()
	_ = p.process.Stdin().Close() // it may be closed already
	ctx, cancel := context.WithTimeout(context.Background(), killTime)
	defer cancel()
	gently, stop := context.WithTimeout(ctx, polite)
	defer stop()
	p.Wait(gently)
	err := p.process.Kill(ctx)
	if err == nil {
		p.busy.Wait()
	}
	return err
}
