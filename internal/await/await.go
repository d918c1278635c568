package await

import (
	"testing"
	"time"
)

// Limit is how long tests wait for what has to happen. It is no promise about time: it only ends a
// test that would hang, so it has to be longer than a busy machine may pause a process.
const Limit = time.Minute

// pause is the time between two looks at a condition.
const pause = 10 * time.Millisecond

// For waits until a condition holds, and fails the test if it does not hold within Limit. what
// names the condition. For is called on the test's goroutine.
func For(t testing.TB, what string, holds func() bool) {
	t.Helper()
	if !Holds(holds) {
		t.Fatalf("%s: not within %v", what, Limit)
	}
}

// Holds waits until a condition holds, at most for Limit, and reports whether it does.
func Holds(condition func() bool) bool {
	for deadline := time.Now().Add(Limit); ; time.Sleep(pause) {
		late := time.Now().After(deadline) // before the look, so that a process that was paused looks once more
		if condition() {
			return true
		}
		if late {
			return false
		}
	}
}

// Receive returns the next value of a channel, and fails the test if there is none within Limit. It
// returns the zero value if the channel is closed. what names the value. Receive is called on the
// test's goroutine.
func Receive[T any](t testing.TB, what string, values <-chan T) T {
	t.Helper()
	timer := time.NewTimer(Limit)
	defer timer.Stop()
	select {
	case v := <-values:
		return v
	case <-timer.C:
	}
	select { // both may have been ready after a pause
	case v := <-values:
		return v
	default:
	}
	t.Fatalf("%s: not within %v", what, Limit)
	panic("unreachable")
}
