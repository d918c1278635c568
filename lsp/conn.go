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
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/shquote"
	"github.com/attractor-go/attractor/internal/stdioproc"
)

// The limits of a connection.
const (
	maxMessage = 16 << 20 // bytes of one message
	maxHeader  = 4 << 10  // bytes in front of a message
	politeTime = time.Second
)

// conn is the connection to a server's process: JSON-RPC messages on its standard input and output.
type conn struct {
	*stdioproc.Process
	on   *instance // handles what the server sends by itself, where messages are read, so it must not wait
	busy sync.WaitGroup

	mu   sync.Mutex
	last int64
	open map[int64]chan<- message
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

var (
	errGarbage = errors.New("it sent something that is no message of the protocol")
	errTooLong = fmt.Errorf("it sent a message of more than %d MiB", maxMessage>>20)
	errClosed  = errors.New("the connection is closed")
)

// connect starts a server's process.
func connect(ctx context.Context, e env.Environment, s *Server, on *instance) (*conn, error) {
	process, err := stdioproc.Start(ctx, e, env.Command{Script: script(s), Dir: s.Dir})
	if err != nil {
		return nil, err
	}
	c := &conn{Process: process, on: on, open: map[int64]chan<- message{}}
	c.busy.Go(c.read)
	return c, nil
}

// script returns the shell script that becomes the server's process. It sets the variables itself:
// programs of the host that start it, perhaps in a sandbox, must not obey them.
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
	c.Fail(why)
	c.Close()
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
	case <-c.Closed:
		return nil, c.Reason()
	}
}

// notify sends a notification.
func (c *conn) notify(method string, params any) error {
	return c.send(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
}

// send queues a message. It does not wait.
func (c *conn) send(m any) error {
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	framed := fmt.Appendf(make([]byte, 0, len(body)+32), "Content-Length: %d\r\n\r\n", len(body))
	return c.Send(append(framed, body...))
}

// read handles what the server sends until the connection is over.
func (c *conn) read() {
	for {
		body, err := readMessage(c.Out)
		if err != nil {
			c.end(err)
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
			answer["error"] = responseError{Code: -32601,
				Message: "this client does not support " + clean(m.Method, 100)}
		}
		_ = c.send(answer) // fails only if the connection is over
	}
}

// close ends the process. It asks a server that still answers to end by itself.
func (c *conn) close() error {
	if c.Reason() == nil {
		polite, cancel := context.WithTimeout(context.Background(), politeTime)
		defer cancel()
		if _, err := c.call(polite, "shutdown", nil); err == nil && c.notify("exit", nil) == nil {
			c.Wait(polite)
		}
	}
	c.end(errClosed)
	err := c.End(0)
	if err == nil {
		c.busy.Wait()
	}
	return err
}
