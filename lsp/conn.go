package lsp

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
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/lastline"
	"github.com/attractor-go/attractor/internal/shquote"
)

// The limits of a connection.
const (
	maxMessage = 16 << 20 // bytes of one message
	maxHeader  = 4 << 10  // bytes in front of a message
	maxQueue   = 64 << 20 // bytes on their way to the server
	politeTime = time.Second
	killTime   = 15 * time.Second
)

// conn is the connection to a server's process: JSON-RPC messages on its standard input and output.
type conn struct {
	process env.Process
	in      *bufio.Reader
	pipe    *io.PipeReader
	out     chan []byte
	queued  atomic.Int64 // bytes in out
	on      handler
	said    lastline.Buffer
	over    chan struct{} // closed when nothing is sent and received any more
	busy    sync.WaitGroup

	mu   sync.Mutex
	last int64
	open map[int64]chan<- message
	why  error // why the connection is over
}

// handler handles what a server sends by itself. Its methods are called where messages are read, so they must not wait.
type handler interface {
	notified(method string, params json.RawMessage)
	// asked returns the result of a request. It reports false for an unknown method.
	asked(method string, params json.RawMessage) (result any, known bool)
}

// message is a request, a notification or a response.
type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *responseError  `json:"error,omitempty"`
}

// responseError is the error of a response.
type responseError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error returns the code and the message.
func (e *responseError) Error() string {
	return fmt.Sprintf("error %d: %s", e.Code, clean(e.Message, 200))
}

// exitError says how a server's process ended.
type exitError struct{ env.Exit }

// Error returns the exit code or the signal.
func (e *exitError) Error() string {
	if e.Signal != "" {
		return "its process was ended by " + e.Signal
	}
	return fmt.Sprintf("its process ended with exit code %d", e.Code)
}

var (
	errGarbage = errors.New("it sent something that is no message of the protocol")
	errTooLong = fmt.Errorf("it sent a message of more than %d MiB", maxMessage>>20)
	errDeaf    = errors.New("it does not read its input")
	errClosed  = errors.New("the connection is closed")
)

// connect starts a server's process.
func connect(ctx context.Context, e env.Environment, s *Server, on handler) (*conn, error) {
	r, w := io.Pipe()
	c := &conn{pipe: r, in: bufio.NewReaderSize(r, 64<<10), out: make(chan []byte, 4096), on: on, over: make(chan struct{}), open: map[int64]chan<- message{}}
	process, err := e.Start(ctx, env.Command{Script: script(s), Dir: s.Dir, Stdin: true, Output: func(stream int, p []byte) {
		if stream == env.Stderr {
			c.said.Add(p)
			return
		}
		_, _ = w.Write(p) // blocks until it is read; fails only when the connection is over
	}})
	if err != nil {
		return nil, err
	}
	c.process = process
	c.busy.Go(c.write)
	c.busy.Go(c.read)
	c.busy.Go(func() {
		exit, err := process.Wait(context.Background()) // ends, because close kills the process
		if err == nil {
			err = &exitError{exit}
		}
		c.end(err)
	})
	return c, nil
}

// script returns the shell script that becomes the server's process. It sets the variables itself: programs of the host that start it,
// perhaps in a sandbox, must not obey them.
func script(s *Server) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		words = append(words, "export "+name+"="+shquote.Words(s.Env[name])+";")
	}
	words = append(words, "exec", shquote.Words(append([]string{s.Command}, s.Args...)...))
	return strings.Join(words, " ")
}

// end ends the connection with its reason. Only the first one counts.
func (c *conn) end(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why != nil {
		return
	}
	c.why = why
	close(c.over)
	_ = c.pipe.CloseWithError(io.ErrClosedPipe) // never fails
}

// reason returns why the connection is over.
func (c *conn) reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.why
}

// call sends a request and waits for its response.
func (c *conn) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	answer := make(chan message, 1)
	c.mu.Lock()
	c.last++
	id := c.last
	c.open[id] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.open, id)
	}()
	if err := c.send(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params}); err != nil {
		return nil, err
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			return nil, m.Error
		}
		return m.Result, nil
	case <-ctx.Done():
		_ = c.notify("$/cancelRequest", map[string]any{"id": id}) // out of politeness
		return nil, context.Cause(ctx)
	case <-c.over:
		return nil, c.reason()
	}
}

// notify sends a notification.
func (c *conn) notify(method string, params any) error {
	return c.send(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
}

// send puts a message on its way. It does not wait.
func (c *conn) send(m any) error {
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	framed := append(fmt.Appendf(make([]byte, 0, len(body)+32), "Content-Length: %d\r\n\r\n", len(body)), body...)
	select {
	case <-c.over:
		return c.reason()
	default:
	}
	if c.queued.Add(int64(len(framed))) > maxQueue {
		c.end(errDeaf)
		return errDeaf
	}
	select {
	case c.out <- framed:
		return nil
	default:
		c.end(errDeaf)
		return errDeaf
	}
}

// write passes messages on to the process. A server that does not read its input holds up only this goroutine.
func (c *conn) write() {
	for {
		select {
		case framed := <-c.out:
			if _, err := c.process.Stdin().Write(framed); err != nil {
				return // the process has ended or is about to
			}
			c.queued.Add(-int64(len(framed)))
		case <-c.over:
			return
		}
	}
}

// read handles what the server sends until the connection is over.
func (c *conn) read() {
	for {
		body, err := readMessage(c.in)
		if err != nil {
			if !errors.Is(err, io.ErrClosedPipe) {
				c.end(err)
			}
			return
		}
		var m message
		if json.Unmarshal(body, &m) != nil {
			c.end(errGarbage)
			return
		}
		c.dispatch(&m)
	}
}

// readMessage reads the header and the body of a message.
func readMessage(in *bufio.Reader) ([]byte, error) {
	length, header := -1, 0
	for {
		line, err := in.ReadSlice('\n')
		if header += len(line); header > maxHeader || errors.Is(err, bufio.ErrBufferFull) {
			return nil, errGarbage
		}
		if err != nil {
			return nil, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			return nil, errGarbage
		}
		if bytes.EqualFold(name, []byte("Content-Length")) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil || length < 0 {
				return nil, errGarbage
			}
		}
	}
	switch {
	case length < 0:
		return nil, errGarbage
	case length > maxMessage:
		return nil, errTooLong
	}
	body := make([]byte, length)
	_, err := io.ReadFull(in, body)
	return body, err
}

// dispatch handles one message.
func (c *conn) dispatch(m *message) {
	switch {
	case m.Method == "":
		var id int64
		if json.Unmarshal(m.ID, &id) != nil {
			return
		}
		c.mu.Lock()
		answer := c.open[id]
		delete(c.open, id)
		c.mu.Unlock()
		if answer != nil {
			answer <- *m // has room for one
		}
	case m.ID == nil:
		c.on.notified(m.Method, m.Params)
	default:
		answer := map[string]any{"jsonrpc": "2.0", "id": m.ID}
		result, known := c.on.asked(m.Method, m.Params)
		if known {
			answer["result"] = result
		} else {
			answer["error"] = responseError{Code: -32601, Message: "this client does not support " + clean(m.Method, 100)}
		}
		_ = c.send(answer) // fails only if the connection is over
	}
}

// close ends the process. It asks a server that still answers to end by itself.
func (c *conn) close() error {
	if c.reason() == nil {
		polite, cancel := context.WithTimeout(context.Background(), politeTime)
		defer cancel()
		if _, err := c.call(polite, "shutdown", nil); err == nil && c.notify("exit", nil) == nil {
			_, _ = c.process.Wait(polite) // whether it has ended or not, Kill ends what is left
		}
	}
	c.end(errClosed)
	_ = c.process.Stdin().Close() // it may be closed already
	ctx, cancel := context.WithTimeout(context.Background(), killTime)
	defer cancel()
	err := c.process.Kill(ctx)
	if err == nil {
		c.busy.Wait()
	}
	return err
}
