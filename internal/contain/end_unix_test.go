//go:build unix

package contain

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// slowTree is a tree of which each look takes a time, as when this process is paused meanwhile.
type slowTree struct {
	Tree
	look   time.Duration
	ends   int // the looks until it has ended after KILL
	killed bool
	looks  int
}

func (s *slowTree) Signal(sig syscall.Signal) error {
	s.killed = s.killed || sig == syscall.SIGKILL
	return nil
}
func (s *slowTree) Left() []string { return []string{"1 it"} }

func (s *slowTree) Alive() bool {
	if s.killed {
		s.looks++
	}
	alive := s.looks <= s.ends
	time.Sleep(s.look)
	return alive
}

// A tree that ends while this process is paused has ended in time, and one that does not end is an
// error after a while.
func TestD4_EndIsSeenAfterAPause(t *testing.T) {
	for _, c := range []struct {
		grace, look time.Duration
		ends        int
		ended       bool
	}{{0, 0, 1, true}, {0, 10 * time.Second, 1, true}, {time.Second, 10 * time.Second, 1, true}, {0, 0, 1e6, false},
		{time.Second, 10 * time.Second, 1e6, false}} {
		synctest.Test(t, func(t *testing.T) {
			reaped := make(chan struct{})
			close(reaped)
			tree := &slowTree{look: c.look, ends: c.ends}
			if err := End(tree, reaped, c.grace, SettleTime); (err == nil) != c.ended || err != nil &&
				!errors.Is(err, context.DeadlineExceeded) || !tree.killed {
				t.Errorf("%+v: %v", c, err)
			}
		})
	}
}
