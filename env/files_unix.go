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
	// openFlags read a file without waiting for a FIFO's writer and without taking a terminal as the controlling one.
	openFlags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY
	// dirFlags open directories and nothing else.
	dirFlags = openFlags | unix.O_DIRECTORY
)

// keepOwner gives a file the owner and group of the one that it replaces: an agent that runs as root in a container must not
// take a user's files. A process that may not give files away becomes the owner, as any editor that saves by rename.
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
