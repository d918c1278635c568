//go:build unix

package journal

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// unlinkLocked reports whether a locked file can be unlinked. If so, a journal that nobody writes has no lock file.
const unlinkLocked = true

func (disk) syncDir(path string) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Sync()
}

// lock uses flock. Unlike a lock of fcntl, it belongs to the open file: it works between two openings in one process, and closing
// another descriptor of the file does not release it.
func (f diskFile) lock(shared bool) error {
	how := unix.LOCK_EX
	if shared {
		how = unix.LOCK_SH
	}
	err := f.flock(how | unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errBusy
	}
	return err
}

// unlock releases the lock. Close alone would not, while a child that is being forked has the file open.
func (f diskFile) unlock() error { return f.flock(unix.LOCK_UN) }

func (f diskFile) flock(how int) error {
	return f.control(func(fd uintptr) error {
		return again(func() error { return unix.Flock(int(fd), how) })
	})
}

// again calls a function until no signal interrupts it.
func again(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// unlinked reports whether an open file has no name any more.
func unlinked(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink == 0
}
