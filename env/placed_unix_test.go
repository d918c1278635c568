//go:build unix

package env_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/attractor-go/attractor/env"
)

// swappedEnv swaps a directory for a link right before a change, as a command in the background
// does between the look at a file and its change.
type swappedEnv struct {
	*env.Local
	swap func()
}

func (s *swappedEnv) WriteFile(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
	s.swap()
	return s.Local.WriteFile(ctx, name, data, perm)
}

func (s *swappedEnv) Replace(ctx context.Context, name string, was env.Hash, data []byte, perm fs.FileMode) error {
	s.swap()
	return s.Local.Replace(ctx, name, was, data, perm)
}

func (s *swappedEnv) Remove(ctx context.Context, name string) error {
	s.swap()
	return s.Local.Remove(ctx, name)
}

func (s *swappedEnv) Delete(ctx context.Context, name string, was env.Hash) error {
	s.swap()
	return s.Local.Delete(ctx, name, was)
}

func (s *swappedEnv) Symlink(ctx context.Context, target, name string) error {
	s.swap()
	return s.Local.Symlink(ctx, target, name)
}

func (s *swappedEnv) Mkdir(ctx context.Context, name string, perm fs.FileMode) error {
	s.swap()
	return s.Local.Mkdir(ctx, name, perm)
}

func (s *swappedEnv) Chmod(ctx context.Context, name string, perm fs.FileMode) error {
	s.swap()
	return s.Local.Chmod(ctx, name, perm)
}

// A directory that is swapped for a link between the look at a file and its change leads to no
// protected file.
func TestI2_ProtectSwappedDirectory(t *testing.T) {
	const name, other = "d/hooks/pre-commit", "d/hooks/new"
	for op, change := range map[string]func(ctx context.Context, e env.Environment) error{
		"write": func(ctx context.Context, e env.Environment) error {
			return e.WriteFile(ctx, other, []byte("x"), 0o755)
		},
		"replace": func(ctx context.Context, e env.Environment) error {
			return env.Replace(ctx, e, name, env.HashOf([]byte("h")), []byte("x"), 0o755)
		},
		"remove": func(ctx context.Context, e env.Environment) error { return e.Remove(ctx, name) },
		"delete": func(ctx context.Context, e env.Environment) error {
			return env.Delete(ctx, e, name, env.HashOf([]byte("h")))
		},
		"symlink": func(ctx context.Context, e env.Environment) error {
			return env.TreeOf(e).Symlink(ctx, "x", other)
		},
		"mkdir": func(ctx context.Context, e env.Environment) error { return env.TreeOf(e).Mkdir(ctx, other, 0o755) },
		"chmod": func(ctx context.Context, e env.Environment) error { return env.TreeOf(e).Chmod(ctx, name, 0o755) },
	} {
		t.Run(op, func(t *testing.T) {
			dir := t.TempDir()
			for _, top := range []string{".git", "d"} {
				mkdir(t, filepath.Join(dir, top, "hooks"))
				write(t, filepath.Join(dir, top, "hooks/pre-commit"), "h")
			}
			local := newLocal(t, dir, env.LocalOptions{})
			swap := func() {
				if err := os.Rename(filepath.Join(dir, "d"), filepath.Join(dir, "aside")); err != nil {
					t.Error(err)
				}
				symlink(t, ".git", filepath.Join(dir, "d"))
			}
			e := env.Protect(&swappedEnv{local, swap}, env.DefaultProtection())
			if err := change(t.Context(), e); !errors.Is(err, env.ErrProtected) {
				t.Errorf("the error is %v", err)
			}
			info, err := os.Stat(filepath.Join(dir, ".git/hooks/pre-commit"))
			if err != nil || info.Mode().Perm() != 0o644 {
				t.Fatalf("the hook is %v, %v", info, err)
			}
			only(t, filepath.Join(dir, ".git/hooks"), "pre-commit")
			if got := readFile(t, filepath.Join(dir, ".git/hooks/pre-commit")); got != "h" {
				t.Errorf("the hook is %q", got)
			}
		})
	}
}

// All checks of a place count, and it is the one without links.
func TestI2_PlacedChecksTheChange(t *testing.T) {
	dir := t.TempDir()
	mkdir(t, filepath.Join(dir, "real"))
	symlink(t, "real", filepath.Join(dir, "link"))
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	local := newLocal(t, dir, env.LocalOptions{})
	no := errors.New("no")
	var seen []string
	see := func(err error) func(string) error {
		return func(place string) error {
			seen = append(seen, place)
			return err
		}
	}
	ctx := env.Placed(env.Placed(t.Context(), see(no)), see(nil))
	if err := local.WriteFile(ctx, "link/f", nil, 0o644); !errors.Is(err, no) {
		t.Errorf("the error is %v", err)
	}
	if want := filepath.Join(real, "real/f"); len(seen) != 1 || seen[0] != want {
		t.Errorf("checked %q, want %q", seen, want)
	}
	if err := local.WriteFile(env.Placed(t.Context(), see(nil)), "link/f", nil, 0o644); err != nil {
		t.Error(err)
	}
	only(t, filepath.Join(dir, "real"), "f")
}
