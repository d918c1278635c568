//go:build unix

package env

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/attractor-go/attractor/internal/contain"
)

// closeTime is the time that what KILL has not ended has while its environment is closed. Nobody waits for a result then, and a machine that is
// busy, or takes down a large namespace, may need more than contain.SettleTime.
const closeTime = 10 * time.Second

// Kill ends the command and everything it started that the containment finds: TERM, the grace time, KILL. All callers wait for the
// same kill. The context ends a caller's waiting, not the kill. Kill returns an error if something is left half a second after
// KILL, which happens with processes stuck in the kernel and, at ContainGroup, with those of another user.
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

// leftTime limits how long a kill waits for the list of what runs.
const leftTime = time.Second

// left returns what runs, or nothing if nobody is told or the system does not tell in time: a process that is stuck in the kernel can hold
// up whoever asks for its command line.
func (p *process) left() []string {
	if p.table.isClosed() {
		return nil
	}
	found := make(chan []string, 1)
	go func() { found <- p.leftByCommand() }()
	late := time.NewTimer(leftTime)
	defer late.Stop()
	select {
	case lines := <-found:
		return lines
	case <-late.C:
		return nil
	}
}

// end kills the process tree and releases everything that belongs to it.
func (p *process) end() {
	defer close(p.killed)
	for _, line := range p.left() {
		number, command, _ := strings.Cut(line, " ")
		if _, err := strconv.Atoi(number); err == nil && !shows(line, p.shell) { // else it says why there is no list
			p.running = append(p.running, command)
		}
	}
	settle := p.settle
	if p.table.isClosed() {
		settle = max(settle, closeTime)
	}
	if err := contain.End(p.tree, p.reaped, p.grace, settle); err != nil {
		p.killErr = fmt.Errorf("%s: %w", p.id, err)
	}
	close(p.treeGone)
	select {
	case <-p.reaped:
	default: // stuck in the kernel: it exits when the kernel lets it
		return
	}
	<-p.done
	p.killErr = errors.Join(p.killErr, p.output.close())
	<-p.output.dropped
	p.killErr = errors.Join(p.killErr, p.release())
}
