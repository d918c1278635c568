package tty

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Reopen opens a terminal again, so that reads from it can be ended. The file that was passed to
// the process cannot become non-blocking, because other processes share it.
func Reopen(f *os.File) (*os.File, error) {
	return os.OpenFile("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), os.O_RDWR|unix.O_NOCTTY, 0)
}

// Discard discards what was typed and not read yet.
func Discard(f *os.File) {
	// not a terminal: nothing to discard
	_ = withDescriptor(f, func(fd int) error { return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) })
}

// Unread returns how many bytes were typed and not read yet.
func Unread(f *os.File) (n int, err error) {
	err = withDescriptor(f, func(fd int) (err error) {
		n, err = unix.IoctlGetInt(fd, unix.TIOCINQ)
		return err
	})
	return n, err
}
