package filelock

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"
)

// ErrLocked reports that somebody else holds a lock.
var ErrLocked = errors.New("locked")

// The kinds of locks. Shared locks exclude only exclusive ones.
const (
	Exclusive = false
	Shared    = true
)

// pause and maxPause bound the pause between attempts to take a lock.
const pause, maxPause = 100 * time.Microsecond, 5 * time.Millisecond

// TryLock takes the lock of an open file without waiting. The error wraps ErrLocked if somebody
// else holds it. The lock belongs to the open file: two openings in one process exclude each other,
// and closing another opening does not release it. Closing the file does, unless a child that is
// being forked has it open. Not every system can lock directories.
func TryLock(f *os.File, shared bool) error { return pathError("lock", f, lock(f, shared)) }

// Unlock releases the lock of an open file, also while a child that is being forked has it open.
func Unlock(f *os.File) error { return pathError("unlock", f, unlock(f)) }

func pathError(op string, f *os.File, err error) error {
	if err != nil {
		return &fs.PathError{Op: op, Path: f.Name(), Err: err}
	}
	return nil
}

// Wait calls try until it returns no error or one that does not wrap ErrLocked, or until the
// context ends, whose cause it returns then. It calls try at least once, and last when the context
// has ended, because this process may have been paused: a lock that is free is taken.
func Wait(ctx context.Context, try func() error) error {
	for wait := pause; ; wait = min(2*wait, maxPause) {
		ended := context.Cause(ctx)
		if err := try(); !errors.Is(err, ErrLocked) {
			return err
		}
		if ended != nil {
			return ended
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}
