//go:build unix

package env

import (
	"context"
	"errors"
	"fmt"

	"github.com/attractor-go/attractor/internal/contain"
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
	if err := contain.End(p.tree, p.reaped, p.grace); err != nil {
		p.killErr = fmt.Errorf("%s: %w", p.id, err)
	}
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
