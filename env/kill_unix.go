//go:build unix

package env

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"
)

const (
	// settleTime is how long a tree may take to vanish after KILL; with killedDrain it makes half a second.
	settleTime = 400 * time.Millisecond
	// pollTime is how often a tree is looked at. Nothing tells the end of processes that are not our children.
	pollTime = 5 * time.Millisecond
)

// Kill ends the command and all that its containment finds of what it started: TERM, the environment's grace time, KILL. All
// callers wait for the one kill; the context ends a caller's waiting, not the kill. It is an error if something is left half a
// second after the KILL, which happens to processes stuck in the kernel and, at ContainGroup, to those of another user.
func (p *process) Kill(ctx context.Context) error {
	p.kill.Do(func() {
		p.killing.Store(true)
		go p.end()
	})
	select {
	case <-p.killed:
		return p.killErr
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// end kills the tree and waits for everything that belongs to it here.
func (p *process) end() {
	defer close(p.killed)
	p.killErr = p.killTree()
	close(p.treeGone)
	select {
	case <-p.reaped:
	default: // stuck in the kernel: its exit comes when the kernel lets go of it
		return
	}
	<-p.done
	p.killErr = errors.Join(p.killErr, p.output.close())
	<-p.output.dropped
	p.killErr = errors.Join(p.killErr, p.forget())
}

// killTree is the ladder.
func (p *process) killTree() error {
	if !p.alive() {
		return nil
	}
	began := time.Now() // finding all of a large tree takes time, which is part of the grace
	errTerm := p.tree.signal(syscall.SIGTERM)
	if p.goneWithin(p.grace-time.Since(began), func() error { return nil }) == nil {
		return nil
	}
	// Again and again: in a session with several groups something may be forked between the signals.
	err := p.goneWithin(settleTime, func() error { return p.tree.signal(syscall.SIGKILL) })
	if err == nil {
		return nil
	}
	return errors.Join(fmt.Errorf("%s: still running after SIGKILL: %s", p.id, strings.Join(p.tree.left(), "; ")), errTerm, err)
}

// alive reports whether the main process or something in its tree runs.
func (p *process) alive() bool {
	select {
	case <-p.reaped:
		return p.tree.alive()
	default:
		return true
	}
}

// goneWithin calls each, waits until the tree is gone, and so on. It returns nil when it is gone, and otherwise what each said
// last or that the time is over.
func (p *process) goneWithin(limit time.Duration, each func() error) error {
	end := time.Now().Add(limit)
	timer := time.NewTimer(limit)
	defer timer.Stop()
	tick := time.NewTicker(pollTime)
	defer tick.Stop()
	reaped := p.reaped
	for {
		err := each()
		if !p.alive() {
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
