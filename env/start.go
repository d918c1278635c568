package env

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// Start runs a script with the shell's -c. Commands may work in any existing directory, inside the
// roots or not. Ids are p1, p2 and so on. Command.Output must return soon: until then nothing is
// read, the command waits, and so does Kill.
//
// If a process that the command started still holds its output open when the command ends, Wait
// reads on until there was no output for a tenth of a second, or for three tenths at most.
// Everything that the command itself printed is delivered. Such processes continue, and their later
// output is dropped. Exit.Left lists them if the containment finds them. They end with Kill or
// Close.
func (l *Local) Start(ctx context.Context, cmd Command) (Process, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("start command: %w", err)
	}
	dir, err := l.commandDir(cmd.Dir)
	if err != nil {
		return nil, fmt.Errorf("start command: %w", err)
	}
	id, err := l.table.reserve()
	if err != nil {
		return nil, fmt.Errorf("start command: %w", err)
	}
	p, err := l.start(ctx, id, dir, cmd)
	if err != nil {
		return nil, fmt.Errorf("start command: %w", err)
	}
	if err := l.table.add(p); err != nil { // Close ran meanwhile and missed this process
		return nil, errors.Join(fmt.Errorf("start command: %w", err), p.Kill(context.WithoutCancel(ctx)))
	}
	return p, nil
}

// commandDir returns the directory a command runs in. It is checked here because the kernel's "no
// such file" would seem to mean the shell.
func (l *Local) commandDir(name string) (string, error) {
	dir := l.dir
	switch {
	case name == "":
	case isAbs(name):
		dir = name
	default:
		dir = l.dir + "/" + name
	}
	dir = filepath.FromSlash(dir)
	info, err := os.Stat(dir)
	if err != nil {
		return "", fmt.Errorf("working directory of the command: %w", err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("working directory of the command: %w",
			&fs.PathError{Op: "chdir", Path: dir, Err: errors.New("not a directory")})
	}
	return filepath.Clean(dir), nil
}

// processTable holds the processes that may still have to be killed.
type processTable struct {
	mu     sync.Mutex
	last   int
	live   map[string]Process
	closed bool
}

// errClosed returns the error of a closed environment.
func errClosed() error { return fmt.Errorf("the environment is closed: %w", fs.ErrClosed) }

// reserve returns a new id.
func (t *processTable) reserve() (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return "", errClosed()
	}
	t.last++
	return "p" + strconv.Itoa(t.last), nil
}

// add registers a started process, unless the table is closed already.
func (t *processTable) add(p Process) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return errClosed()
	}
	if t.live == nil {
		t.live = make(map[string]Process)
	}
	t.live[p.ID()] = p
	return nil
}

// isClosed reports whether the table is closed, so that what kills processes is its close.
func (t *processTable) isClosed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed
}

// remove removes a process when nothing of it is left.
func (t *processTable) remove(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.live, id)
}

// close kills all processes at once, so that the grace times do not add up.
func (t *processTable) close(ctx context.Context) []error {
	t.mu.Lock()
	t.closed = true
	live := maps.Clone(t.live) // they stay in the table for KillNow until they are gone
	t.mu.Unlock()

	var wg sync.WaitGroup
	errs := make([]error, 0, len(live))
	for _, p := range live {
		errs = append(errs, nil)
		err := &errs[len(errs)-1]
		wg.Go(func() { *err = p.Kill(ctx) })
	}
	wg.Wait()
	return errs
}
