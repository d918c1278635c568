//go:build unix

package env

import (
	"os"
	"sync"
)

// input is what a command reads: the end of a pipe, or its terminal.
type input struct {
	f *os.File
	// eof tells a terminal that the input has ended; it stays open, because its output is read from it. A pipe has none and is
	// closed.
	eof []byte

	mu     sync.Mutex
	closed bool
}

// Write fails with an error that wraps fs.ErrClosed after Close and after the command's end, and syscall.EPIPE when the command
// has closed its input.
func (in *input) Write(b []byte) (int, error) {
	in.mu.Lock()
	closed := in.closed
	in.mu.Unlock()
	if closed {
		return 0, os.ErrClosed
	}
	return in.f.Write(b) // not under the lock: it may wait for the reader, and Close must get through
}

// Close ends the input. Closing it again is no error, since the end of the command closes it too.
func (in *input) Close() error {
	if in.shut() {
		return nil
	}
	if in.eof != nil {
		_, err := in.f.Write(in.eof)
		return err
	}
	return in.f.Close()
}

// finish closes the input of a command that has ended.
func (in *input) finish() error {
	if in.shut() || in.eof != nil {
		return nil
	}
	return in.f.Close()
}

// shut closes for writers and reports whether it was before.
func (in *input) shut() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	was := in.closed
	in.closed = true
	return was
}
