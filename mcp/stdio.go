package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/shquote"
	"github.com/attractor-go/attractor/internal/stdioproc"
	"github.com/attractor-go/attractor/internal/texts"
)

// politeTime is the time from the end of a server's input to the end of its process.
const politeTime = 2 * time.Second

// stdio holds the connection to a server that runs as a process. It implements the SDK's Transport
// and Connection.
//
// Programs print other things than messages on standard output, so lines that are no messages are
// skipped.
type stdio struct {
	*stdioproc.Process
	inbox *inbox
	queue []jsonrpc.Message // the rest of a batch; for Read alone
}

// startStdio starts a server's process in an environment.
func startStdio(ctx context.Context, e env.Environment, s *Server, in *inbox) (*stdio, error) {
	cmd := env.Command{Script: "exec " + shquote.Words(append([]string{s.Command}, s.Args...)...), Dir: s.Dir}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		cmd.Env = append(cmd.Env, name+"="+s.Env[name])
	}
	process, err := stdioproc.Start(ctx, e, cmd)
	if err != nil {
		return nil, err
	}
	return &stdio{Process: process, inbox: in}, nil
}

// exited reports whether the process has ended by itself.
func (c *stdio) exited() bool {
	_, ended := errors.AsType[*stdioproc.ExitError](c.Reason())
	return ended
}

// Connect implements the SDK's Transport.
func (c *stdio) Connect(context.Context) (sdk.Connection, error) { return c, nil }

// SessionID implements the SDK's Connection.
func (c *stdio) SessionID() string { return "" }

// Read implements the SDK's Connection. One goroutine calls it.
func (c *stdio) Read(context.Context) (jsonrpc.Message, error) {
	for {
		for len(c.queue) > 0 {
			m := c.queue[0]
			c.queue = c.queue[1:]
			pass, err := c.inbox.admit(m)
			if err != nil {
				c.Fail(err)
				return nil, err
			}
			if pass {
				return m, nil
			}
		}
		if err := c.fill(); err != nil {
			c.Fail(err) // unless the process ended first
			return nil, err
		}
	}
}

// fill puts the messages of the next line into the queue. Any other line was printed for people.
func (c *stdio) fill() error {
	line, err := readLine(c.Out, maxMessage)
	switch {
	case errors.Is(err, io.ErrClosedPipe):
		return io.EOF
	case err != nil:
		return err
	}
	line = bytes.TrimSpace(line)
	if c.queue, err = messages(line); err == nil && len(c.queue) == 0 && len(line) > 0 {
		_, _ = c.Said.Write(append(slices.Clone(line[:min(len(line), texts.MaxTail)]), '\n'))
	}
	return err
}

// Write implements the SDK's Connection. It does not wait until the server reads the message.
func (c *stdio) Write(_ context.Context, m jsonrpc.Message) error {
	if r, ok := m.(*jsonrpc.Response); ok {
		c.inbox.answered(r.ID)
	}
	line, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	return c.Send(append(line, '\n'))
}

// Close implements the SDK's Connection: Read and Write return. End ends the process.
func (c *stdio) Close() error {
	c.Process.Close()
	return nil
}
