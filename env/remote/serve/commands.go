package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/remote/internal/wire"
)

// maxEnded limits the commands that have ended and can still be killed, because they may have left
// processes running. Those of the oldest end with the environment.
const maxEnded = 1024

// commands holds the commands of a server by their ids.
type commands struct {
	mu    sync.Mutex
	all   map[string]env.Process
	ended []string // the oldest first
}

func (c *commands) add(p env.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[string]env.Process{}
	}
	c.all[p.ID()] = p
}

// end notes that a command has ended.
func (c *commands) end(p env.Process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended = append(c.ended, p.ID()); len(c.ended) > maxEnded {
		delete(c.all, c.ended[0])
		c.ended = c.ended[1:]
	}
}

func (c *commands) find(id string) (env.Process, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.all[id]; ok {
		return p, nil
	}
	return nil, fmt.Errorf("no command %q, or it ended long ago: %w", id, fs.ErrNotExist)
}

func (c *commands) kill(ctx context.Context, id string) error {
	p, err := c.find(id)
	if err != nil {
		return err
	}
	return p.Kill(ctx)
}

// closeInput closes a command's input while a write to it may wait.
func (c *commands) closeInput(id string) error {
	p, err := c.find(id)
	if err != nil {
		return err
	}
	if in := p.Stdin(); in != nil {
		return in.Close()
	}
	return nil
}

// start runs a command to its end.
func (s *server) start(ctx context.Context, stream *wire.Stream, r *wire.Request) error {
	if r.Command == nil {
		return stream.Finish(nil, errors.New("no command"))
	}
	starting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c := &command{server: s, stream: stream, begun: make(chan struct{}), process: make(chan env.Process, 1),
		exited: make(chan struct{}), inputDone: make(chan struct{})}
	go c.input(cancel)
	p, err := s.local.Start(starting, c.local(r.Command))
	if err != nil {
		close(c.process)
		err = stream.Finish(nil, err)
		stream.Close()
		<-c.inputDone
		return err
	}
	s.commands.add(p)
	c.process <- p
	err = c.run(p)
	s.commands.end(p)
	stream.Close()
	<-c.inputDone
	return err
}

// command is a running command.
type command struct {
	*server
	stream    *wire.Stream
	begun     chan struct{}    // closed when the near side knows of it: output comes later
	process   chan env.Process // gets the process, or is closed without
	exited    chan struct{}    // closed when the command has ended
	inputDone chan struct{}
}

// local returns the command for the local environment.
func (c *command) local(w *wire.Command) env.Command {
	return env.Command{Script: string(w.Script), Dir: string(w.Dir), Env: wire.Strings(w.Env), Stdin: w.Stdin,
		TTY: w.TTY, Output: c.output, Ended: c.ended}
}

// send sends a message about the output. If the stream is broken, the command is being ended, and
// its output is for nobody.
func (c *command) send(m wire.Message) {
	select {
	case <-c.begun:
	case <-c.link.Done():
		return
	}
	_ = c.stream.Send(m) // a link that has broken ends the command by itself
}

func (c *command) output(stream int, p []byte) {
	t := wire.TypeStdout
	if stream == env.Stderr {
		t = wire.TypeStderr
	}
	for ; len(p) > wire.MaxData; p = p[wire.MaxData:] {
		c.send(wire.Message{Type: t, Payload: p[:wire.MaxData]})
	}
	c.send(wire.Message{Type: t, Payload: p})
}

func (c *command) ended(stream int) {
	c.send(wire.Message{Type: wire.TypeEnded, Payload: []byte{byte(stream)}})
}

// run tells the near side of a command's start and of its end. It ends at the latest when the
// environment is closed.
func (c *command) run(p env.Process) error {
	m, err := wire.JSON(wire.TypeStarted, wire.Started{ID: wire.Text(p.ID()), Input: p.Stdin() != nil})
	if err == nil {
		err = c.stream.Send(m)
	}
	close(c.begun)
	exit, failure := p.Wait(context.Background())
	close(c.exited)
	if err != nil {
		return err
	}
	if failure != nil {
		return c.stream.Finish(nil, failure)
	}
	return c.stream.Finish(exit, nil)
}

// input passes on what the near side sends to a command. If that ends before the command, the near
// side does not wait for the command any more, so the command is killed.
func (c *command) input(cancel context.CancelCauseFunc) {
	defer close(c.inputDone)
	buf := make([]byte, wire.MaxData)
	var p env.Process
	told := false
	for {
		m, err := c.stream.Receive(buf)
		if err != nil {
			c.broken(err)
			cancel(errCanceled)
		}
		if p == nil {
			p = <-c.process
		}
		switch {
		case err != nil:
			c.abandon(p)
			return
		case m.Type != wire.TypeData && m.Type != wire.TypeEnd:
			c.link.Fail(fmt.Errorf("a message of type %d for a command: %w", m.Type, wire.ErrProtocol))
		case p != nil && p.Stdin() != nil:
			if err := pass(m, p.Stdin()); err != nil && !told {
				told = true
				c.refuseInput(err)
			}
		}
	}
}

// abandon kills a command that nobody waits for.
func (c *command) abandon(p env.Process) {
	if p == nil {
		return
	}
	select {
	case <-c.exited: // what it has left may go on
	default:
		_ = p.Kill(context.Background()) // what cannot be killed now is reported at the end of the environment
	}
}

// pass passes a message on to a command's input.
func pass(m wire.Message, in io.WriteCloser) error {
	if m.Type == wire.TypeEnd {
		return in.Close()
	}
	_, err := in.Write(m.Payload)
	return err
}

// refuseInput tells the near side that the command does not read its input any more.
func (c *command) refuseInput(err error) {
	if m, err := wire.JSON(wire.TypeInput, wire.Done{Error: wire.ErrorOf(err)}); err == nil {
		c.send(m)
	}
}
