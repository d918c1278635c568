//go:build unix

package journal

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// unlinkLocked reports whether a locked file can be unlinked. If so, a journal that nobody writes
// has no lock file, and lock files can be links to one file.
const unlinkLocked = true

func (disk) syncDir(path string) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Sync()
}

// lock uses flock. Unlike a lock of fcntl, it belongs to the open file: it works between two
// openings in one process, and closing another descriptor of the file does not release it.
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

// unlock releases the lock. Close alone would not, while a child that is being forked has the file
// open.
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

// gone reports whether this machine has no process with an id. A process of another container has
// another id here.
func gone(pid int) bool { return pid > 0 && errors.Is(unix.Kill(pid, 0), unix.ESRCH) }

// links returns the number of names that a file has.
func links(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Nlink)
	}
	return 1
}

// inode identifies a file for as long as it exists.
type inode struct{ device, number uint64 }

func inodeOf(info fs.FileInfo) inode {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return inode{uint64(stat.Dev), uint64(stat.Ino)}
	}
	return inode{}
}

// is reports whether the inode is that of a file.
func (i inode) is(info fs.FileInfo) bool { return i == inodeOf(info) }
