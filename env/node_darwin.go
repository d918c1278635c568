package env

import (
	"io/fs"
	"syscall"
	"time"
)

// nodeOf returns a file's Node.
func nodeOf(name string, fi fs.FileInfo) Node {
	n := Node{Info: infoOf(name, fi)}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		n.Changed = time.Unix(st.Ctimespec.Unix())
		n.Device, n.Inode, n.Links = uint64(st.Dev), st.Ino, uint64(st.Nlink)
	}
	return n
}
