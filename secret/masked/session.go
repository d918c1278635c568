package masked

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/secret"
	"github.com/attractor-go/attractor/tool"
)

// session is the session as a tool sees it. What the tool stores in it is masked.
type session struct {
	tool.Session
	masker *secret.Masker
	stream *secret.Stream // the twin of those that mask the output of the call
}

// Outputs implements [tool.Session].
func (s *session) Outputs() tool.Outputs {
	store := s.Session.Outputs()
	if store == nil {
		return store
	}
	return outputs{store, s.stream}
}

// Processes implements [tool.Session].
func (s *session) Processes() tool.Processes {
	table := s.Session.Processes()
	if table == nil {
		return nil
	}
	return processes{table, s.masker}
}

// Ask implements [tool.Session]. The answer of a person is masked.
func (s *session) Ask(ctx context.Context, q tool.Question) (tool.Answer, error) {
	answer, err := s.Session.Ask(ctx, fields(s.masker, q))
	return fields(s.masker, answer), err
}

// Note implements [tool.Session].
func (s *session) Note(ctx context.Context, kind string, data json.RawMessage, text string) error {
	return s.Session.Note(ctx, kind, s.masker.JSON(data), s.masker.String(text))
}

// outputs masks what is written to a store.
type outputs struct {
	tool.Outputs
	stream *secret.Stream
}

// Create implements [tool.Outputs].
func (o outputs) Create(callID string) (string, io.WriteCloser, error) {
	id, w, err := o.Outputs.Create(callID)
	if err != nil {
		return "", nil, err
	}
	return id, &output{o.stream.Twin().Writer(w), w}, nil
}

// output masks what is written to one output.
type output struct {
	*secret.Writer
	to io.Closer
}

// Close implements [io.Closer].
func (o *output) Close() error { return errors.Join(o.Flush(), o.to.Close()) }

// processes starts background commands whose output is masked.
type processes struct {
	tool.Processes
	masker *secret.Masker
}

// Start implements [tool.Processes].
func (p processes) Start(ctx context.Context, e env.Environment, cmd env.Command) (string, error) {
	return p.Processes.Start(ctx, environment{env.Base{Environment: e}, p.masker}, cmd)
}

// Write implements [tool.Processes]. It refuses input with a placeholder.
func (p processes) Write(ctx context.Context, id, input string) error {
	if held := p.masker.Placeholder(input); held != "" {
		return runs(held, "input")
	}
	return p.Processes.Write(ctx, id, input)
}

// environment masks the output of commands.
type environment struct {
	env.Base
	masker *secret.Masker
}

// Start implements [env.Environment].
func (e environment) Start(ctx context.Context, cmd env.Command) (env.Process, error) {
	if cmd.Output == nil {
		return e.Environment.Start(ctx, cmd)
	}
	live := &liveOutput{stream: e.masker.Stream(), to: cmd.Output}
	cmd.Output = live.write
	p, err := e.Environment.Start(ctx, cmd)
	if err != nil {
		return nil, err
	}
	return &process{p, live}, nil
}

// process is a command whose output is masked.
type process struct {
	env.Process
	live *liveOutput
}

// Wait implements [env.Process]. What was held back is printed when the command has ended.
func (p *process) Wait(ctx context.Context) (env.Exit, error) {
	exit, err := p.Process.Wait(ctx)
	if err == nil || ctx.Err() == nil {
		p.live.close()
	}
	return exit, err
}

// liveOutput masks what a command prints while it runs, each stream by itself. It is safe for
// concurrent use.
type liveOutput struct {
	stream *secret.Stream // the twin of those that are used
	to     func(stream int, p []byte)

	mu      sync.Mutex
	streams map[int]*secret.Stream
	closed  bool
}

func (l *liveOutput) write(stream int, p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	s := l.streams[stream]
	if s == nil {
		if l.streams == nil {
			l.streams = map[int]*secret.Stream{}
		}
		s = l.stream.Twin()
		l.streams[stream] = s
	}
	if shown := s.NextBytes(p); len(shown) > 0 {
		l.to(stream, shown)
	}
}

// close passes on what was held back. Nothing is passed on later.
func (l *liveOutput) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for stream, s := range l.streams {
		if rest := s.Flush(); rest != "" && !l.closed {
			l.to(stream, []byte(rest))
		}
	}
	l.closed = true
}
