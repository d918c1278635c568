package mcptest_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// raw is a server that writes the protocol by hand, so that it can misbehave.
type raw struct {
	in  *bufio.Reader
	out *bufio.Writer
	// list is the answer to tools/list. on handles a message first and reports whether it was for
	// it.
	list string
	on   func(r *raw, m message) (handled bool, err error)
}

// message holds what a client sends.
type message struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Name      string
		Arguments json.RawMessage
		Cursor    string
		Meta      struct{ ProgressToken json.RawMessage } `json:"_meta"`
	}
	Result, Error json.RawMessage
}

// newRaw returns a server with tools of these names.
func newRaw(tools ...string) *raw {
	return &raw{in: bufio.NewReader(os.Stdin), out: bufio.NewWriterSize(os.Stdout, 1<<16),
		list: `{"tools":[` + definitions(tools...) + `]}`}
}

// definitions returns the definitions of tools without parameters, with commas between them.
func definitions(names ...string) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = fmt.Sprintf(`{"name":%s,"inputSchema":{"type":"object"}}`, quoted(name))
	}
	return strings.Join(list, ",")
}

func quoted(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// serve answers until the input ends.
func (r *raw) serve() error {
	for {
		m, err := r.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		handled := false
		if r.on != nil {
			handled, err = r.on(r, m)
		}
		if err == nil && !handled {
			err = r.answer(m)
		}
		if err != nil {
			return err
		}
	}
}

// next returns the next message of the client.
func (r *raw) next() (m message, err error) {
	line, err := r.in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &m)
	}
	return m, err
}

// answer does what a server without faults does.
func (r *raw) answer(m message) error {
	switch {
	case m.ID == nil || m.Method == "":
		return nil
	case m.Method == "initialize":
		return r.result(m, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"raw","version":"0"}}`)
	case m.Method == "tools/list":
		return r.result(m, r.list)
	case m.Method == "tools/call":
		return r.text(m, m.Params.Name+" was called")
	}
	return r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID))
}

func (r *raw) result(m message, result string) error {
	return r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result))
}

func (r *raw) text(m message, text string) error {
	return r.result(m, fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, quoted(text)))
}

// send writes a line.
func (r *raw) send(line string) error {
	_, err := r.out.WriteString(line + "\n")
	return errors.Join(err, r.out.Flush())
}

// ask sends a request to the client and returns its answer.
func (r *raw) ask(method, params string) (message, error) {
	if err := r.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"ask","method":%q,"params":%s}`, method, params)); err != nil {
		return message{}, err
	}
	for {
		m, err := r.next()
		if err != nil || string(m.ID) == `"ask"` {
			return m, err
		}
	}
}
