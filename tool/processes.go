package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/guard"
	"github.com/attractor-go/attractor/tracecontext"
)

// MaxProcesses is the most background commands that one session may run at a time.
const MaxProcesses = 32

// keptPerProcess is how many bytes of the beginning, and of the end, of a command's unread output
// are held in memory. The output store has all of it.
const keptPerProcess = 128 << 10

// ProcessTable implements [Processes] with commands in an environment. It is safe for concurrent
// use.
type ProcessTable struct {
	outputs Outputs
	first   int

	mu        sync.Mutex
	closed    bool
	processes map[int]*backgroundCommand // also those that have ended
	next      int
}

// NewProcesses returns a table whose ids are numbers, starting with first. A session that is
// resumed starts after all earlier ids. Long output goes to the store, which may be nil.
func NewProcesses(outputs Outputs, first int) *ProcessTable {
	return &ProcessTable{outputs: outputs, first: first, next: first, processes: map[int]*backgroundCommand{}}
}

// backgroundCommand holds one command.
type backgroundCommand struct {
	process  env.Process
	script   string
	terminal bool // the command runs in a terminal
	printed  *Transcript
	ended    chan struct{} // closed once exit and err are set
	exit     env.Exit
	err      error

	mu     sync.Mutex
	killed bool // with everything that it left running
}

// Start implements [Processes].
func (t *ProcessTable) Start(ctx context.Context, e env.Environment, cmd env.Command) (string, error) {
	id, err := t.reserve()
	if err != nil {
		return "", err
	}
	b := &backgroundCommand{script: cmd.Script, terminal: cmd.TTY != nil, ended: make(chan struct{}),
		printed: NewTranscript(t.outputs, "process-"+strconv.Itoa(id), keptPerProcess)}
	cmd.Output, cmd.Env = b.printed.Write, append(slices.Clip(cmd.Env), tracecontext.Environ(ctx)...)
	b.process, err = guard.Value("the environment's Start", func() (env.Process, error) { return e.Start(ctx, cmd) })
	if err != nil {
		t.put(id, nil)
		return "", err
	}
	go b.wait()
	if !t.put(id, b) {
		return "", errors.Join(errClosed, b.kill(context.WithoutCancel(ctx)))
	}
	return strconv.Itoa(id), nil
}

var errClosed = errors.New("the session has ended")

// reserve returns a new id.
func (t *ProcessTable) reserve() (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return 0, errClosed
	}
	running := 0
	for _, b := range t.processes {
		if b == nil || !b.gone() {
			running++
		}
	}
	if running >= MaxProcesses {
		return 0, fmt.Errorf("%d commands are running in the background, which is the limit; end one of them first",
			running)
	}
	id := t.next
	t.next++
	t.processes[id] = nil // counts while it starts
	return id, nil
}

// put stores the command for a reserved id. If b is nil, it gives the id up. It reports whether the
// table was still open.
func (t *ProcessTable) put(id int, b *backgroundCommand) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if b == nil || t.closed {
		delete(t.processes, id)
		return b == nil
	}
	t.processes[id] = b
	return true
}

// Adopt implements [Processes]. The command has ended and its output is known; the id serves to
// kill what it left running.
func (t *ProcessTable) Adopt(p env.Process, cmd env.Command, left []string) string {
	b := &backgroundCommand{process: p, script: cmd.Script, printed: NewTranscript(nil, "", keptPerProcess),
		ended: make(chan struct{}), exit: env.Exit{Left: left}}
	b.printed.Close()
	close(b.ended)
	t.mu.Lock()
	defer t.mu.Unlock()
	id := t.next
	t.next++
	t.processes[id] = b // also in a closed table: a second Close is harmless, a process without an owner is not
	return strconv.Itoa(id)
}

// Read implements [Processes].
func (t *ProcessTable) Read(ctx context.Context, id string, wait time.Duration) (Result, error) {
	b, err := t.find(id)
	if err != nil {
		return Result{}, err
	}
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-b.ended:
		case <-timer.C:
		case <-ctx.Done():
			return Result{}, context.Cause(ctx)
		}
	}
	over := b.hasEnded() // checked before the output is taken, which is then complete
	result := b.printed.Take()
	result.Ran.ID, result.Ran.Terminal = strings.TrimSpace(id), b.terminal
	switch {
	case over && b.err != nil:
		result.Ran.Err, result.Ran.Lost = b.err.Error(), errors.Is(b.err, env.ErrLost)
	case over:
		exit := b.exit
		result.Ran.Exit = &exit
	}
	return result, nil
}

// Write implements [Processes].
func (t *ProcessTable) Write(ctx context.Context, id, input string) error {
	return t.sendInput(ctx, id, func(w io.WriteCloser) error {
		_, err := io.WriteString(w, input)
		return err
	})
}

// EndInput implements [Processes].
func (t *ProcessTable) EndInput(ctx context.Context, id string) error {
	return t.sendInput(ctx, id, io.WriteCloser.Close)
}

// findWithInput returns a process that can be written to.
func (t *ProcessTable) findWithInput(id string) (*backgroundCommand, error) {
	b, err := t.find(id)
	switch {
	case err != nil:
		return nil, err
	case b.hasEnded():
		return nil, fmt.Errorf("the command with the id %s has ended and reads no more input; start it again if it "+
			"is needed", id)
	case b.process.Stdin() == nil:
		return nil, fmt.Errorf("the command with the id %s was started without an input; end it, and start it again "+
			"so that it gets its input from a file or a pipe", id)
	}
	return b, nil
}

// inputTimeout bounds the wait for a process to take its input.
const inputTimeout = 10 * time.Second

// sendInput calls do with a process' input and waits for it until ctx ends, but not longer than
// inputTimeout. A write that the process does not read goes on in the background until the process
// ends.
func (t *ProcessTable) sendInput(ctx context.Context, id string, do func(io.WriteCloser) error) error {
	b, err := t.findWithInput(id)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, inputTimeout,
		fmt.Errorf("it took none for %d s", inputTimeout/time.Second))
	defer cancel()
	done := guard.Start("the process' input", func() (struct{}, error) { return struct{}{}, do(b.process.Stdin()) })
	select {
	case written := <-done:
		if written.Err != nil {
			return fmt.Errorf("the command with the id %s does not take the input (%w); read what it has printed", id,
				written.Err)
		}
		return nil
	case <-b.ended:
	case <-ctx.Done():
		return fmt.Errorf("the command with the id %s does not read its input (%w); read what it has printed, "+
			"or end it", id, context.Cause(ctx))
	}
	// The process may have ended because of what it read, before the write returned.
	late := time.NewTimer(lateWriteTimeout)
	defer late.Stop()
	select {
	case written := <-done:
		if written.Err == nil {
			return nil
		}
	case <-late.C:
	case <-ctx.Done():
	}
	return fmt.Errorf("the command with the id %s has ended without reading all of the input; read what it has printed",
		id)
}

// lateWriteTimeout bounds the wait for the result of a write to a process that has ended.
const lateWriteTimeout = time.Second

// Kill implements [Processes].
func (t *ProcessTable) Kill(ctx context.Context, id string) error {
	b, err := t.find(id)
	if err != nil {
		return err
	}
	return b.kill(ctx)
}

// Close kills everything and waits until it is gone. Nothing can be started afterwards.
func (t *ProcessTable) Close() error {
	t.mu.Lock()
	t.closed = true
	var all []*backgroundCommand
	for _, b := range t.processes {
		if b != nil {
			all = append(all, b)
		}
	}
	t.mu.Unlock()
	errs := make([]error, len(all))
	var killing sync.WaitGroup
	for i, b := range all {
		killing.Go(func() {
			errs[i] = guard.Run("the process' Kill", func() error { return b.kill(context.Background()) })
		})
	}
	killing.Wait()
	for i, b := range all {
		var broken *guard.Panic
		if b.hasEnded() && errors.As(b.err, &broken) { // perhaps nobody has seen the error
			errs[i] = errors.Join(errs[i], broken)
		}
	}
	return errors.Join(errs...)
}

// find returns the command with an id. The error lists the ids that there are.
func (t *ProcessTable) find(id string) (*backgroundCommand, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, err := strconv.Atoi(strings.TrimSpace(id))
	if b := t.processes[n]; err == nil && b != nil {
		return b, nil
	}
	if err == nil && n > 0 && n < t.first {
		return nil, fmt.Errorf("no command has the id %s any more: what was started before the session was resumed "+
			"has ended; start it again if it is needed", id)
	}
	var known []string
	for n := t.first; n < t.next; n++ {
		if t.processes[n] != nil {
			known = append(known, strconv.Itoa(n))
		}
	}
	if known == nil {
		return nil, fmt.Errorf("no command has the id %q: none runs in the background; start it first", id)
	}
	return nil, fmt.Errorf("no command has the id %q; the ids are %s", id, strings.Join(known, ", "))
}

func (b *backgroundCommand) wait() {
	b.exit, b.err = guard.Value("the process' Wait",
		func() (env.Exit, error) { return b.process.Wait(context.Background()) })
	b.printed.Close()
	close(b.ended)
}

// hasEnded reports whether the command itself has ended.
func (b *backgroundCommand) hasEnded() bool {
	select {
	case <-b.ended:
		return true
	default:
		return false
	}
}

// gone reports whether nothing of the command is known to be running.
func (b *backgroundCommand) gone() bool {
	if b.hasEnded() && len(b.exit.Left) == 0 {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.killed
}

// kill ends the whole tree, including what an ended command left running.
func (b *backgroundCommand) kill(ctx context.Context) error {
	if b.gone() {
		return nil
	}
	if err := b.process.Kill(ctx); err != nil {
		return err
	}
	b.mu.Lock()
	b.killed = true
	b.mu.Unlock()
	select {
	case <-b.ended:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
