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

// tester holds an environment under test.
type tester struct {
	testing.TB
	ctx      context.Context
	limit    time.Duration // for each part
	env      env.Environment
	arranger env.Environment // the same files, for arranging a check
	helped   bool            // arranger comes from Options.Arrange
	lacks    map[Feature]string
}

// part runs a part of a long check, which has the whole limit for itself.
func (t *tester) part(run func(*tester)) {
	ctx, cancel := context.WithTimeoutCause(t.Context(), t.limit, errHangs)
	defer cancel()
	part := *t
	part.ctx = ctx
	run(&part)
}

// within runs do and fails the test if it hangs. Do must not end the test itself.
func (t *tester) within(what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-t.ctx.Done():
		t.Fatalf("%s hangs", what)
	}
}

// read returns the content of a file, which must exist.
func (t *tester) read(name string) string {
	t.Helper()
	f, err := t.env.Open(t.ctx, name)
	t.must("Open", err)
	data, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatalf("read %s: %v", name, err)
	}
	return string(data)
}

// put makes a file for a check.
func (t *tester) put(name, data string, perm fs.FileMode) {
	t.Helper()
	t.must("WriteFile", t.arranger.WriteFile(t.ctx, name, []byte(data), perm))
}

// arrange runs a script that prepares a check.
func (t *tester) arrange(script string) {
	t.Helper()
	if !t.helped && t.lacks[Commands] != "" {
		t.Skipf("not run: it needs %q to be run first, and the environment lacks commands: %s", script,
			t.lacks[Commands])
	}
	result, err := env.Run(t.ctx, t.arranger, env.Command{Script: script}, waitLimit)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skipf("not run: it needs %q to be run first: %v", script, err)
	}
	if err != nil || result.Code != 0 {
		t.Fatalf("%s: %+v, %v", script, result, err)
	}
}

// stat describes a file, which must exist.
func (t *tester) stat(name string) env.Info {
	t.Helper()
	info, err := t.env.Stat(t.ctx, name)
	t.must("Stat", err)
	return info
}

// list lists a directory, which must exist.
func (t *tester) list(dir string) []env.Info {
	t.Helper()
	list, err := t.env.ReadDir(t.ctx, dir)
	t.must("ReadDir", err)
	return list
}

// names returns the names in a directory.
func (t *tester) names(dir string) []string {
	t.Helper()
	var names []string
	for _, info := range t.list(dir) {
		names = append(names, info.Name)
	}
	return names
}

// must ends the test if an operation has failed.
func (t *tester) must(what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// needsModes skips the check on a machine without permission bits.
func (t *tester) needsModes() {
	if t.onWindows() {
		t.Skip("not run: Windows has no permission bits")
	}
}

// isError checks that an error is of a kind.
func (t *tester) isError(what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error %v, want one that is %q", what, err, want)
	}
}

// equal checks that two values are equal.
func (t *tester) equal(what string, got, want any) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// sameNames checks that two lists of names are equal, including their order.
func (t *tester) sameNames(got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
}

// absolute returns the absolute path of a name in the working directory.
func (t *tester) absolute(name string) string { return path.Join(t.env.WorkDir(), name) }

// onWindows reports whether the environment is a Windows machine.
func (t *tester) onWindows() bool { return t.env.Platform().OS == "windows" }

// ended returns an ended context and its cause.
func (t *tester) ended() (context.Context, error) {
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.ctx)
	cancel(gone)
	return ctx, gone
}
