package envtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/attractor-go/attractor/env"
)

// MemoryCommand is a command of a Memory, as passed to the function that runs it.
type MemoryCommand struct {
	Script string
	Dir    string   // the directory it runs in, absolute
	Env    []string // from Command.Env
	// Stdin reads what is written to the process; without Command.Stdin it is empty. Reading ends
	// when the command is killed.
	Stdin io.Reader
	// Stdout and Stderr write to Command.Output. They return an error once the command has ended.
	Stdout, Stderr io.Writer
	// Files is the environment with Dir as working directory.
	Files env.Environment
}

// Scripts maps the exact text of a script to the function that runs it.
type Scripts map[string]func(ctx context.Context, cmd *MemoryCommand) env.Exit

// Run runs a script, for Memory.Commands. A missing one ends as an unknown command does in a shell:
// with a message on standard error and exit code 127.
func (s Scripts) Run(ctx context.Context, cmd *MemoryCommand) env.Exit {
	if run := s[cmd.Script]; run != nil {
		return run(ctx, cmd)
	}
	if _, err := fmt.Fprintf(cmd.Stderr, "sh: %s: not found among the scripts of the test\n", cmd.Script); err != nil {
		return env.Exit{Code: 1}
	}
	return env.Exit{Code: 127}
}

// Start implements env.Environment. Terminals are not supported. A command may run in the working
// directory and below.
func (m *Memory) Start(ctx context.Context, cmd env.Command) (env.Process, error) {
	p, err := m.newProcess(ctx, cmd)
	if err != nil {
		return nil, fmt.Errorf("start command: %w", err)
	}
	go p.run(m.Commands)
	return p, nil
}

func (m *Memory) newProcess(ctx context.Context, cmd env.Command) (*memoryProcess, error) {
	switch {
	case m.Commands == nil:
		return nil, fmt.Errorf("Memory.Commands is not set: %w", errors.ErrUnsupported)
	case cmd.TTY != nil:
		return nil, fmt.Errorf("a terminal in memory: %w", errors.ErrUnsupported)
	case cmd.Dir == "":
		cmd.Dir = MemoryDir
	case !path.IsAbs(cmd.Dir):
		cmd.Dir = MemoryDir + "/" + cmd.Dir
	}
	err := m.look(ctx, "chdir", cmd.Dir, func(_ string, n *node) error {
		if !n.mode.IsDir() {
			return errNotDir
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	p := &memoryProcess{memory: m, output: cmd.Output, began: m.now(), outputToken: make(chan struct{}, 1),
		ended: make(chan struct{}), killed: make(chan struct{})}
	p.ctx, p.end = context.WithCancelCause(context.WithoutCancel(ctx))
	p.cmd = MemoryCommand{Script: cmd.Script, Dir: path.Clean(cmd.Dir), Env: slices.Clone(cmd.Env),
		Stdin:  strings.NewReader(""),
		Stdout: stream{p, env.Stdout}, Stderr: stream{p, env.Stderr}, Files: env.Sub(m, path.Clean(cmd.Dir))}
	if cmd.Stdin {
		r, w := io.Pipe()
		context.AfterFunc(p.ctx, func() { w.CloseWithError(errKilled) })
		p.cmd.Stdin, p.stdin = r, w
	}
	return p, m.add(p)
}

// add notes that a command runs, and names it.
func (m *Memory) add(p *memoryProcess) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return fmt.Errorf("the environment is closed: %w", fs.ErrClosed)
	}
	m.last++
	p.id = "p" + strconv.Itoa(m.last)
	if m.live == nil {
		m.live = map[string]*memoryProcess{}
	}
	m.live[p.id] = p
	return nil
}

// Close kills the running commands. Afterwards Start returns an error; files remain.
func (m *Memory) Close() error {
	m.mu.Lock()
	m.closed = true
	live := slices.Collect(maps.Values(m.live))
	m.mu.Unlock()
	var killing sync.WaitGroup
	for _, p := range live {
		killing.Go(p.kill)
	}
	killing.Wait()
	return nil
}

// memoryProcess is a running function.
type memoryProcess struct {
	id     string
	memory *Memory
	cmd    MemoryCommand
	began  time.Time
	stdin  io.WriteCloser // nil without input
	ctx    context.Context
	end    context.CancelCauseFunc

	output      func(int, []byte)
	outputToken chan struct{} // holds a token while output is called or exit is set
	exit        env.Exit
	ended       chan struct{} // closed when exit is set

	kills  sync.Once
	killed chan struct{} // closed when a kill has ended
}

var errKilled = errors.New("the command was killed")

func (p *memoryProcess) run(do func(context.Context, *MemoryCommand) env.Exit) {
	exit := env.Exit{Code: -1, Signal: "SIGABRT"} // if it does not return, as after t.FailNow
	defer func() { p.setExit(exit) }()
	exit = do(p.ctx, &p.cmd)
	if p.ctx.Err() != nil && exit.Code == 0 && exit.Signal == "" {
		exit.Code, exit.Signal = -1, "SIGTERM"
	}
}

// setExit sets the exit once. A process that left nothing running is then removed.
func (p *memoryProcess) setExit(exit env.Exit) {
	p.outputToken <- struct{}{}
	defer func() { <-p.outputToken }()
	if p.hasEnded() {
		return
	}
	p.exit = exit
	p.exit.Duration = p.memory.now().Sub(p.began)
	close(p.ended)
	if len(exit.Left) == 0 {
		p.remove()
	}
}

func (p *memoryProcess) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

func (p *memoryProcess) remove() {
	p.end(errKilled)
	p.memory.mu.Lock()
	defer p.memory.mu.Unlock()
	delete(p.memory.live, p.id)
}

// ID returns the id, such as p1.
func (p *memoryProcess) ID() string { return p.id }

// Stdin returns the writer of the function's input.
func (p *memoryProcess) Stdin() io.WriteCloser { return p.stdin }

// Wait implements env.Process.
func (p *memoryProcess) Wait(ctx context.Context) (env.Exit, error) {
	if p.hasEnded() {
		return p.exit, nil
	}
	select {
	case <-p.ended:
		return p.exit, nil
	case <-ctx.Done():
		return env.Exit{}, context.Cause(ctx)
	}
}

// Kill implements env.Process.
func (p *memoryProcess) Kill(ctx context.Context) error {
	p.kills.Do(func() {
		go func() {
			p.kill()
			close(p.killed)
		}()
	})
	select {
	case <-p.killed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *memoryProcess) kill() {
	p.end(errKilled)
	timer := time.NewTimer(p.memory.KillGrace())
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
		p.setExit(env.Exit{Code: -1, Signal: "SIGKILL"})
	}
	p.remove()
}

// stream is one of a command's output streams.
type stream struct {
	p      *memoryProcess
	number int
}

func (s stream) Write(b []byte) (int, error) {
	s.p.outputToken <- struct{}{} // a channel, because waiting for a mutex would stop a bubble's time
	defer func() { <-s.p.outputToken }()
	if s.p.hasEnded() {
		return 0, fs.ErrClosed
	}
	if s.p.output != nil && len(b) > 0 {
		s.p.output(s.number, b)
	}
	return len(b), nil
}
