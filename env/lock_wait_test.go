package env

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A lock that is held for too long does not block others forever: they change nothing and return an error that says so.
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
	release, err := l.locks.acquire(t.Context(), lockSwap, filepath.ToSlash(realPath(t, dir))+"/f")
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

func realPath(t *testing.T, dir string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return real
}
