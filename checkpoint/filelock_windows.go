package checkpoint

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockAt holds the high half of the offset of the locked byte. It is far behind the content,
// because others cannot read locked bytes.
const lockAt = 1 << 30

// lockFile takes the lock of an open file, or returns errBusy.
func lockFile(f *os.File, shared bool) error {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if !shared {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: lockAt})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errBusy
	}
	return os.NewSyscallError("LockFileEx", err)
}

func unlockFile(f *os.File) error {
	err := windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &windows.Overlapped{OffsetHigh: lockAt})
	return os.NewSyscallError("UnlockFileEx", err)
}

// syncDir does nothing: directories cannot be flushed, and the file system logs changes of names
// itself.
func syncDir(string) error { return nil }

// noSpace reports whether an error says that the disk, or the user's share of it, is full.
func noSpace(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL) ||
		errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED)
}
