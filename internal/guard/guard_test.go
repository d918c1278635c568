package guard_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/guard"
)

func explode() { panic("boom") }

func leave() { runtime.Goexit() }

func TestI7_Guard(t *testing.T) {
	for name, c := range map[string]struct {
		run         func() error
		text, frame string // of the stack
	}{
		"panic": {func() error { explode(); return nil }, "the host panicked: boom", "guard_test.explode"},
		"nil": {func() error { panic(nil) }, "the host panicked: panic called with nil argument",
			"guard_test"},
		"Goexit":        {func() error { leave(); return nil }, "the host called runtime.Goexit", "guard_test.leave"},
		"another's":     {func() error { return grouped(explode) }, "the host panicked: boom", "guard_test.explode"},
		"another exits": {func() error { return grouped(leave) }, "the host called runtime.Goexit", "guard_test.leave"},
	} {
		t.Run(name, func(t *testing.T) {
			err := guard.Run("the host", c.run)
			var p *guard.Panic
			if !errors.As(err, &p) || !strings.HasPrefix(err.Error(), c.text) || strings.Contains(err.Error(), "\n") ||
				!strings.Contains(p.Stack, c.frame) {
				t.Errorf("error %v, stack %+v", err, p)
			}
		})
	}
	want := errors.New("an error")
	if v, err := guard.Value("the host", func() (int, error) { return 3, want }); v != 3 || err != want {
		t.Errorf("Value = %d, %v", v, err)
	}
}

func grouped(f func()) error {
	var g guard.Group
	g.Go(func() {})
	g.Go(f)
	g.Wait()
	return nil
}

// Within does not wait for code that goes on after the context has ended.
func TestI7_Within(t *testing.T) {
	if v, err := guard.Within(t.Context(), "the host", func() (int, error) { return 3, nil }); v != 3 || err != nil {
		t.Errorf("Within = %d, %v", v, err)
	}
	var p *guard.Panic
	if _, err := guard.Within(t.Context(), "the host", func() (int, error) { panic("boom") }); !errors.As(err, &p) {
		t.Errorf("a panic: %v", err)
	}
	late := errors.New("too late")
	ctx, cancel := context.WithCancelCause(t.Context())
	release := make(chan struct{})
	defer close(release)
	_, err := guard.Within(ctx, "the host", func() (int, error) {
		cancel(late)
		<-release
		return 3, nil
	})
	if !errors.Is(err, late) {
		t.Errorf("after the end of the context: %v", err)
	}
}
