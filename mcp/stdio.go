package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/attractor-go/attractor/env"
)

const (
	maxMessage  = 16 << 20        // bytes of one message
	maxRequests = 32              // requests of a server that are open at a time
	politeTime  = 2 * time.Second // from the end of a server's input to the end of its process
	killTime    = 15 * time.Second
)

// errTooLong means that a server sent a message that is too long.
var errTooLong = fmt.Errorf("it sent a message of more than %d MiB", maxMessage>>20)

// stdio is the connection to a server that runs as a process. It implements the SDK's Transport and Connection.
//
// Programs print other things than messages on standard output, so lines that are no messages are skipped. Notifications are handled
// where they are read, or dropped, because the SDK would queue them without a bound.
type stdio struct {
	process env.Process
	on      notified
	in      *bufio.Reader
	pipe    *io.PipeReader
	out     chan []byte   // messages on their way to the server
	said    *tail         // the end of what it printed besides messages
	closed  chan struct{} // closed by Close
	once    sync.Once

	mu    sync.Mutex
	open  map[jsonrpc.ID]bool // requests of the server without a response
	queue []jsonrpc.Message   // the rest of a batch; for Read alone
	why   error               // why the connection ended, if it was not closed by this side
	busy  sync.WaitGroup
}

// notified handles a server's notification where it is read, and reports whether the SDK needs it too. It must not block.
type notified func(method string, params json.RawMessage) (pass bool)

// startStdio starts a server's process in an environment.
func startStdio(ctx context.Context, e env.Environment, s *Server, on notified) (*stdio, error) {
	r, w := io.Pipe()
	c := &stdio{on: on, pipe: r, in: bufio.NewReaderSize(r, 64<<10), out: make(chan []byte, 16), said: new(tail), closed: make(chan struct{}),
		open: map[jsonrpc.ID]bool{}}
	cmd := env.Command{Script: script(s), Dir: s.Dir, Stdin: true, Output: func(stream int, p []byte) {
		if stream == env.Stderr {
			c.said.write(p)
			return
		}
		_, _ = w.Write(p) // blocks until Read has taken it; fails only when the connection is closed
	}}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		cmd.Env = append(cmd.Env, name+"="+s.Env[name])
	}
	process, err := e.Start(ctx, cmd)
	if err != nil {
		return nil, err
	}
	c.process = process
	c.busy.Go(c.write)
	c.busy.Go(func() {
		exit, err := process.Wait(context.Background()) // ends, because close kills the process
		if err == nil {
			err = &exitError{exit}
		}
		c.ended(err)
		_ = w.Close() // never fails
	})
	return c, nil
}

// script returns the shell script that becomes the server's process.
func script(s *Server) string {
	words := []string{"exec", quote(s.Command)}
	for _, arg := range s.Args {
		words = append(words, quote(arg))
	}
	return strings.Join(words, " ")
}

// quote returns a word that a POSIX shell reads as the text.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// exitError says how a process ended.
type exitError struct{ env.Exit }

// Error returns the exit code or the signal.
func (e *exitError) Error() string {
	if e.Signal != "" {
		return "its process was ended by " + e.Signal
	}
	return fmt.Sprintf("its process ended with exit code %d", e.Code)
}

// ended keeps the first reason for the connection's end.
func (c *stdio) ended(why error) {
	select {
	case <-c.closed:
		return
	default:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why == nil {
		c.why = why
	}
}

// reason returns why the connection ended, or nil if this side closed it.
func (c *stdio) reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.why
}

// exited reports whether the process has ended by itself.
func (c *stdio) exited() bool {
	var exit *exitError
	return errors.As(c.reason(), &exit)
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
			if c.wanted(m) {
				return m, nil
			}
		}
		line, err := c.line()
		if err != nil {
			c.ended(err) // unless the process ended first
			return nil, err
		}
		if c.queue, err = c.messages(line); err != nil {
			c.ended(err)
			return nil, err
		}
	}
}

// line returns the next line, without the spaces around it.
func (c *stdio) line() ([]byte, error) {
	var whole []byte
	for {
		piece, err := c.in.ReadSlice('\n')
		if len(whole)+len(piece) > maxMessage {
			return nil, errTooLong
		}
		switch {
		case err == nil && whole == nil:
			return bytes.TrimSpace(piece), nil
		case errors.Is(err, io.ErrClosedPipe):
			return nil, io.EOF
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
		if whole = append(whole, piece...); err == nil {
			return bytes.TrimSpace(whole), nil
		}
	}
}

// errUnreadable means that a server sent a message that is broken JSON.
var errUnreadable = errors.New("it sent a message that cannot be read")

// messages returns the messages of a line. Anything else was printed for people, unless it looks like a message.
func (c *stdio) messages(line []byte) ([]jsonrpc.Message, error) {
	batch := []json.RawMessage{line}
	switch {
	case len(line) == 0:
		return nil, nil
	case line[0] == '[':
		if json.Unmarshal(line, &batch) != nil {
			batch = nil
		}
	}
	var found []jsonrpc.Message
	for _, one := range batch {
		if m := message(one); m != nil {
			found = append(found, m)
		}
	}
	if len(found) == 0 {
		if line[0] == '{' && bytes.Contains(line[:min(len(line), 100)], []byte(`"jsonrpc"`)) && !readable(line) {
			return nil, errUnreadable
		}
		c.said.write(append(slices.Clone(line[:min(len(line), maxSaid)]), '\n'))
	}
	return found, nil
}

// readable reports whether a text is JSON that is not nested too deeply.
func readable(text []byte) bool {
	var whole json.RawMessage
	return json.Unmarshal(text, &whole) == nil
}

// message decodes a message, or returns nil. A response that is not complete becomes an error, so that its call ends.
func message(text []byte) jsonrpc.Message {
	var outline struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      any             `json:"id"`
		Method  string          `json:"method"`
		Params  json.RawMessage `json:"params"`
	}
	if json.Unmarshal(text, &outline) != nil || outline.JSONRPC == "" { // this also refuses what is nested too deeply
		return nil
	}
	if outline.ID == nil && outline.Method != "" { // a notification, of which there may be very many: the SDK would take 32 KiB for each
		return &jsonrpc.Request{Method: outline.Method, Params: outline.Params}
	}
	m, err := jsonrpc.DecodeMessage(text)
	if err == nil {
		return m
	}
	id, err := jsonrpc.MakeID(outline.ID)
	if err != nil || outline.ID == nil || outline.Method != "" {
		return nil
	}
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "its response cannot be read"}}
}

// wanted reports whether the SDK gets a message. A request beyond the limit is answered here.
func (c *stdio) wanted(m jsonrpc.Message) bool {
	req, ok := m.(*jsonrpc.Request)
	switch {
	case !ok:
		return true
	case !req.IsCall():
		return c.passes(req)
	}
	c.mu.Lock()
	full := len(c.open) >= maxRequests && !c.open[req.ID]
	if !full {
		c.open[req.ID] = true
	}
	c.mu.Unlock()
	if full {
		c.refuse(req)
	}
	return !full
}

// passes reports whether the SDK gets a notification. A cancellation concerns it only if the request is open.
func (c *stdio) passes(req *jsonrpc.Request) bool {
	if req.Method != "notifications/cancelled" {
		return c.on(req.Method, req.Params)
	}
	var cancelled struct {
		RequestID any `json:"requestId"`
	}
	if json.Unmarshal(req.Params, &cancelled) != nil {
		return false
	}
	id, err := jsonrpc.MakeID(cancelled.RequestID)
	if err != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	open := c.open[id]
	return open
}

// refuse answers a request of a server that has too many of them open. Nothing more is read from it until it takes answers.
func (c *stdio) refuse(req *jsonrpc.Request) {
	line, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: req.ID, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError,
		Message: fmt.Sprintf("there are %d open requests; wait for their responses", maxRequests)}})
	if err != nil {
		return
	}
	select {
	case c.out <- append(line, '\n'):
	case <-c.closed:
	}
}

// Write implements the SDK's Connection. It returns when the message is on its way.
func (c *stdio) Write(ctx context.Context, m jsonrpc.Message) error {
	if r, ok := m.(*jsonrpc.Response); ok {
		c.mu.Lock()
		delete(c.open, r.ID)
		c.mu.Unlock()
	}
	line, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	select {
	case c.out <- append(line, '\n'):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.closed:
		return io.ErrClosedPipe
	}
}

// write passes messages on to the process. A server that does not read its input holds up only this goroutine.
func (c *stdio) write() {
	for {
		select {
		case line := <-c.out:
			if _, err := c.process.Stdin().Write(line); err != nil {
				return // the process has ended or is about to; Read says so
			}
		case <-c.closed:
			return
		}
	}
}

// Close implements the SDK's Connection: Read and Write return. end ends the process.
func (c *stdio) Close() error {
	c.once.Do(func() {
		close(c.closed)
		_ = c.pipe.CloseWithError(io.ErrClosedPipe) // never fails
	})
	return nil
}

// end ends the process: it closes the input, waits, and kills what is left.
func (c *stdio) end() error {
	_ = c.Close()                 // never fails
	_ = c.process.Stdin().Close() // it may be closed already
	ctx, cancel := context.WithTimeout(context.Background(), killTime)
	defer cancel()
	polite, stop := context.WithTimeout(ctx, politeTime)
	defer stop()
	_, _ = c.process.Wait(polite) // whether it has ended or not, Kill ends what is left
	err := c.process.Kill(ctx)
	if err == nil {
		c.busy.Wait()
	}
	return err
}
