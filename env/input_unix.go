//go:build unix

package env

import (
	"os"
	"sync"
)

// input is the writing end of a command's input: a pipe or a terminal.
type input struct {
	f *os.File
	// eof is written to a terminal to end the input. The terminal stays open, because its output is
	// still read. For a pipe it is nil and the pipe is closed.
	eof []byte

	mu     sync.Mutex
	closed bool
}

// Write returns an error that wraps fs.ErrClosed after Close or after the command has ended, and
// syscall.EPIPE when the command has closed its input.
func (in *input) Write(b []byte) (int, error) {
	in.mu.Lock()
	closed := in.closed
	in.mu.Unlock()
	if closed {
		return 0, os.ErrClosed
	}
	return in.f.Write(b) // without the lock: it may wait for the reader, and Close must not
}

// Close ends the input. A second Close is not an error, because the end of the command closes the
// input too.
func (in *input) Close() error {
	if in.markClosed() {
		return nil
	}
	if in.eof != nil {
		_, err := in.f.Write(in.eof)
		return err
	}
	return in.f.Close()
}

// closeAtExit closes the input after the command has ended.
func (in *input) closeAtExit() error {
	if in.markClosed() || in.eof != nil {
		return nil
	}
	return in.f.Close()
}

// markClosed closes the input for writers and reports whether it was closed already.
func (in *input) markClosed() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	was := in.closed
	in.closed = true
	return was
}
