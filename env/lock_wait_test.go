package env

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// A lock that is held for too long does not block others forever: they change nothing and return an
// error that says so.
func TestI6_LockWaitIsBounded(t *testing.T) {
	dir := t.TempDir()
	l, err := NewLocal(dir, LocalOptions{Locks: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	l.locks.wait = 10 * time.Millisecond
	unlock, err := l.Lock(t.Context(), "f")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Lock(t.Context(), "f"); !errors.Is(err, ErrLocked) {
		t.Errorf("Lock: %v", err)
	}
	unlock()
	f, err := l.resolve(t.Context(), "f", true)
	if err != nil {
		t.Fatal(err)
	}
	release, err := l.locks.acquire(t.Context(), lockSwap, f)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if err := l.Replace(t.Context(), "f", NoFile, []byte("x"), 0o644); !errors.Is(err, ErrLocked) {
		t.Errorf("Replace: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "f")); err == nil {
		t.Error("the file was written anyway")
	}
}

// endingContext ends when it has been looked at so often.
type endingContext struct {
	context.Context
	looks int
}

func (c *endingContext) Err() error {
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}

// A context that ends while names are resolved leaves out none of the files: all are locked or
// none.
func TestI6_LockOfAnEndingContext(t *testing.T) {
	l := localIn(t, t.TempDir())
	l.locks.wait = time.Millisecond
	unlock, err := l.Lock(t.Context(), "f")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	for looks := range 9 {
		for _, names := range [][]string{{"f"}, {"dir/g", "f"}, {"f", "dir/g"}} {
			unlock, err := l.Lock(&endingContext{context.Background(), looks}, names...)
			if err == nil {
				unlock()
				t.Errorf("Lock locked %q, after %d looks at its context, although somebody has it", names, looks)
			}
		}
	}
}

// What is locked in the end is the directory that has the name then, not the one that was waited
// for.
func TestU11_DirectoryReplacedMeanwhile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("directories are not locked on Windows")
	}
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		first, second := filepath.Join(dir, "d"), filepath.Join(dir, "second")
		if err := errors.Join(os.Mkdir(first, 0o755), os.Mkdir(second, 0o755)); err != nil {
			t.Fatal(err)
		}
		holder, waiter := localIn(t, dir), localIn(t, dir)
		unlock, err := holder.Lock(t.Context(), "d/f")
		if err != nil {
			t.Fatal(err)
		}
		locked := make(chan func())
		go func() {
			unlock, err := waiter.Lock(t.Context(), "d/f")
			if err != nil {
				t.Error(err)
				unlock = func() {}
			}
			locked <- unlock
		}()
		synctest.Wait() // for the first pause between two attempts
		if err := errors.Join(os.Rename(first, filepath.Join(dir, "away")), os.Rename(second, first)); err != nil {
			t.Fatal(err)
		}
		unlock()
		unlock = <-locked
		defer unlock()
		info, err := os.Stat(first)
		if err != nil {
			t.Fatal(err)
		}
		if waiter.locks.directories.held[dirIDOf(info)] == nil {
			t.Error("the directory is not locked")
		}
	})
}

// localIn returns an environment with lock files of its own.
func localIn(t *testing.T, dir string) *Local {
	t.Helper()
	l, err := NewLocal(dir, LocalOptions{Locks: filepath.Join(t.TempDir(), "locks")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}
