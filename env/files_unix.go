//go:build unix

package env

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// openFlags open a file without waiting for a FIFO's writer and without acquiring a controlling
	// terminal.
	openFlags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY
	// dirFlags open only directories.
	dirFlags = openFlags | unix.O_DIRECTORY
)

// keepOwner gives a file the owner and group of the file that it replaces, so that an agent that
// runs as root in a container does not take over a user's files. A process that may not change
// owners becomes the owner, as with any editor that saves by rename.
func keepOwner(f *os.File, old fs.FileInfo) error {
	want, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	now, err := f.Stat()
	if err != nil {
		return err
	}
	if have, ok := now.Sys().(*syscall.Stat_t); ok && have.Uid == want.Uid && have.Gid == want.Gid {
		return nil
	}
	err = f.Chown(int(want.Uid), int(want.Gid))
	if errors.Is(err, fs.ErrPermission) {
		err = f.Chown(-1, int(want.Gid))
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}
