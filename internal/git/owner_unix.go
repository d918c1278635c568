//go:build unix

package git

import (
	"io/fs"
	"os"
	"syscall"
)

// trusted reports whether a file belongs to this user or to the owner of another file.
func trusted(file, other fs.FileInfo) bool {
	a, ok1 := file.Sys().(*syscall.Stat_t)
	b, ok2 := other.Sys().(*syscall.Stat_t)
	return ok1 && ok2 && (a.Uid == b.Uid || int(a.Uid) == os.Getuid())
}
