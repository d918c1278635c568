package filelock_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/internal/filelock"
)

// Two openings of a file exclude each other, except for shared locks. A lock ends with Unlock or
// when its file is closed.
func TestI6_OpeningsExcludeEachOther(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	one, two := open(t, name), open(t, name)
	for _, kinds := range [][2]bool{{filelock.Exclusive, filelock.Exclusive}, {filelock.Shared, filelock.Exclusive},
		{filelock.Exclusive, filelock.Shared}} {
		if err := filelock.TryLock(one, kinds[0]); err != nil {
			t.Fatal(err)
		}
		if err := filelock.TryLock(two, kinds[1]); !errors.Is(err, filelock.ErrLocked) {
			t.Errorf("%v: %v", kinds, err)
		}
		if err := filelock.Unlock(one); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []*os.File{one, two} {
		if err := filelock.TryLock(f, filelock.Shared); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := filelock.TryLock(open(t, name), filelock.Exclusive); err != nil {
		t.Error(err)
	}
	if err := filelock.TryLock(two, filelock.Exclusive); err == nil || errors.Is(err, filelock.ErrLocked) {
		t.Errorf("a closed file: %v", err)
	}
}

// Wait ends when the lock is free, and with the cause of its context.
func TestI6_WaitForALock(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	one, two := open(t, name), open(t, name)
	synctest.Test(t, func(t *testing.T) {
		if err := filelock.TryLock(one, filelock.Exclusive); err != nil {
			t.Fatal(err)
		}
		take := func() error { return filelock.TryLock(two, filelock.Exclusive) }
		late := errors.New("late")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, late)
		defer cancel()
		if err := filelock.Wait(ctx, take); !errors.Is(err, late) {
			t.Error(err)
		}
		time.AfterFunc(time.Second, func() { _ = filelock.Unlock(one) })
		if err := filelock.Wait(t.Context(), take); err != nil {
			t.Error(err)
		}
		if err := filelock.Wait(ctx, take); err != nil {
			t.Errorf("a lock that is free, when the time is over: %v", err)
		}
	})
}

func open(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}
