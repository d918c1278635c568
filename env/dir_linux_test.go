package env_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/attractor-go/attractor/env"
)

// An open directory reaches only its own entries, even if they are swapped.
func TestD2_DirHasNoWayOut(t *testing.T) {
	base := t.TempDir()
	mkdir(t, base+"/inside/sub")
	write(t, base+"/secret", "secret")
	mkdir(t, base+"/inside/d")
	symlink(t, base+"/secret", base+"/inside/d/link")
	symlink(t, base, base+"/inside/d/up")
	if err := syscall.Mkfifo(base+"/inside/d/fifo", 0o600); err != nil {
		t.Fatal(err)
	}
	write(t, base+"/inside/d/f", "x")
	l := newLocal(t, base+"/inside", env.LocalOptions{})
	d, err := env.OpenDir(t.Context(), l, "d")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", ".", "..", "../../secret", "link", "up/secret", "./f", "fifo", "up", "missing",
		"f\x00"} {
		if f, err := d.Open(t.Context(), name); err == nil {
			t.Errorf("%q was opened", name)
			_ = f.Close()
		} else if !strings.Contains(err.Error(), base+"/inside/d/"+name) && !strings.Contains(err.Error(), "d/"+name) {
			t.Errorf("the error does not name %q: %v", name, err)
		}
		if sub, err := d.OpenDir(t.Context(), name); err == nil {
			t.Errorf("%q was opened as a directory", name)
			_ = sub.Close()
		}
	}
	for _, name := range []string{"", ".", "..", "../../secret", "up/secret", "missing"} {
		if node, err := d.Lstat(t.Context(), name); err == nil {
			t.Errorf("Lstat described %q: %+v", name, node)
		}
		if target, err := d.Readlink(t.Context(), name); err == nil {
			t.Errorf("Readlink of %q: %q", name, target)
		}
	}
	for _, name := range []string{"d/up", "d/f", "missing", "../", base} {
		if d, err := env.OpenDir(t.Context(), l, name); err == nil {
			t.Errorf("%q was opened", name)
			_ = d.Close()
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, openErr := d.Open(ctx, "f")
	_, listErr := d.List(ctx)
	if !errors.Is(openErr, context.Canceled) || !errors.Is(listErr, context.Canceled) {
		t.Errorf("after the context's end: %v, %v", openErr, listErr)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if err := d.Close(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("the second Close: %v", err)
	}
}

// Files of kernel file systems are refused even if a root contains them.
func TestD2_DirRefusesKernelFiles(t *testing.T) {
	l := newLocal(t, t.TempDir(), env.LocalOptions{Roots: []string{"/"}})
	root, err := env.OpenDir(t.Context(), l, "/")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, name := range []string{"proc", "sys", "dev"} {
		if _, err := os.Stat("/" + name); err != nil {
			t.Logf("not here: %v", err)
			continue
		}
		if d, err := root.OpenDir(t.Context(), name); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("/%s: %v", name, err)
			if err == nil {
				_ = d.Close()
			}
		}
	}
}
