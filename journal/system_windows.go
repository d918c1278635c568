package journal

import (
	"io/fs"
	"os"
)

// unlinkLocked is false because an open file cannot lose its name. The lock file stays, empty, when
// the writer is gone.
const unlinkLocked = false

// gone returns false because no two locks are one file.
func gone(int) bool { return false }

// links returns 1 because an open file cannot lose its name, and no lock file is a link.
func links(fs.FileInfo) uint64 { return 1 }

// inode identifies a file for as long as it exists.
type inode struct{ info fs.FileInfo }

func inodeOf(info fs.FileInfo) inode { return inode{info} }

// is reports whether the inode is that of a file.
func (i inode) is(info fs.FileInfo) bool { return os.SameFile(i.info, info) }
