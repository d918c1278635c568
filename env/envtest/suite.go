package envtest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
)

// waitLimit bounds every wait in the suite: something that takes longer hangs.
const waitLimit = 30 * time.Second

// Suite checks an environment. Make returns a new one with an empty, writable working directory, and arranges for its end with
// t.Cleanup; it is called once a test. Scripts keep to what a POSIX shell, cat, rm, ln and sleep can do. An environment whose
// Start says errors.ErrUnsupported is checked for its files only, and the tests of commands are skipped.
func Suite(t *testing.T, make func(t *testing.T) env.Environment) {
	for _, group := range [][]check{fileChecks, commandChecks} {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
				defer cancel()
				c.run(&tester{T: t, ctx: ctx, env: make(t)})
			})
		}
	}
}

// check is one test of the suite.
type check struct {
	name string
	run  func(*tester)
}

// tester is an environment under test.
type tester struct {
	*testing.T
	ctx context.Context
	env env.Environment
}

// read is the content of a file that must be there.
func (t *tester) read(name string) string {
	t.Helper()
	f, err := t.env.Open(t.ctx, name)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	data, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatalf("read %s: %v", name, err)
	}
	return string(data)
}

// write writes a file, which must work.
func (t *tester) write(name, data string, perm fs.FileMode) {
	t.Helper()
	if err := t.env.WriteFile(t.ctx, name, []byte(data), perm); err != nil {
		t.Fatalf("WriteFile: %v", err)
	}
}

// stat describes a file that must be there.
func (t *tester) stat(name string) env.Info {
	t.Helper()
	info, err := t.env.Stat(t.ctx, name)
	if err != nil {
		t.Fatalf("Stat: %v", err)
	}
	return info
}

// names lists a directory.
func (t *tester) names(dir string) []string {
	t.Helper()
	list, err := t.env.ReadDir(t.ctx, dir)
	if err != nil {
		t.Fatalf("ReadDir: %v", err)
	}
	var names []string
	for _, info := range list {
		names = append(names, info.Name)
	}
	return names
}

// isError checks an error's kind.
func (t *tester) isError(err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want one that is %q", err, want)
	}
}

// equal compares what came with what should have.
func (t *tester) equal(what string, got, want any) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// sameNames compares lists of names, in order.
func (t *tester) sameNames(got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
}

// absolute is a name in the working directory made absolute.
func (t *tester) absolute(name string) string { return path.Join(t.env.WorkDir(), name) }
