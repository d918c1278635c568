package worktree

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/attractor-go/attractor/internal/filelock"
	"github.com/attractor-go/attractor/internal/git"
)

// A session holds a shared lock on a file beside its worktree, and an exclusive one while it makes
// or removes the worktree.

// lockTime bounds the wait for another session that is making or removing the worktree.
const lockTime = 10 * time.Minute

func (w *Worktree) lockName() string { return w.Top + ".lock" }

// use finds or makes the worktree, and says that this process uses it until w.used is closed.
func (w *Worktree) use(ctx context.Context, repo *git.Repository) error {
	wait, cancel := context.WithTimeoutCause(ctx, lockTime, errors.New("another session is making or removing it"))
	defer cancel()
	return filelock.Wait(wait, func() error { return w.tryUse(ctx, repo) })
}

// tryUse is use, but it does not wait. The error wraps filelock.ErrLocked if somebody else is
// making or removing the worktree.
func (w *Worktree) tryUse(ctx context.Context, repo *git.Repository) (err error) {
	f, err := os.OpenFile(w.lockName(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close() // nothing was written
		}
	}()
	err = filelock.TryLock(f, filelock.Exclusive)
	alone := err == nil
	if errors.Is(err, filelock.ErrLocked) {
		err = filelock.TryLock(f, filelock.Shared)
	}
	if err != nil {
		return err
	}
	if !isNamed(f, w.lockName()) || !alone && !w.isThere() { // it was removed, with the file
		return filelock.ErrLocked
	}
	w.used = f
	if err := w.open(ctx, repo); err != nil {
		if alone && w.New {
			w.Close(context.WithoutCancel(ctx))
		}
		return err
	}
	if !alone {
		return nil
	}
	if err := filelock.Unlock(f); err != nil { // a lock cannot be changed on every system
		return err
	}
	return filelock.TryLock(f, filelock.Shared)
}

func (w *Worktree) isThere() bool {
	_, err := os.Lstat(w.Top)
	return err == nil
}

// isNamed reports whether an open file still has its name.
func isNamed(f *os.File, name string) bool {
	open, err1 := f.Stat()
	there, err2 := os.Stat(name)
	return err1 == nil && err2 == nil && os.SameFile(open, there)
}

// alone reports whether no other process uses the worktree. None does from then on until the file
// is closed.
func alone(f *os.File) (bool, error) {
	err := filelock.Unlock(f)
	if err == nil {
		err = filelock.TryLock(f, filelock.Exclusive)
	}
	if errors.Is(err, filelock.ErrLocked) {
		return false, nil
	}
	return err == nil, err
}
