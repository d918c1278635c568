//go:build unix

package env

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// quietTime ends the reading of output after a command has ended while another process holds
	// its pipes: when there was none for so long. It is long enough for the last output of a
	// process substitution, and too short to be noticed.
	quietTime = 100 * time.Millisecond
	// drainTime bounds the same reading for processes that print all the time.
	drainTime = 300 * time.Millisecond
	// killedQuiet and killedDrain are the same after a kill. Together with the waiting of
	// contain.End they make half a second.
	killedQuiet = 50 * time.Millisecond
	killedDrain = 100 * time.Millisecond
	// readSize is the size of one read: half of a pipe's default capacity on Linux.
	readSize = 32 << 10
	// pipeMax is the largest capacity of an unprivileged process's pipe,
	// /proc/sys/fs/pipe-max-size.
	pipeMax = 1 << 20
)

// output reads a command's output in the order in which its streams have data (see order).
type output struct {
	deliver  func(stream int, p []byte) // nil discards
	over     func(stream int)           // called at the end of a stream, if not nil
	pipes    []*pipe
	order    *order        // reads until drain
	received chan struct{} // holds a token if something was read
	ended    chan struct{} // closed when order has stopped
	dropped  chan struct{} // closed when nothing is read any more

	mu      sync.Mutex // held during deliver, which is not called concurrently
	failed  error
	closing sync.Once
}

// pipe is this process's end of one stream.
type pipe struct {
	stream int
	f      *os.File
	ended  bool // read to the end; written by the reader
	raw    rawRead
}

// rawRead is a non-blocking read. It is kept with its pipe so that reading gigabytes does not
// allocate; the garbage would take as much memory as the output that is kept.
type rawRead struct {
	buf []byte
	n   int
	err error
	try func(fd uintptr) bool
}

// read reads once from a connection. The first error is the connection's, the second the read's.
func (a *rawRead) read(conn syscall.RawConn, buf []byte) (n int, connErr, readErr error) {
	if a.try == nil {
		a.try = func(fd uintptr) bool {
			a.n, a.err = unix.Read(int(fd), a.buf)
			return true // do not wait for data
		}
	}
	a.buf, a.n, a.err = buf, 0, nil
	connErr = conn.Read(a.try)
	return a.n, connErr, a.err
}

// newOutput returns a reader of the pipes.
func newOutput(deliver func(int, []byte), pipes ...*pipe) (*output, error) {
	order, err := newOrder(pipes)
	return &output{
		deliver: deliver, pipes: pipes, order: order,
		received: make(chan struct{}, 1), ended: make(chan struct{}), dropped: make(chan struct{}),
	}, err
}

// start starts reading.
func (o *output) start() {
	go func() {
		defer close(o.ended)
		o.order.read(o)
	}()
}

// endStream records how reading a stream ended. A terminal returns EIO when no process has it open
// any more.
func (o *output) endStream(p *pipe, err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return
	}
	p.ended = true
	if o.over != nil {
		o.over(p.stream)
	}
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, syscall.EIO) || errors.Is(err, os.ErrClosed) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed = errors.Join(o.failed, err)
}

// failure returns the errors of reading.
func (o *output) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failed
}

func (o *output) emit(stream int, b []byte) {
	if len(b) == 0 {
		return
	}
	o.mu.Lock()
	if o.deliver != nil {
		o.deliver(stream, b)
	}
	o.mu.Unlock()
	select {
	case o.received <- struct{}{}:
	default:
	}
}

// drain reads the remaining output of a command that has ended. Once it returns, deliver is not
// called any more. It waits for the end of the streams, for a quiet time without output, or for a
// limit, whichever comes first.
func (o *output) drain(quiet, limit time.Duration) {
	silence, enough := time.NewTimer(quiet), time.NewTimer(limit)
	defer silence.Stop()
	defer enough.Stop()
	for held := true; held; {
		select {
		case <-o.ended:
			held = false
		case <-o.received:
			silence.Reset(quiet)
		case <-silence.C:
			held = false
		case <-enough.C:
			held = false
		}
	}
	o.addError(o.order.stop())
	<-o.ended
	o.addError(o.order.close())
	for _, p := range o.pipes {
		o.readRest(p)
	}
}

// addError records an unexpected error.
func (o *output) addError(err error) {
	if err != nil && !errors.Is(err, os.ErrClosed) {
		o.mu.Lock()
		o.failed = errors.Join(o.failed, err)
		o.mu.Unlock()
	}
}

// readRest delivers the data in a pipe without waiting for more. It includes everything that the
// command wrote before it ended, so none of that is lost, however slow deliver was.
func (o *output) readRest(p *pipe) {
	if p.ended {
		return
	}
	if err := p.f.SetReadDeadline(time.Time{}); err != nil {
		o.endStream(p, err)
		return
	}
	conn, err := p.f.SyscallConn()
	if err != nil {
		o.endStream(p, err)
		return
	}
	buf := make([]byte, readSize)
	for total := 0; total < pipeMax && !p.ended; {
		n, waits := o.readNow(p, conn, buf)
		if waits {
			return
		}
		total += n
	}
}

// readNow reads once without waiting and delivers the data. Waits reports that there was none yet.
func (o *output) readNow(p *pipe, conn syscall.RawConn, buf []byte) (n int, waits bool) {
	n, err, readErr := p.raw.read(conn, buf)
	switch {
	case err != nil:
		o.endStream(p, err)
	case errors.Is(readErr, syscall.EINTR):
	case errors.Is(readErr, syscall.EAGAIN):
		return 0, true
	case readErr != nil:
		o.endStream(p, readErr)
	case n == 0:
		o.endStream(p, io.EOF)
	default:
		o.emit(p.stream, buf[:n])
		return n, false
	}
	return 0, false
}

// discard drops further output of processes that the command left running, which would get SIGPIPE
// if nobody read it. It calls then when all streams have ended or close was called.
func (o *output) discard(then func()) {
	var left sync.WaitGroup
	held := false
	for _, p := range o.pipes {
		if p.ended {
			continue
		}
		held = true
		left.Go(func() {
			_, err := io.Copy(io.Discard, p.f)
			o.endStream(p, err)
		})
	}
	finish := func() {
		left.Wait()
		o.closeFiles()
		then()
		close(o.dropped)
	}
	if held {
		go finish()
		return
	}
	finish()
}

// closeFiles closes the pipes once.
func (o *output) closeFiles() {
	o.closing.Do(func() {
		for _, p := range o.pipes {
			o.addError(p.f.Close())
		}
	})
}

// close stops reading. After start it must follow discard.
func (o *output) close() error {
	o.closeFiles()
	o.addError(o.order.close())
	return o.failure()
}
