package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/attractor-go/attractor/internal/texts"
)

// The limits of a connection.
const (
	maxRequests = 64              // that run at a time
	maxWaiting  = 64              // messages to the editor that wait to be written
	endTime     = 5 * time.Second // for messages while the connection ends
	deafTime    = time.Minute     // for an editor that sends but does not read
)

var null = json.RawMessage("null")

// message is a request, a notification or a response of the editor.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

// members holds the members of a JSON object that is sent.
type members map[string]any

// work carries out a request. after, if it is not nil, is called when the response is on its way.
type work func(ctx context.Context) (result any, after func(), err error)

// Errors of a connection.
var (
	errGone             = errors.New("the editor has closed the connection")
	errDeaf             = errors.New("the editor sends messages but reads none")
	errRequestCancelled = errors.New("the editor has cancelled the request")
)

// conn is a connection to an editor: JSON-RPC messages, one a line.
type conn struct {
	ctx  context.Context // ends when nothing is sent any more
	end  context.CancelCauseFunc
	in   *texts.Lines
	out  io.Writer
	on   *server // handles what the editor sends, where messages are read and in their order, so it must not wait
	log  *slog.Logger
	wait chan []byte // to be written
	busy sync.WaitGroup

	mu      sync.Mutex
	last    int64
	open    map[string]chan<- *message         // requests to the editor
	running map[string]context.CancelCauseFunc // requests of the editor
	count   int                                // of the requests that run
	over    bool                               // no further requests begin
}

// newConn returns a connection whose requests have the values of ctx.
func newConn(ctx context.Context, in io.Reader, out io.Writer, log *slog.Logger) *conn {
	c := &conn{in: texts.NewLines(in, maxMessage), out: out, log: log, wait: make(chan []byte, maxWaiting),
		open: map[string]chan<- *message{}, running: map[string]context.CancelCauseFunc{}}
	c.ctx, c.end = context.WithCancelCause(context.WithoutCancel(ctx))
	return c
}

// write writes messages until the connection is flushed, or cannot be written to.
func (c *conn) write(done chan<- struct{}) {
	defer close(done)
	for line := range c.wait {
		if line == nil {
			return
		}
		if _, err := c.out.Write(line); err != nil {
			c.end(errGone)
			return
		}
	}
}

// send queues a message. It waits while the queue is full.
func (c *conn) send(m members) error {
	m["jsonrpc"] = "2.0"
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	select {
	case c.wait <- append(line, '\n'):
		return nil
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	}
}

// stop cancels all requests of the editor. No further one begins.
func (c *conn) stop(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	for _, end := range c.running {
		end(why)
	}
}

// flush ends the connection when its messages are written.
func (c *conn) flush(written <-chan struct{}) {
	select {
	case c.wait <- nil:
		select {
		case <-written:
		case <-c.ctx.Done():
		}
	case <-c.ctx.Done():
	}
	c.end(errGone)
}

// read handles what the editor sends until the input ends.
func (c *conn) read() error {
	for {
		line, err := c.in.Next()
		switch {
		case errors.Is(err, texts.ErrTooLong):
			c.refuse(line, Errorf(CodeInvalidRequest, "the message is longer than %d MiB", maxMessage>>20))
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case len(bytes.TrimSpace(line)) > 0:
			c.receive(line)
		}
		if c.ctx.Err() != nil {
			return nil
		}
	}
}

// receive handles one message.
func (c *conn) receive(line []byte) {
	var m message
	err := json.Unmarshal(line, &m)
	switch {
	case !utf8.Valid(line):
		c.refuse(line, Errorf(CodeParse, "the line is not in UTF-8"))
		return
	case err != nil && !json.Valid(line):
		c.refuse(line, Errorf(CodeParse, "the line is not JSON: %v", err))
		return
	case err != nil && bytes.TrimSpace(line)[0] == '[':
		c.refuse(line, Errorf(CodeInvalidRequest, "batches are not supported; send each message on a line of its own"))
		return
	case err != nil:
		c.refuse(line, Errorf(CodeInvalidRequest, "the message is not a request, a notification or a response"))
		return
	}
	switch {
	case m.Method == "" && m.ID != nil:
		c.answered(&m)
	case m.Method == "":
		c.complain(null, Errorf(CodeInvalidRequest, "the message has neither a method nor an id"))
	case m.ID == nil && m.Method == methodCancelRequest:
		c.cancel(m.Params)
	case m.ID == nil:
		c.on.notified(m.Method, m.Params)
	case !validID(m.ID):
		c.complain(null, Errorf(CodeInvalidRequest, "the id must be a string or a number"))
	default:
		c.request(&m)
	}
}

// refuse answers a line that cannot be read. If the line is a response, its error is that of the
// request instead: the editor may have a request with the same id.
func (c *conn) refuse(line []byte, err *Error) {
	id, isResponse := headOf(line)
	if isResponse {
		c.answered(&message{ID: id, Error: err})
		return
	}
	if err.Code == CodeParse {
		id = null
	}
	c.complain(id, err)
}

// answered passes on the response to a request. A second one, and one that nobody waits for any
// more, are ignored.
func (c *conn) answered(m *message) {
	c.mu.Lock()
	answer := c.open[string(m.ID)]
	delete(c.open, string(m.ID))
	c.mu.Unlock()
	if answer == nil {
		c.log.Debug("acp: a response that nobody waits for", "id", string(m.ID))
		return
	}
	answer <- m // has room for one
}

// cancel ends the context of a request.
func (c *conn) cancel(params json.RawMessage) {
	p, err := decode[struct {
		ID json.RawMessage `json:"requestId"`
	}](params)
	if err != nil {
		c.log.Debug("acp: a request to cancel that cannot be read", "error", err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if end := c.running[string(p.ID)]; end != nil {
		end(errRequestCancelled)
	}
}

// request begins to work on a request.
func (c *conn) request(m *message) {
	id := string(m.ID)
	ctx, end := context.WithCancelCause(c.ctx)
	if err := c.begin(id, end); err != nil {
		end(nil)
		c.complain(m.ID, err)
		return
	}
	run, err := c.on.requested(m.Method, m.Params)
	if err != nil {
		run = func(context.Context) (any, func(), error) { return nil, nil, err }
	}
	go func() {
		defer c.busy.Done()
		defer end(nil)
		result, after, err := run(ctx)
		if err != nil && errors.Is(context.Cause(ctx), errRequestCancelled) {
			err = Errorf(CodeCancelled, "the request was cancelled")
		}
		c.mu.Lock()
		delete(c.running, id)
		c.count--
		c.mu.Unlock()
		if err != nil {
			c.fail(m.ID, asError(err))
			return
		}
		if c.send(members{"id": m.ID, "result": result}) == nil && after != nil {
			after()
		}
	}()
}

// begin notes that a request runs.
func (c *conn) begin(id string, end context.CancelCauseFunc) *Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.over:
		return Errorf(CodeInternal, "the connection is closing")
	case c.running[id] != nil:
		return Errorf(CodeInvalidRequest, "a request with the id %s runs already", id)
	case c.count == maxRequests:
		return Errorf(CodeInternal, "%d requests run already; wait for one of them", maxRequests)
	}
	c.busy.Add(1)
	c.count++
	c.running[id] = end
	return nil
}

// complain sends an error from the goroutine that reads messages. If the editor does not read it
// for long, the connection ends: otherwise nobody would see the end of the input.
func (c *conn) complain(id json.RawMessage, err *Error) {
	timer := time.AfterFunc(deafTime, func() { c.end(errDeaf) })
	defer timer.Stop()
	c.fail(id, err)
}

// maxError limits the text of an error, which may repeat what the editor sent.
const maxError = 4 << 10

// fail sends an error.
func (c *conn) fail(id json.RawMessage, err *Error) {
	if len(err.Message) > maxError {
		err = &Error{Code: err.Code, Message: shortened(err.Message, maxError), Data: err.Data}
	}
	_ = c.send(members{"id": id, "error": err}) // fails only if the connection is over
}

// notify sends a notification.
func (c *conn) notify(method string, params any) error {
	return c.send(members{"method": method, "params": params})
}

// call sends a request and waits for the result.
func (c *conn) call(ctx context.Context, method string, params, result any) error {
	answer := make(chan *message, 1)
	c.mu.Lock()
	c.last++
	id := strconv.FormatInt(c.last, 10)
	c.open[id] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.open, id)
	}()
	if err := c.send(members{"id": json.RawMessage(id), "method": method, "params": params}); err != nil {
		return err
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			return m.Error
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			return Errorf(CodeInternal, "the editor's response to %s cannot be read: %v", method, err)
		}
		return nil
	case <-ctx.Done():
		// the editor ends by itself what it has cancelled
		if c.ctx.Err() == nil && !errors.Is(context.Cause(ctx), errCancelled) {
			// This fails only if the connection is over.
			_ = c.notify(methodCancelRequest, members{"requestId": json.RawMessage(id)})
		}
		return context.Cause(ctx)
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	}
}
