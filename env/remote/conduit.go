package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
)

const (
	// farTime is the time that the far side gets to end when its input has ended, besides the grace
	// time of its processes.
	farTime = 2 * time.Second
	// termTime is the time between TERM and KILL.
	termTime = time.Second
	// stderrTime is how long the command's last words are waited for.
	stderrTime = 200 * time.Millisecond
	// endTime is how long the end of the command is waited for when its output has ended, for the
	// sake of the error, and how long its output when it has ended.
	endTime = time.Second
)

// conduit is a command of this machine as a stream: its standard input and output. It owns the
// process. All methods are safe for concurrent use.
type conduit struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *os.File
	stderr texts.Tail
	grace  time.Duration
	ended  chan struct{} // closed when the command has been waited for

	mu       sync.Mutex
	cause    error // why it was cut, if it was
	closed   bool  // by Close
	gone     bool  // the command has been waited for, so another process may have its number
	watchdog *time.Timer
	silence  time.Duration

	closing sync.Once
}

// startConduit starts a command. Grace is the time that processes over there have to end.
func startConduit(command []string, grace time.Duration) (*conduit, error) {
	c := &conduit{cmd: exec.Command(command[0], command[1:]...), grace: grace, ended: make(chan struct{})}
	c.cmd.Stderr, c.cmd.WaitDelay = &c.stderr, stderrTime
	ownGroup(c.cmd)
	var err error
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, theirs, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, c.stdin.Close())
	}
	c.stdout, c.cmd.Stdout = stdout, theirs
	if err := c.cmd.Start(); err != nil { // it has closed the input
		return nil, errors.Join(err, theirs.Close(), stdout.Close())
	}
	go c.supervise()
	// The command has its own copy; this one would keep the pipe from ever ending.
	if err := theirs.Close(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// supervise waits for the command, whose end ends the stream, and kills what it has left in its
// process group.
func (c *conduit) supervise() {
	_ = c.cmd.Wait() // explain says how it ended
	c.mu.Lock()
	killGroup(c.cmd) // what the command has left has its number as that of the group
	c.gone = true
	c.mu.Unlock()
	// Processes that it has left elsewhere may hold the pipe: a helper in a container whose exec
	// was killed, or ssh's connection for others. Where pipes have no deadlines, they last as long.
	_ = c.stdout.SetReadDeadline(time.Now().Add(endTime)) // see above
	close(c.ended)
}

// Read implements io.Reader. When the command has ended, the error says how.
func (c *conduit) Read(p []byte) (int, error) {
	n, err := c.stdout.Read(p)
	if err != nil {
		err = c.explain(err)
	}
	return n, err
}

// Write implements io.Writer.
func (c *conduit) Write(p []byte) (int, error) { return c.stdin.Write(p) }

// explain returns an error that says why the command's input or output has ended.
func (c *conduit) explain(err error) error {
	if cause := c.cutBy(); cause != nil {
		return c.said(cause)
	}
	if c.isClosed() {
		return err
	}
	if !c.endsWithin(endTime) {
		return c.said(err)
	}
	if cause := c.cutBy(); cause != nil {
		return c.said(cause)
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return c.said(&endedError{c.cmd.ProcessState.String(), c.cmd.ProcessState.Success() || c.stderr.Last(1) == "", err})
}

// endedError says that the command has ended.
type endedError struct {
	how    string
	silent bool  // it has not said why: it succeeded, or printed nothing
	err    error // of the pipe
}

func (e *endedError) Error() string { return "the command ended (" + e.how + ")" }

// Unwrap returns the error of the pipe.
func (e *endedError) Unwrap() error { return e.err }

// said adds the last lines of the command's standard error to an error.
func (c *conduit) said(err error) error {
	if text := c.stderr.Last(3); text != "" {
		return fmt.Errorf("%w: %s", err, text)
	}
	return err
}

// cutBy returns why it was cut, or nil.
func (c *conduit) cutBy() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// isClosed reports whether Close was called.
func (c *conduit) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// cut ends the conduit at once. Its later errors are the first cause.
func (c *conduit) cut(cause error) {
	c.mu.Lock()
	if c.cause == nil {
		c.cause = cause
	}
	c.mu.Unlock()
	_ = c.stdin.Close() // it may be closed already
	c.signal(termGroup)
	go c.Close()
}

// signal sends a signal to the command's process group, unless the command has ended.
func (c *conduit) signal(send func(*exec.Cmd)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gone {
		send(c.cmd)
	}
}

// guard cuts the conduit if ctx ends, or if progress is not called for so long. The function that
// it returns ends that.
func (c *conduit) guard(ctx context.Context, silence time.Duration) (stop func()) {
	late := time.AfterFunc(silence,
		func() { c.cut(fmt.Errorf("no answer came for %v: %w", silence, context.DeadlineExceeded)) })
	c.mu.Lock()
	c.watchdog, c.silence = late, silence
	c.mu.Unlock()
	forget := context.AfterFunc(ctx, func() { c.cut(context.Cause(ctx)) })
	return func() {
		forget()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.watchdog = nil
		late.Stop()
	}
}

// progress tells guard that the other side is alive.
func (c *conduit) progress() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watchdog != nil {
		c.watchdog.Reset(c.silence)
	}
}

// Close ends the command: it closes its input and waits until the other side has ended what it
// started, but not for long. Then the command is terminated and killed. Close returns when it has
// been waited for.
func (c *conduit) Close() error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.closing.Do(func() {
		_ = c.stdin.Close() // it may be closed already
		drained := make(chan struct{})
		go func() {
			defer close(drained)
			_, _ = io.Copy(io.Discard, c.stdout) // or the command may wait for somebody to read
		}()
		c.awaitEnd()
		_ = c.stdout.Close() // ends the readers
		<-drained
	})
	return nil
}

// awaitEnd waits for the end of the command, and brings it about after a while.
func (c *conduit) awaitEnd() {
	patience := farTime + c.grace
	if c.grace == 0 {
		patience = farTime + env.DefaultGrace
	}
	if c.cutBy() == nil && c.endsWithin(patience) {
		return
	}
	c.signal(termGroup)
	if !c.endsWithin(termTime) {
		c.signal(killGroup)
		<-c.ended
	}
}

// endsWithin reports whether the command ends in the given time.
func (c *conduit) endsWithin(d time.Duration) bool {
	late := time.NewTimer(d)
	defer late.Stop()
	select {
	case <-c.ended:
		return true
	case <-late.C:
		return false
	}
}
