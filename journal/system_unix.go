//go:build unix

package journal

import (
	"errors"
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// unlinkLocked reports whether a locked file can be unlinked. If so, a journal that nobody writes
// has no lock file, and lock files can be links to one file.
const unlinkLocked = true

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
