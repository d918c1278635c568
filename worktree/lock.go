package worktree

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/attractor-go/attractor/internal/filelock"
)

// lockTime bounds the wait for another session that is removing the worktree.
const lockTime = time.Minute

// use says that this process uses a worktree, until the file is closed. The file is beside the
// worktree.
func use(ctx context.Context, name string) (f *os.File, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lockTime, errors.New("another session is removing it"))
	defer cancel()
	err = filelock.Wait(ctx, func() error {
		if f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
			return err
		}
		err := filelock.TryLock(f, filelock.Shared)
		if err == nil && !isNamed(f, name) { // whoever removed the worktree has removed the file as well
			err = filelock.ErrLocked
		}
		if err != nil {
			err = errors.Join(err, f.Close())
		}
		return err
	})
	return f, err
}

func isNamed(f *os.File, name string) bool {
	open, err1 := f.Stat()
	there, err2 := os.Stat(name)
	return err1 == nil && err2 == nil && os.SameFile(open, there)
}

// alone reports whether no other process uses the worktree. None does from then on until the file
// is closed.
func alone(f *os.File) (bool, error) {
	err := filelock.Unlock(f) // a lock cannot be changed on every system
	if err == nil {
		err = filelock.TryLock(f, filelock.Exclusive)
	}
	if errors.Is(err, filelock.ErrLocked) {
		return false, nil
	}
	return err == nil, err
}
