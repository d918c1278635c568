package checkpoint

import (
	"errors"

	"golang.org/x/sys/windows"
)

// syncDir does nothing: directories cannot be flushed, and the file system logs changes of names
// itself.
func syncDir(string) error { return nil }

// noSpace reports whether an error says that the disk, or the user's share of it, is full.
func noSpace(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL) ||
		errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED)
}
