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
	"github.com/attractor-go/attractor/internal/guard"
)

// closeTime is the time that what KILL has not ended has while its environment is closed. Nobody
// waits for a result then, and a machine that is busy, or takes down a large namespace, may need
// more than contain.SettleTime.
const closeTime = 10 * time.Second

// Kill ends the command and everything it started that the containment finds: TERM, the grace time,
// KILL. All callers wait for the same kill. The context ends a caller's waiting, not the kill. Kill
// returns an error if something is left half a second after KILL, which happens with processes
// stuck in the kernel, on a busy machine, and, at ContainGroup, with those of another user. Then
// the Close of the environment looks again.
func (p *process) Kill(ctx context.Context) error {
	p.kill.Do(func() {
		p.killing.Store(true)
		go p.end()
	})
	select {
	case <-p.killed:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if p.killErr != nil && p.table.isClosed() {
		return p.closing()
	}
	return p.killErr
}

// leftTime limits how long a kill waits for the list of what runs.
const leftTime = time.Second

// left returns what runs, or nothing if nobody is told or the system does not tell in time: a
// process that is stuck in the kernel can hold up whoever asks for its command line.
func (p *process) left() []string {
	if p.table.isClosed() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), leftTime)
	defer cancel()
	lines, _ := guard.Within(ctx, "the list of processes", func() ([]string, error) { return p.leftByCommand(), nil })
	return lines
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
	err := contain.End(p.tree, p.reaped, p.grace, settle)
	close(p.treeGone)
	p.killErr = p.finish(err)
}

// endAgain gives what a kill has left some more time.
func (p *process) endAgain() error { return p.finish(contain.End(p.tree, p.reaped, 0, closeTime)) }

// finish waits for the end of a process whose tree was ended with this error, and releases
// everything that belongs to it. It may be called again after an error.
func (p *process) finish(err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", p.id, err)
	}
	select {
	case <-p.reaped:
	default: // stuck in the kernel: it exits when the kernel lets it
		return err
	}
	<-p.done
	err = errors.Join(err, p.output.close())
	<-p.output.dropped
	return errors.Join(err, p.release())
}
