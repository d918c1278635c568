package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/attractor-go/attractor/internal/filelock"
)

// lockWait limits how long a lock of the store is waited for. Batches and collections take seconds.
const lockWait = time.Minute

// heldFile is a file that this process has open and locked. The lock ends with the process.
type heldFile struct{ *os.File }

// Close releases the lock. Closing the file alone would not, while a child that is being forked has
// it open.
func (f heldFile) Close() error { return errors.Join(filelock.Unlock(f.File), f.File.Close()) }

// tryHold opens a file, makes it if it is missing, and locks it. The error wraps filelock.ErrLocked
// if somebody else has it locked.
func tryHold(path string, shared bool) (heldFile, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return heldFile{}, err
	}
	if err := filelock.TryLock(file, shared); err != nil {
		return heldFile{}, errors.Join(err, file.Close())
	}
	held := heldFile{file}
	if there, err := held.named(); err != nil || !there {
		// the last holder has removed it: there will be a new one
		return heldFile{}, errors.Join(cmp.Or(err, filelock.ErrLocked), held.Close())
	}
	return held, nil
}

// named reports whether the file still has its name.
func (f heldFile) named() (bool, error) {
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Stat(f.Name())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(info, named), err
}

// hold waits for a lock, at most as long as given.
func hold(ctx context.Context, path string, shared bool, wait time.Duration) (file heldFile, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("%s stayed locked by another process: %w", path,
		filelock.ErrLocked))
	defer cancel()
	err = filelock.Wait(ctx, func() (err error) {
		file, err = tryHold(path, shared)
		return err
	})
	return file, err
}
