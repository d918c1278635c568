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

const (
	// settleTime is how long a tree may take to vanish after KILL.
	settleTime = 400 * time.Millisecond
	// pollTime is how often a tree is looked at. Nothing tells the end of processes that are not our children.
	pollTime = 5 * time.Millisecond
)

// End ends a command and its tree: TERM, the grace time, KILL. The channel is closed when the command itself has been waited for. It is an
// error if something is left four tenths of a second after the KILL.
func End(t Tree, reaped <-chan struct{}, grace time.Duration) error {
	e := ending{t, reaped}
	if !e.alive() {
		return nil
	}
	began := time.Now() // finding all of a large tree takes time, which is part of the grace
	errTerm := t.Signal(syscall.SIGTERM)
	if e.goneWithin(grace-time.Since(began), func() error { return nil }) == nil {
		return nil
	}
	// Again and again: in a session with several groups something may be forked between the signals.
	err := e.goneWithin(settleTime, func() error { return t.Signal(syscall.SIGKILL) })
	if err == nil {
		return nil
	}
	return errors.Join(fmt.Errorf("still running after SIGKILL: %s", strings.Join(t.Left(), "; ")), errTerm, err)
}

// ending is a tree with its main process that are to end.
type ending struct {
	tree   Tree
	reaped <-chan struct{}
}

// alive reports whether the main process or something in its tree runs.
func (e ending) alive() bool {
	select {
	case <-e.reaped:
		return e.tree.Alive()
	default:
		return true
	}
}

// goneWithin calls each, waits until the tree is gone, and so on. It returns nil when it is gone, and otherwise what each said
// last or that the time is over.
func (e ending) goneWithin(limit time.Duration, each func() error) error {
	end := time.Now().Add(limit)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	tick := time.NewTicker(pollTime)
	defer tick.Stop()
	reaped := e.reaped
	for {
		err := each()
		if !e.alive() {
			return nil
		}
		select {
		case <-reaped:
			reaped = nil // look at once, then by the ticker
		case <-tick.C:
		case <-timer.C:
		}
		// Not left to the select: where a look takes longer than a tick, that is always ready, too.
		if !time.Now().Before(end) {
			return errors.Join(err, context.DeadlineExceeded)
		}
	}
}
