package env

import (
	"io/fs"
	"syscall"
	"time"
)

// nodeOf returns all that the file system says of a file.
func nodeOf(name string, fi fs.FileInfo) Node {
	n := Node{Info: infoOf(name, fi)}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		n.Changed = time.Unix(st.Ctim.Unix())
		n.Device, n.Inode, n.Links = st.Dev, st.Ino, uint64(st.Nlink) // of 32 bits on some machines
	}
	return n
}
