package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// buffered returns how many bytes a pipe or a socket holds. A poll would not do: it reports the end of a socket as something to read.
func buffered(f *os.File, _ os.FileInfo) int64 {
	n, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCINQ)
	if err != nil {
		return 0
	}
	return int64(n)
}
