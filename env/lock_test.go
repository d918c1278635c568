//go:build unix

package env_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
)

// lockHolder is the variable that makes TestI6_LockHolder hold a lock: its directory, locks and
// file.
const lockHolder = "ATTRACTOR_TEST_LOCK_HOLDER"

// TestI6_LockHolder runs as the other process of TestI6_LockEndsWithItsProcess.
func TestI6_LockHolder(t *testing.T) {
	given := os.Getenv(lockHolder)
	if given == "" {
		t.Skip("not run: it is the helper of TestI6_LockEndsWithItsProcess")
	}
	args := strings.Split(given, "|")
	l := newLocal(t, args[0], env.LocalOptions{Locks: args[1]})
	if _, err := l.Lock(t.Context(), args[2]); err != nil {
		t.Fatal(err)
	}
	fmt.Println("locked")
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil { // until it is killed
		t.Fatal(err)
	}
}

func TestI6_LockEndsWithItsProcess(t *testing.T) {
	dir, locks := t.TempDir(), t.TempDir()
	write(t, dir+"/f", "x")
	if err := os.Symlink("f", dir+"/l"); err != nil {
		t.Fatal(err)
	}
	other := exec.Command(os.Args[0], "-test.run=^TestI6_LockHolder$", "-test.v")
	other.Env = append(os.Environ(), lockHolder+"="+dir+"|"+locks+"|l")
	stdin, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && lines.Text() != "locked" {
	}
	l := newLocal(t, dir, env.LocalOptions{Locks: locks})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := l.Lock(ctx, "f"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Lock while another process holds the file: %v", err)
	}
	if err := errors.Join(other.Process.Kill(), stdin.Close()); err != nil {
		t.Fatal(err)
	}
	_ = other.Wait() // it was killed
	unlock, err := l.Lock(t.Context(), "f")
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

// However many files are locked, there are few lock files, and they belong to the user.
func TestI6_LockFilesAreFew(t *testing.T) {
	dir, locks := t.TempDir(), filepath.Join(t.TempDir(), "a", "b")
	l := newLocal(t, dir, env.LocalOptions{Locks: locks})
	for i := range 2000 {
		unlock, err := l.Lock(t.Context(), fmt.Sprint("f", i), fmt.Sprint("g", i))
		if err != nil {
			t.Fatal(err)
		}
		unlock()
	}
	list, err := os.ReadDir(locks)
	if err != nil || len(list) == 0 || len(list) > 256 {
		t.Errorf("%d lock files, %v", len(list), err)
	}
	for _, entry := range list {
		if info, err := entry.Info(); err != nil || info.Size() != 0 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", entry.Name(), info, err)
		}
	}
	if info, err := os.Stat(locks); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory: %v, %v", info, err)
	}
}

// Locks are in the state directory or, if that is not writable, in the temporary directory. If
// neither is writable, nothing is changed.
func TestI6_WhereLocksAre(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "")
	outer := t
	replace := func(t *testing.T) (string, error) {
		dir := outer.TempDir() // independent of TMPDIR, which changes
		write(t, dir+"/f", "x")
		err := newLocal(t, dir, env.LocalOptions{}).Replace(t.Context(), "f", env.HashOf([]byte("x")), []byte("y"),
			0o644)
		return read(t, dir+"/f"), err
	}
	t.Run("state", func(t *testing.T) {
		state := t.TempDir()
		t.Setenv("XDG_STATE_HOME", state)
		t.Setenv("TMPDIR", t.TempDir())
		if _, err := replace(t); err != nil {
			t.Fatal(err)
		}
		only(t, state+"/attractor", "locks")
	})
	t.Run("home", func(t *testing.T) {
		home := t.TempDir()
		t.Setenv("XDG_STATE_HOME", "relative")
		t.Setenv("HOME", home)
		t.Setenv("TMPDIR", t.TempDir())
		if _, err := replace(t); err != nil {
			t.Fatal(err)
		}
		only(t, home+"/.local/state/attractor", "locks")
	})
	t.Run("temporary", func(t *testing.T) {
		temp := t.TempDir()
		t.Setenv("XDG_STATE_HOME", file)
		t.Setenv("TMPDIR", temp)
		if content, err := replace(t); err != nil || content != "y" {
			t.Fatal(content, err)
		}
		if list, err := filepath.Glob(temp + "/attractor-locks-*/swap*"); err != nil || len(list) != 1 {
			t.Errorf("lock files %q, %v", list, err)
		}
	})
	t.Run("somebody's link", func(t *testing.T) {
		temp := t.TempDir()
		t.Setenv("XDG_STATE_HOME", file)
		t.Setenv("TMPDIR", temp)
		if err := os.Symlink(t.TempDir(), fmt.Sprintf("%s/attractor-locks-%d", temp, os.Getuid())); err != nil {
			t.Fatal(err)
		}
		if content, err := replace(t); !errors.Is(err, fs.ErrPermission) || content != "x" {
			t.Errorf("content %q, %v", content, err)
		}
	})
	t.Run("nowhere", func(t *testing.T) {
		t.Setenv("XDG_STATE_HOME", file)
		t.Setenv("TMPDIR", file)
		if content, err := replace(t); err == nil || content != "x" || !strings.Contains(err.Error(),
			"set XDG_STATE_HOME") {
			t.Errorf("content %q, %v", content, err)
		}
	})
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
