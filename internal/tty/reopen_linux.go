package tty

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Reopen opens a terminal again, so that reads from it can be ended. The file that was passed to the process cannot become
// non-blocking, because other processes share it.
func Reopen(f *os.File) (*os.File, error) {
	return os.OpenFile("/proc/self/fd/"+strconv.Itoa(int(f.Fd())), os.O_RDWR|unix.O_NOCTTY, 0)
}

// Discard discards what was typed and not read yet.
func Discard(f *os.File) {
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = unix.IoctlSetInt(int(fd), unix.TCFLSH, unix.TCIFLUSH) }) // not a terminal: nothing to discard
	}
}

// Unread returns how many bytes were typed and not read yet.
func Unread(f *os.File) (n int, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	controlled := raw.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	return n, errors.Join(controlled, err)
}
