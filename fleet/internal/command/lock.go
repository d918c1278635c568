package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/attractor-go/attractor/internal/filelock"
)

// lockDir takes the lock of a directory, which ends with the process, and returns a function that
// ends it before.
func lockDir(dir string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := filelock.TryLock(f, filelock.Exclusive); err != nil {
		f.Close() // nothing was written to it
		if errors.Is(err, filelock.ErrLocked) {
			err = fmt.Errorf("another batch is running in %s: wait for it, or pass another directory with --out", dir)
		}
		return nil, err
	}
	return func() { f.Close() }, nil // nothing was written to it
}
