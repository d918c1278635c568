package wire

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

// The parts of yamux's frames that a line looks at.
const (
	frameHeader = 12
	framePing   = 2
	frameData   = 0
	flagSYN     = 1
	flagACK     = 2
)

// maxPings limits the pings that wait to be answered. The multiplexer answers each on a goroutine.
const maxPings = 64

// line is the stream of bytes below a multiplexer. It makes sure that Close ends a Read and a Write
// even if the stream's own does not, as with the standard input of a process: the multiplexer would
// wait for them for ever. It counts what is heard, writes a frame at once, refuses a flood of
// pings, and lets go of those that wait for a stream when it ends.
type line struct {
	stream io.ReadWriteCloser
	in     *io.PipeReader // has what pump reads
	filled *io.PipeWriter
	frame  chan []byte   // to be written
	wrote  chan error    // the outcome of that
	closed chan struct{} // closed by Close
	gone   chan struct{} // closed when the stream's Close has returned
	heard  atomic.Int64  // reads that returned something
	pings  atomic.Int64  // to be answered

	waiters waiters

	frames frames // only for Read

	out  []byte // only for Write
	body bool   // out is the header of a frame whose body follows

	closing sync.Once
	mu      sync.Mutex
	ended   error // why reading ended
	failed  error // of closing
}

func newLine(stream io.ReadWriteCloser) *line {
	l := &line{stream: stream, frame: make(chan []byte), wrote: make(chan error, 1), closed: make(chan struct{}),
		gone: make(chan struct{})}
	l.in, l.filled = io.Pipe()
	go l.pump()
	go l.writeFrames()
	return l
}

// pump reads the stream until its end.
func (l *line) pump() {
	buf := make([]byte, MaxData)
	for {
		n, err := l.stream.Read(buf)
		if n > 0 {
			l.heard.Add(1)
			if _, err := l.filled.Write(buf[:n]); err != nil {
				return // the line is closed
			}
		}
		if err != nil {
			l.end(err)
			_ = l.filled.Close() // it returns nil
			return
		}
	}
}

// end records the first reason for the end of the line. What follows from Close is none.
func (l *line) end(err error) {
	select {
	case <-l.closed:
		return
	default:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended == nil {
		l.ended = err
	}
}

// reason returns why the line has ended, or nil.
func (l *line) reason() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended
}

// Read is called by one goroutine, which has dealt with all that it has read before.
func (l *line) Read(p []byte) (int, error) {
	n, err := l.in.Read(p)
	if err == nil {
		if err = l.frames.read(p[:n], l.ping); err == nil {
			return n, nil
		}
		l.end(err)
	}
	l.waiters.end()
	return 0, err
}

// ping counts a ping that was received.
func (l *line) ping() error {
	if l.pings.Add(1) > maxPings {
		return fmt.Errorf("more than %d pings at a time: %w", maxPings, ErrProtocol)
	}
	return nil
}

// writeFrames writes to the stream until its end.
func (l *line) writeFrames() {
	for {
		select {
		case b := <-l.frame:
			_, err := l.stream.Write(b)
			l.wrote <- err
		case <-l.closed:
			return
		}
	}
}

// Write is called by one goroutine, with the header of a frame or with its body.
func (l *line) Write(p []byte) (int, error) {
	if l.body {
		l.out, l.body = append(l.out, p...), false
		return l.flush(len(p))
	}
	l.out = append(l.out[:0], p...)
	if len(p) == frameHeader {
		switch {
		case p[1] == frameData && binary.BigEndian.Uint32(p[8:]) > 0:
			l.body = true
			return len(p), nil
		case p[1] == framePing && binary.BigEndian.Uint16(p[2:])&flagACK != 0:
			l.pings.Add(-1)
		}
	}
	return l.flush(len(p))
}

// flush writes what Write has collected, whose last n bytes are the caller's. After an error the
// bytes may still be read by a Write that does not end.
func (l *line) flush(n int) (int, error) {
	select {
	case l.frame <- l.out:
	case <-l.closed:
		return 0, io.ErrClosedPipe
	}
	select {
	case err := <-l.wrote:
		if err != nil {
			l.end(err)
			return 0, err
		}
		return n, nil
	case <-l.closed:
		l.out = nil
		return 0, io.ErrClosedPipe
	}
}

// Close ends the line. It does not wait for the stream's Close.
func (l *line) Close() error {
	l.closing.Do(func() {
		l.waiters.end()
		close(l.closed)
		_ = l.filled.Close() // it returns nil
		go func() {
			defer close(l.gone)
			err := l.stream.Close()
			l.mu.Lock()
			defer l.mu.Unlock()
			l.failed = err
		}()
	})
	return nil
}

// frames follows the frames in a stream of bytes.
type frames struct {
	header []byte
	body   int64 // bytes until the next header
}

// read goes through the next bytes, and calls ping for each ping that wants an answer.
func (f *frames) read(b []byte, ping func() error) error {
	for len(b) > 0 {
		if f.body > 0 {
			n := min(f.body, int64(len(b)))
			b = b[n:]
			f.body -= n
			continue
		}
		n := min(frameHeader-len(f.header), len(b))
		f.header = append(f.header, b[:n]...)
		b = b[n:]
		if len(f.header) < frameHeader {
			return nil
		}
		switch {
		case f.header[1] == frameData:
			f.body = int64(binary.BigEndian.Uint32(f.header[8:]))
		case f.header[1] == framePing && binary.BigEndian.Uint16(f.header[2:])&flagSYN != 0:
			if err := ping(); err != nil {
				return err
			}
		}
		f.header = f.header[:0]
	}
	return nil
}
