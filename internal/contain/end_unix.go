//go:build unix

package contain

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"
)

// pollTime is the interval between looks at a tree. The kernel does not report the end of processes
// that are not our children.
const pollTime = 5 * time.Millisecond

// End ends a command and its tree with TERM and, after the grace time, KILL. The channel is closed
// when somebody has waited for the command itself. It is an error if a process is left so long
// after the KILL.
func End(t Tree, reaped <-chan struct{}, grace, settle time.Duration) error {
	e := ending{t, reaped}
	if !e.alive() {
		return nil
	}
	began := time.Now() // finding a large tree takes time, which counts as grace
	errTerm := t.Signal(syscall.SIGTERM)
	if e.waitGone(grace-time.Since(began), func() error { return nil }) == nil {
		return nil
	}
	// More than once, because in a session with several groups processes may fork between the
	// signals.
	err := e.waitGone(settle, func() error { return t.Signal(syscall.SIGKILL) })
	if err == nil {
		return nil
	}
	return errors.Join(fmt.Errorf("still running after SIGKILL: %s", strings.Join(t.Left(), "; ")), errTerm, err)
}

// ending is a tree that is to end, with the channel that is closed when its main process has been
// waited for.
type ending struct {
	tree   Tree
	reaped <-chan struct{}
}

// alive reports whether the main process or another one of its tree runs. It looks twice: at the
// level of groups a process that was forked during a look is not found.
func (e ending) alive() bool {
	select {
	case <-e.reaped:
	default:
		return true
	}
	for range 2 {
		if e.tree.Alive() {
			return true
		}
	}
	return false
}

// waitGone calls each again and again until the tree has ended or the limit, from the first call
// on, is over. It returns nil if the tree has ended; otherwise the last error of each, joined with
// context.DeadlineExceeded.
func (e ending) waitGone(limit time.Duration, each func() error) error {
	err := each()
	end := time.Now().Add(limit)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	tick := time.NewTicker(pollTime)
	defer tick.Stop()
	reaped := e.reaped
	for {
		// Not a case of the select: if looking takes longer than a tick, the ticker is always ready
		// too. Before the look: if this process was paused, the tree may have ended since the one
		// before.
		late := !time.Now().Before(end)
		if !e.alive() {
			return nil
		}
		if late {
			return errors.Join(err, context.DeadlineExceeded)
		}
		select {
		case <-reaped:
			reaped = nil // look at once, from then on with the ticker
		case <-tick.C:
		case <-timer.C:
		}
		err = each()
	}
}
