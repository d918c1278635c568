package fleet

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
)

func TestP4_CodeThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		goOn, late := make(chan struct{}), make(chan int, 1)
		_, err := inTime(ctx, "Host", func() (int, error) { <-goOn; return 7, nil }, func(n int) { late <- n })
		if err == nil || !strings.Contains(err.Error(), "Host has not returned") {
			t.Errorf("code that hangs: %v", err)
		}
		close(goOn)
		if n := <-late; n != 7 {
			t.Errorf("the late value: %d", n)
		}
		if n, err := inTime(ctx, "Host", func() (int, error) { return 8, nil }, nil); n != 8 || err != nil {
			t.Errorf("code that returns: %d, %v", n, err)
		}
		failed := errors.New("failed")
		if err := closeInTime("Close", func() error { return failed }); !errors.Is(err, failed) {
			t.Errorf("closing: %v", err)
		}
		if err := closeInTime("Close", func() error { panic("a bug") }); err == nil || !strings.Contains(err.Error(),
			"a bug") {
			t.Errorf("closing: %v", err)
		}
	})
}
