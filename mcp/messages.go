package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	maxMessage  = 16 << 20 // bytes of one message
	maxRequests = 32       // requests of a server that are open at a time
)

// errTooLong means that a server sent a message that is too long.
var errTooLong = fmt.Errorf("it sent a message of more than %d MiB", maxMessage>>20)

// errTooMany means that a server asks so much at a time that its connection ends.
var errTooMany = fmt.Errorf("it sent more than %d requests without waiting for a response", maxRequests)

// errUnreadable means that a server sent a message that is broken JSON.
var errUnreadable = errors.New("it sent a message that cannot be read")

// notified handles a server's notification where it is read, and reports whether the SDK needs it
// too. It must not block.
type notified func(method string, params json.RawMessage) (pass bool)

// inbox decides which messages of a connection the SDK gets. Notifications are handled where they
// are read, or dropped, because the SDK would queue them without a bound, and the server's open
// requests are limited.
type inbox struct {
	on notified

	mu    sync.Mutex
	open  map[jsonrpc.ID]bool // requests of the server without a response
	tasks map[string]bool     // the tools that run only as tasks, as the last lists had them
}

// admit reports whether the SDK gets a message, and makes the result of a response decodable. After
// an error nothing more may be read.
func (b *inbox) admit(m jsonrpc.Message) (pass bool, err error) {
	if r, ok := m.(*jsonrpc.Response); ok {
		r.Result = decodable(r.Result)
		if bytes.Contains(r.Result, []byte(`"taskSupport"`)) {
			b.noteTasks(r.Result)
		}
	}
	req, ok := m.(*jsonrpc.Request)
	switch {
	case !ok:
		return true, nil
	case !req.IsCall():
		return b.passes(req), nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.open) >= maxRequests && !b.open[req.ID] {
		return false, errTooMany
	}
	if b.open == nil {
		b.open = map[jsonrpc.ID]bool{}
	}
	b.open[req.ID] = true
	return true, nil
}

// noteTasks notes which tools of a list run only as tasks. The SDK leaves that out of what it
// decodes.
func (b *inbox) noteTasks(result json.RawMessage) {
	var list struct {
		Tools []struct {
			Name      string `json:"name"`
			Execution struct {
				TaskSupport string `json:"taskSupport"`
			} `json:"execution"`
		} `json:"tools"`
	}
	if json.Unmarshal(result, &list) != nil {
		return // the SDK says what is wrong with it
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tasks == nil || len(b.tasks) > maxTools {
		b.tasks = map[string]bool{}
	}
	for _, t := range list.Tools {
		b.tasks[t.Name] = t.Execution.TaskSupport == "required"
	}
}

// isTask reports whether a tool runs only as a task.
func (b *inbox) isTask(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tasks[name]
}

// passes reports whether the SDK gets a notification. A cancellation concerns it only if the
// request is open.
func (b *inbox) passes(req *jsonrpc.Request) bool {
	if req.Method != "notifications/cancelled" {
		return b.on(req.Method, req.Params)
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
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open[id]
}

// answered notes that a request of the server has its response.
func (b *inbox) answered(id jsonrpc.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.open, id)
}

// readLine returns the next line with its end, of at most limit bytes. The bytes are valid until
// the next read.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var whole []byte
	for {
		piece, err := r.ReadSlice('\n')
		switch {
		case len(whole)+len(piece) > limit:
			return nil, errTooLong
		case whole == nil && !errors.Is(err, bufio.ErrBufferFull):
			return piece, err
		}
		if whole = append(whole, piece...); !errors.Is(err, bufio.ErrBufferFull) {
			return whole, err
		}
	}
}

// messages returns the messages of a text: one, or several in an array. It returns none if the text
// is something else, and an error if it looks like a message and is broken.
func messages(text []byte) ([]jsonrpc.Message, error) {
	batch := []json.RawMessage{text}
	switch {
	case len(text) == 0:
		return nil, nil
	case text[0] == '[':
		if json.Unmarshal(text, &batch) != nil {
			batch = nil
		}
	}
	var found []jsonrpc.Message
	for _, one := range batch {
		if m := message(one); m != nil {
			found = append(found, m)
		}
	}
	if len(found) == 0 && text[0] == '{' && bytes.Contains(text[:min(len(text), 100)], []byte(`"jsonrpc"`)) &&
		!json.Valid(text) { // or nested too deeply
		return nil, errUnreadable
	}
	return found, nil
}

// message decodes a message, or returns nil. A response that is not complete becomes an error, so
// that its call ends.
func message(text []byte) jsonrpc.Message {
	var outline struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      any             `json:"id"`
		Method  string          `json:"method"`
		Params  json.RawMessage `json:"params"`
	}
	if json.Unmarshal(text, &outline) != nil || outline.JSONRPC == "" || outline.ID == nil && outline.Method == "" {
		return nil // this also refuses what is nested too deeply
	}
	if outline.ID == nil { // a notification, of which there may be very many: the SDK would take 32 KiB for each
		return &jsonrpc.Request{Method: outline.Method, Params: outline.Params}
	}
	m, err := jsonrpc.DecodeMessage(text)
	if err == nil {
		return m
	}
	id, err := jsonrpc.MakeID(outline.ID)
	if err != nil || outline.Method != "" {
		return nil
	}
	return failure(id, errors.New("its response cannot be read"))
}

// failure returns the response to a call that got none that can be used.
func failure(id jsonrpc.ID, err error) *jsonrpc.Response {
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}}
}
