package envtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"time"

	"github.com/attractor-go/attractor/env"
)

// Start implements env.Environment. Terminals are not supported, and what is written to a command's
// input is lost. A command may run in the working directory and below.
func (m *Memory) Start(ctx context.Context, cmd env.Command) (env.Process, error) {
	if err := m.prepare(ctx, &cmd); err != nil {
		return nil, fmt.Errorf("start command: %w", err)
	}
	p := &memoryProcess{id: "p" + strconv.FormatInt(m.commands.Add(1), 10), began: time.Now(),
		output: cmd.Output, outputToken: make(chan struct{}, 1), ended: make(chan struct{})}
	p.ctx, p.end = context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(p.ctx, func() {
		time.AfterFunc(m.Confinement().KillGrace, func() { p.setExit(env.Exit{Code: -1, Signal: "SIGKILL"}) })
	})
	if cmd.Stdin {
		p.stdin = lostInput{}
	}
	cmd.Output = p.write
	go p.run(m.Commands, cmd)
	return p, nil
}

// prepare checks that a command can be started, and makes its directory absolute.
func (m *Memory) prepare(ctx context.Context, cmd *env.Command) error {
	switch {
	case m.Commands == nil:
		return fmt.Errorf("Memory.Commands is not set: %w", errors.ErrUnsupported)
	case cmd.TTY != nil:
		return fmt.Errorf("a terminal in memory: %w", errors.ErrUnsupported)
	case !path.IsAbs(cmd.Dir):
		cmd.Dir = path.Join(MemoryDir, cmd.Dir)
	}
	return m.look(ctx, "chdir", cmd.Dir, func(_ string, n *node) error {
		if !n.mode.IsDir() {
			return errNotDir
		}
		return nil
	})
}

// memoryProcess is a running function.
type memoryProcess struct {
	id    string
	began time.Time
	ctx   context.Context // ends when the process is killed
	end   context.CancelFunc
	stdin io.WriteCloser // nil without input

	output      func(int, []byte)
	outputToken chan struct{} // holds a token while output is called or exit is set
	exit        env.Exit
	ended       chan struct{} // closed when exit is set
}

func (p *memoryProcess) run(do func(context.Context, env.Command) env.Exit, cmd env.Command) {
	exit := env.Exit{Code: -1, Signal: "SIGABRT"} // if it does not return, as after t.FailNow
	defer func() { p.setExit(exit) }()
	exit = do(p.ctx, cmd)
	if p.ctx.Err() != nil && exit.Code == 0 && exit.Signal == "" {
		exit.Code, exit.Signal = -1, "SIGTERM"
	}
}

// setExit sets the exit once.
func (p *memoryProcess) setExit(exit env.Exit) {
	p.outputToken <- struct{}{} // a channel, because waiting for a mutex would stop a bubble's time
	defer func() { <-p.outputToken }()
	if p.hasEnded() {
		return
	}
	p.exit = exit
	p.exit.Duration = time.Since(p.began)
	close(p.ended)
}

// write passes output on until the process has ended.
func (p *memoryProcess) write(stream int, b []byte) {
	p.outputToken <- struct{}{}
	defer func() { <-p.outputToken }()
	if p.output != nil && !p.hasEnded() {
		p.output(stream, b)
	}
}

func (p *memoryProcess) hasEnded() bool { return !isOpen(p.ended) }

// ID returns the id, such as p1.
func (p *memoryProcess) ID() string { return p.id }

// Stdin implements env.Process.
func (p *memoryProcess) Stdin() io.WriteCloser { return p.stdin }

// lostInput is an input that nobody reads.
type lostInput struct{}

func (lostInput) Write(b []byte) (int, error) { return len(b), nil }
func (lostInput) Close() error                { return nil }

// Wait implements env.Process.
func (p *memoryProcess) Wait(ctx context.Context) (env.Exit, error) {
	select {
	case <-p.ended:
	case <-ctx.Done():
		if !p.hasEnded() {
			return env.Exit{}, context.Cause(ctx)
		}
	}
	return p.exit, nil
}

// Kill implements env.Process.
func (p *memoryProcess) Kill(ctx context.Context) error {
	p.end()
	_, err := p.Wait(ctx)
	return err
}
