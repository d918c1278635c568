//go:build unix

package cli

import (
	"io"
	"os"

	"github.com/attractor-go/attractor/internal/tty"
)

// unread reports whether the file, a pipe, a socket or a regular one, holds text which nobody has
// read.
func unread(f *os.File) bool {
	info, err := f.Stat()
	switch {
	case err != nil || info.Mode()&(os.ModeDevice|os.ModeDir) != 0:
		return false
	case info.Mode().IsRegular():
		at, err := f.Seek(0, io.SeekCurrent)
		return err == nil && info.Size() > at
	}
	n, err := tty.Unread(f) // a poll would not do: it reports the end of a socket as something to read
	if err != nil {
		return info.Size() > 0 // of a pipe on macOS
	}
	return n > 0
}
