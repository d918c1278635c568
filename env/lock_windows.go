package env

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// noFollow is nothing here: opening does not tell links.
const noFollow = 0

// tryLock takes the lock of an open file, or returns errBusy. Closing the file ends it.
func tryLock(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errBusy
	}
	return os.NewSyscallError("LockFileEx", err)
}

// ours leaves it to the directory's access list.
func ours(fs.FileInfo) bool { return true }
