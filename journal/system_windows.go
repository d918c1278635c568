package journal

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// unlinkLocked is false because an open file cannot lose its name. The lock file stays, empty, when
// the writer is gone.
const unlinkLocked = false

// syncDir does nothing: directories cannot be flushed, and the file system logs changes of names
// itself.
func (disk) syncDir(string) error { return nil }

// lockAt holds the offset of the locked byte. It is far behind the process id, because others
// cannot read locked bytes.
const lockAt = 1 << 30

func (f diskFile) lock(shared bool) error {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if !shared {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := f.control(func(fd uintptr) error {
		return windows.LockFileEx(windows.Handle(fd), flags, 0, 1, 0, &windows.Overlapped{Offset: lockAt})
	})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errBusy
	}
	return err
}

func (f diskFile) unlock() error {
	return f.control(func(fd uintptr) error {
		return windows.UnlockFileEx(windows.Handle(fd), 0, 1, 0, &windows.Overlapped{Offset: lockAt})
	})
}

// gone returns false because no two locks are one file.
func gone(int) bool { return false }

// links returns 1 because an open file cannot lose its name, and no lock file is a link.
func links(fs.FileInfo) uint64 { return 1 }

// inode identifies a file for as long as it exists.
type inode struct{ info fs.FileInfo }

func inodeOf(info fs.FileInfo) inode { return inode{info} }

// is reports whether the inode is that of a file.
func (i inode) is(info fs.FileInfo) bool { return os.SameFile(i.info, info) }
