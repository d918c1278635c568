package env

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockName returns the only lock file of a kind. Its bytes are locked separately.
func lockName(kind string, _ int64) string { return kind }

// tryLock takes the lock of a byte of an open file, or returns errBusy. The lock belongs to the open file description: two openings
// in one process exclude each other, and closing the file ends it. If the kernel does not have such locks, all processes lock the
// whole file.
func tryLock(f *os.File, at int64) error {
	for {
		err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Start: at, Len: 1})
		switch {
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EACCES):
			return errBusy
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EINVAL):
			return flock(f)
		case err != nil:
			return os.NewSyscallError("fcntl", err)
		}
		return nil
	}
}
