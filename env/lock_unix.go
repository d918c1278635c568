//go:build unix

package env

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// noFollow refuses to open a symbolic link as a lock file.
const noFollow = unix.O_NOFOLLOW

// ownedByUser reports whether a file belongs to this user and is not writable by others.
func ownedByUser(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}
