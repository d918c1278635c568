//go:build unix

package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lockDir takes the lock of a directory, which ends with the process, and returns a function that
// ends it before.
func lockDir(dir string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close() // nothing was written to it
		if errors.Is(err, unix.EWOULDBLOCK) {
			err = fmt.Errorf("another batch is running in %s: wait for it, or pass another directory with --out", dir)
		}
		return nil, err
	}
	return func() { f.Close() }, nil // nothing was written to it
}
