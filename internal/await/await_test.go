package await_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/internal/await"
)

// failing is a test that records its failure instead of ending.
type failing struct {
	testing.TB
	text string
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(format string, args ...any) {
	f.text = fmt.Sprintf(format, args...)
	panic(f)
}

// failure returns the text with which a function fails its test, and when.
func failure(f func(testing.TB)) (text string, after time.Duration) {
	began := time.Now()
	t := new(failing)
	defer func() {
		if failed := recover(); failed != nil && failed != any(t) {
			panic(failed)
		}
		text, after = t.text, time.Since(began)
	}()
	f(t)
	return
}

func TestWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for limit, want := range map[time.Duration]string{0: "", 50 * time.Second: "",
			100 * time.Second: "it: not within 1m0s"} {
			began := time.Now()
			text, after := failure(func(t testing.TB) {
				await.For(t, "it", func() bool { return time.Since(began) >= limit })
			})
			if text != want || after > limit+time.Second || after < min(limit, await.Limit) {
				t.Errorf("what holds after %v: %q after %v", limit, text, after)
			}
			text, after = failure(func(t testing.TB) { await.Receive(t, "it", time.After(limit)) })
			if text != want || after != min(limit, await.Limit) {
				t.Errorf("what comes after %v: %q after %v", limit, text, after)
			}
		}
		closed := make(chan string)
		close(closed)
		if got := await.Receive(t, "it", closed); got != "" {
			t.Errorf("of a closed channel: %q", got)
		}
	})
}

// A condition that holds after a process was paused for longer than the limit has come in time.
func TestWaits_AfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looks := 0
		holds := func() bool {
			if looks++; looks == 1 {
				time.Sleep(time.Hour) // nothing runs meanwhile
			}
			return looks > 1
		}
		if !await.Holds(holds) {
			t.Error("there was no look after the pause")
		}
		if looks = 0; await.Holds(func() bool { looks++; return false }) || looks < 2 {
			t.Errorf("%d looks at what never holds", looks)
		}
	})
}
