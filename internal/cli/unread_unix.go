//go:build unix

package cli

import (
	"io"
	"os"
)

// unread reports whether the file, a pipe, a socket or a regular one, holds text which nobody has read.
func unread(f *os.File) bool {
	info, err := f.Stat()
	switch {
	case err != nil || info.Mode()&(os.ModeDevice|os.ModeDir) != 0:
		return false
	case info.Mode().IsRegular():
		at, err := f.Seek(0, io.SeekCurrent)
		return err == nil && info.Size() > at
	}
	return buffered(f, info) > 0
}
