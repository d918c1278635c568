package guard_test

import (
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
