package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// minReconnect is how many milliseconds pass before a stream is opened again, whatever the server
// says.
const minReconnect = 100

// stream reads an answer with messages: one in JSON, or a stream of events. Read returns those that
// the SDK gets, as events. A message that cannot be used fails the call that the answer belongs to,
// and no other.
type stream struct {
	io.Closer
	in     *bufio.Reader
	events bool // the body is a stream of events
	inbox  *inbox
	call   jsonrpc.ID   // which it answers; invalid for none
	out    bytes.Buffer // for Read
	err    error        // after out
}

// event holds an event of a stream.
type event struct {
	name, id, retry string
	data            []byte
}

// Read implements io.Reader.
func (s *stream) Read(p []byte) (int, error) {
	for s.out.Len() == 0 {
		if s.err != nil {
			return 0, s.err
		}
		s.out.Reset()
		s.next()
	}
	return s.out.Read(p)
}

// next reads an event, or the whole body if that is JSON, and puts what the SDK gets of it into
// out.
func (s *stream) next() {
	e, err := s.event()
	if err == nil || len(e.data) > 0 && errors.Is(err, io.EOF) {
		if wrong := s.pass(&e); wrong != nil {
			err = wrong
		}
	}
	if s.call.IsValid() && (errors.Is(err, errTooLong) || errors.Is(err, errUnreadable) || errors.Is(err, errTooMany)) {
		err = errors.Join(s.emit(failure(s.call, err)), io.EOF)
	}
	if s.err = err; errors.Is(err, io.EOF) {
		s.err = io.EOF
	}
}

// event returns the next event. With an error it may be incomplete.
func (s *stream) event() (e event, err error) {
	if !s.events {
		e.data, err = io.ReadAll(io.LimitReader(s.in, maxMessage+1))
		if len(e.data) > maxMessage {
			return event{}, errTooLong
		}
		if e.data = bytes.TrimSpace(e.data); err == nil {
			err = io.EOF
		}
		return e, err
	}
	for left := maxMessage; ; {
		line, err := readLine(s.in, left)
		if left -= len(line); err != nil && !errors.Is(err, io.EOF) {
			return event{}, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 || err != nil {
			e.field(line)
			return e, err
		}
		e.field(line)
	}
}

// field adds a line to the event. Fields that are not known, and comments, are left out.
func (e *event) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimSpace(value)
	switch string(name) {
	case "event":
		e.name = string(value)
	case "id":
		e.id = string(value)
	case "retry":
		e.retry = string(value)
	case "data":
		if e.data != nil {
			e.data = append(e.data, '\n')
		}
		e.data = append(e.data, value...)
	}
}

// pass puts into out what the SDK gets of an event. It returns io.EOF after the response to the
// call.
func (s *stream) pass(e *event) error {
	if e.id != "" {
		fmt.Fprintf(&s.out, "id: %s\n", e.id)
	}
	if n, err := strconv.ParseInt(e.retry, 10, 64); err == nil {
		fmt.Fprintf(&s.out, "retry: %d\n", max(n, minReconnect))
	}
	if s.out.Len() > 0 {
		s.out.WriteString("\n")
	}
	if e.name != "" && e.name != "message" {
		return nil
	}
	found, err := messages(e.data)
	if err == nil && len(found) == 0 && !s.events {
		err = errUnreadable
	}
	for _, m := range found {
		pass, wrong := s.inbox.admit(m)
		if wrong != nil {
			return wrong
		}
		if pass {
			err = errors.Join(err, s.emit(m))
		}
		if r, ok := m.(*jsonrpc.Response); ok && s.call.IsValid() && r.ID == s.call {
			return errors.Join(err, io.EOF)
		}
	}
	return err
}

// emit puts a message into out.
func (s *stream) emit(m jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	s.out.WriteString("data: ")
	s.out.Write(data)
	s.out.WriteString("\n\n")
	return nil
}

// messagesOf replaces the body of an answer by a stream of the messages that the SDK gets. Sent is
// the message that it answers, or nil.
func (t *remote) messagesOf(sent jsonrpc.Message, resp *http.Response) {
	s := &stream{Closer: resp.Body, in: bufio.NewReaderSize(resp.Body, 16<<10),
		events: mediaType(resp) == "text/event-stream", inbox: t.inbox}
	if call, ok := sent.(*jsonrpc.Request); ok {
		s.call = call.ID
	}
	resp.Body, resp.ContentLength = s, -1
	resp.Header.Set("Content-Type", "text/event-stream")
	resp.Header.Del("Content-Length")
}

// mediaType returns the media type of an answer.
func mediaType(resp *http.Response) string {
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// sentBy returns the message in the body of a request, or nil.
func sentBy(req *http.Request) jsonrpc.Message {
	if req.Method != http.MethodPost || req.GetBody == nil {
		return nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil
	}
	data, err := io.ReadAll(body)
	if errors.Join(err, body.Close()) != nil {
		return nil
	}
	m, err := jsonrpc.DecodeMessage(data)
	if err != nil {
		return nil
	}
	return m
}
