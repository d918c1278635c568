//go:build unix

package env

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// noFollow refuses to open a symbolic link as a lock file.
const noFollow = unix.O_NOFOLLOW

// flock takes the lock of an open file, or returns errBusy. The lock belongs to the open file: two
// openings in one process exclude each other, and closing the file ends it.
func flock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EWOULDBLOCK):
			return errBusy
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return os.NewSyscallError("flock", err)
		}
		return nil
	}
}

// ownedByUser reports whether a file belongs to this user and is not writable by others.
func ownedByUser(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}

// tryDirLock takes the lock of an open directory, or returns errBusy.
func tryDirLock(dir *os.File) error { return flock(dir) }
