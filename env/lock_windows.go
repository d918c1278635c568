package env

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"

	"github.com/attractor-go/attractor/internal/filelock"
)

// noFollow is zero: opening has no such flag here.
const noFollow = 0

// lockName returns the only lock file of a kind. Its bytes are locked separately.
func lockName(kind string, _ int64) string { return kind }

// tryLock takes the lock of a byte of an open file, or returns filelock.ErrLocked. Closing the file ends it.
func tryLock(f *os.File, at int64) error {
	where := &windows.Overlapped{Offset: uint32(at), OffsetHigh: uint32(at >> 32)}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, where)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return filelock.ErrLocked
	}
	return os.NewSyscallError("LockFileEx", err)
}

// ownedByUser relies on the directory's access list.
func ownedByUser(fs.FileInfo) bool { return true }

// lockHolder returns "": no directory is locked.
func lockHolder(dirID) string { return "" }
