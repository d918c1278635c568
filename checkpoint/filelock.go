package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// errBusy reports that somebody else holds a lock.
var errBusy = errors.New("locked")

const (
	// lockWait limits how long a lock of the store is waited for. Batches and collections take
	// seconds.
	lockWait = time.Minute
	// lockPause and maxLockPause bound the pause between attempts to take a lock.
	lockPause, maxLockPause = 100 * time.Microsecond, 20 * time.Millisecond
)

// heldFile is a file that this process has open and locked. The lock ends with the process.
type heldFile struct{ *os.File }

// Close releases the lock. Closing the file alone would not, while a child that is being forked has
// it open.
func (f heldFile) Close() error { return errors.Join(unlockFile(f.File), f.File.Close()) }

// tryHold opens a file, makes it if it is missing, and locks it. The error wraps errBusy if it is
// locked.
func tryHold(path string, shared bool) (heldFile, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return heldFile{}, err
	}
	if err := lockFile(file, shared); err != nil {
		return heldFile{}, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
	}
	held := heldFile{file}
	if there, err := held.named(); err != nil || !there {
		// the last holder has removed it: there will be a new one
		return heldFile{}, errors.Join(cmp.Or(err, errBusy), held.Close())
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
func hold(ctx context.Context, path string, shared bool, wait time.Duration) (heldFile, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("%s stayed locked by another process: %w", path,
		errBusy))
	defer cancel()
	for pause := lockPause; ; pause = min(2*pause, maxLockPause) {
		if err := context.Cause(ctx); err != nil {
			return heldFile{}, err
		}
		file, err := tryHold(path, shared)
		if !errors.Is(err, errBusy) {
			return file, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}
