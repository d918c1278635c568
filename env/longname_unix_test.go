//go:build unix

package env_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/attractor-go/attractor/env"
)

// countdown ends after it was asked some times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// A name that is longer than the system takes is refused by every operation, without a look at its
// elements.
func TestU20_LongNamesAreRefused(t *testing.T) {
	local := newLocal(t, t.TempDir(), env.LocalOptions{})
	ctx := t.Context()
	for _, name := range []string{strings.Repeat("a/", 20_000), strings.Repeat("../", 2_000),
		strings.Repeat("a", 4097)} {
		for op, err := range map[string]error{
			"write":  local.WriteFile(ctx, name, nil, 0o644),
			"remove": local.Remove(ctx, name),
		} {
			if !errors.Is(err, syscall.ENAMETOOLONG) {
				t.Errorf("%s: %v", op, err)
			}
		}
		for op, do := range map[string]func(context.Context, string) (string, error){
			"open": func(ctx context.Context, name string) (string, error) {
				_, err := local.Open(ctx, name)
				return "", err
			},
			"stat": func(ctx context.Context, name string) (string, error) {
				_, err := local.Stat(ctx, name)
				return "", err
			},
			"list": func(ctx context.Context, name string) (string, error) {
				_, err := local.ReadDir(ctx, name)
				return "", err
			},
			"resolve": local.Resolve,
			"resolve without links": func(ctx context.Context, name string) (string, error) {
				return env.Resolve(ctx, struct{ env.Environment }{local}, name)
			},
			"find what is meant": func(ctx context.Context, name string) (string,
				error) {
				return env.Meant(ctx, local, name)
			},
		} {
			if _, err := do(ctx, name); !errors.Is(err, syscall.ENAMETOOLONG) {
				t.Errorf("%s: %v", op, err)
			}
		}
	}
}

// Elements behind one that does not exist are not looked up.
func TestU20_MissingNamesCostOneLook(t *testing.T) {
	dir := t.TempDir()
	local := newLocal(t, dir, env.LocalOptions{})
	name := strings.Repeat("a/./", 1_000)
	allocations := testing.AllocsPerRun(3, func() {
		if got, err := local.Resolve(t.Context(), name); err != nil || got != filepath.Join(dir, name) {
			t.Fatal(got, err)
		}
	})
	if allocations > 100 {
		t.Errorf("a name of 1,000 elements, none of which exists, takes %v allocations", allocations)
	}
}

// What links make of a name is bounded, and an interrupt ends the look at it.
func TestU20_LooksForANameAreBounded(t *testing.T) {
	dir := t.TempDir()
	local := newLocal(t, dir, env.LocalOptions{})
	if err := os.MkdirAll(filepath.Join(dir, strings.Repeat("d/", 100)), 0o755); err != nil {
		t.Fatal(err)
	}
	round := strings.Repeat("d/", 100) + strings.Repeat("../", 100)
	if err := os.Symlink(strings.Repeat(round, 8), filepath.Join(dir, "l")); err != nil {
		t.Fatal(err)
	}
	if got, err := local.Resolve(t.Context(), "l/l/l"); err != nil || got != dir {
		t.Error(got, err)
	}
	if _, err := local.Resolve(t.Context(), strings.Repeat("l/", 20)); !errors.Is(err, syscall.ENAMETOOLONG) {
		t.Error(err)
	}
	if _, err := local.Resolve(&countdown{t.Context(), 50}, strings.Repeat("d/", 100)); !errors.Is(err,
		context.Canceled) {
		t.Error(err)
	}
}
