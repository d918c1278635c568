package tty

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Reopen is not supported: kqueue cannot wait for terminals.
func Reopen(*os.File) (*os.File, error) { return nil, errors.ErrUnsupported }

// Discard discards what was typed and not read yet.
func Discard(f *os.File) {
	const input = 1 // FREAD in sys/fcntl.h
	flush := func(fd int) error { return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, input) }
	_ = withDescriptor(f, flush) // not a terminal: nothing to discard
}

// Unread is not supported.
func Unread(*os.File) (int, error) { return 0, errors.ErrUnsupported }
