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
	// quietTime is how long no output must have come after a command's end while something else holds its pipes: long
	// enough for the last words of a process substitution, short enough not to be felt.
	quietTime = 100 * time.Millisecond
	// drainTime bounds that for something that prints all the time.
	drainTime = 300 * time.Millisecond
	// killedQuiet and killedDrain are the same after a kill. With settleTime they make the half second of requirement D4.
	killedQuiet = 50 * time.Millisecond
	killedDrain = 100 * time.Millisecond
	// readSize is how much is read at once: half of what a pipe holds by default on Linux.
	readSize = 32 << 10
	// pipeMax is the most that a pipe holds for an unprivileged process, /proc/sys/fs/pipe-max-size.
	pipeMax = 1 << 20
)

// output reads what a command prints. Between two streams order is that in which the pipes are found readable: writes to both
// within the microseconds that a reader takes to wake up may change places, those to one stream never.
type output struct {
	deliver func(stream int, p []byte) // nil drops
	pipes   []*pipe
	news    chan struct{}  // holds a token when something has been read
	reading sync.WaitGroup // the readers, before drain
	dropped chan struct{}  // closed when nothing reads any more

	mu      sync.Mutex // held during deliver, so that calls come one at a time
	failed  error
	closing sync.Once
}

// pipe is our end of one stream.
type pipe struct {
	stream int
	f      *os.File
	ended  bool // read to the end; written by the reader
}

func newOutput(deliver func(int, []byte)) *output {
	return &output{deliver: deliver, news: make(chan struct{}, 1), dropped: make(chan struct{})}
}

func (o *output) add(stream int, f *os.File) { o.pipes = append(o.pipes, &pipe{stream: stream, f: f}) }

// start begins to read.
func (o *output) start() {
	for _, p := range o.pipes {
		o.reading.Go(func() { o.read(p) })
	}
}

// read delivers a stream until its end, or until drain's deadline.
func (o *output) read(p *pipe) {
	buf := make([]byte, readSize)
	for {
		n, err := p.f.Read(buf)
		o.emit(p.stream, buf[:n])
		if err != nil {
			o.end(p, err)
			return
		}
	}
}

// end notes how reading a stream ended. A terminal says EIO when nobody has it open any more.
func (o *output) end(p *pipe, err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return
	}
	p.ended = true
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, syscall.EIO) || errors.Is(err, os.ErrClosed) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failed = errors.Join(o.failed, err)
}

// failure is what went wrong while reading.
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
	case o.news <- struct{}{}:
	default:
	}
}

// drain lets the output of a command that has ended come in, and returns when deliver is not called again. It waits for the
// end of the streams, for a time without news, or for at most a limit, whatever is first.
func (o *output) drain(quiet, limit time.Duration) {
	ended := make(chan struct{})
	go func() { o.reading.Wait(); close(ended) }()
	silence, enough := time.NewTimer(quiet), time.NewTimer(limit)
	defer silence.Stop()
	defer enough.Stop()
	for held := true; held; {
		select {
		case <-ended:
			return
		case <-o.news:
			silence.Reset(quiet)
		case <-silence.C:
			held = false
		case <-enough.C:
			held = false
		}
	}
	for _, p := range o.pipes {
		if err := p.f.SetReadDeadline(time.Unix(1, 0)); err != nil {
			o.note(errors.Join(err, p.f.Close())) // without a deadline only this stops a reader
		}
	}
	<-ended
	for _, p := range o.pipes {
		o.rest(p)
	}
}

// note keeps an error that must not happen.
func (o *output) note(err error) {
	if err != nil && !errors.Is(err, os.ErrClosed) {
		o.mu.Lock()
		o.failed = errors.Join(o.failed, err)
		o.mu.Unlock()
	}
}

// rest delivers what is in a pipe without waiting for more. What the command wrote before it ended is in there, so nothing
// of it is lost, however slow deliver was.
func (o *output) rest(p *pipe) {
	if p.ended {
		return
	}
	if err := p.f.SetReadDeadline(time.Time{}); err != nil {
		o.end(p, err)
		return
	}
	conn, err := p.f.SyscallConn()
	if err != nil {
		o.end(p, err)
		return
	}
	buf := make([]byte, readSize)
	for total := 0; total < pipeMax; {
		var n int
		var readErr error
		err := conn.Read(func(fd uintptr) bool {
			n, readErr = unix.Read(int(fd), buf)
			return true // do not wait until it is readable
		})
		switch {
		case errors.Is(readErr, syscall.EINTR):
			continue
		case err != nil:
			o.end(p, err)
			return
		case errors.Is(readErr, syscall.EAGAIN):
			return
		case readErr != nil:
			o.end(p, readErr)
			return
		case n == 0:
			o.end(p, io.EOF)
			return
		}
		o.emit(p.stream, buf[:n])
		total += n
	}
}

// discard reads on to nowhere for what the command left running, which would get SIGPIPE otherwise, and calls then when all
// streams have ended or close was called.
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
			o.end(p, err)
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

// closeFiles closes our ends, once.
func (o *output) closeFiles() {
	o.closing.Do(func() {
		for _, p := range o.pipes {
			o.note(p.f.Close())
		}
	})
}

// close ends the reading. It must follow discard if start was called.
func (o *output) close() error {
	o.closeFiles()
	return o.failure()
}
