package api

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"mime"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/llm"
)

// recognize decides whether a successful response is an event stream or one JSON value. The first
// bytes decide if they can, because servers and proxies omit the content type or set a wrong one.
func (r *Response) recognize() error {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		kind = "" // an odd or missing header tells nothing
	}
	if err := r.peek(); err != nil {
		return r.broken(err)
	}
	switch {
	case len(r.head) > 0 && (r.head[0] == '{' || r.head[0] == '['):
		r.Whole = true
	case beginsStream(r.head):
	case r.encoding() != "":
		e := r.Fail(llm.ErrStream, "%s answers in the encoding %s, which was not asked for: turn it off there",
			safeURL(r.call.URL), r.encoding())
		e.Final = true
		return e
	case kind == "text/event-stream":
	case kind == "" && (len(r.head) == 0 || r.head[0] != '<'):
	case isJSON(kind):
		r.Whole = true
	default:
		e := r.Fail(llm.ErrServer, "%s answered with %s instead of an event stream", safeURL(r.call.URL),
			cmp.Or(kind, "text of another kind"))
		e.Raw = r.errorBody()
		if title := pageTitle(string(e.Raw)); title != "" {
			e.Message += fmt.Sprintf(": %q", title)
		}
		r.call.redact(e)
		return e
	}
	return nil
}

// encoding returns the encoding of the body that is left after the transport has decoded its own.
func (r *Response) encoding() string {
	named := r.Header.Get("Content-Encoding")
	if strings.EqualFold(named, "identity") {
		return ""
	}
	return named
}

// peekSize is the length of the longest field name of an event stream with its colon.
const peekSize = len("event:")

// peek reads the start of the body into r.head, without leading white space: some servers send that
// until the response is ready.
func (r *Response) peek() error {
	head := make([]byte, 0, 512)
	for len(head) < peekSize {
		head = slices.Grow(head, peekSize) // what was trimmed off has taken room
		n, err := timedBody{r}.Read(head[len(head):cap(head)])
		head = head[:len(head)+n]
		head = bytes.TrimPrefix(head, []byte("\xEF\xBB\xBF"))
		head = bytes.TrimLeft(head, " \t\r\n")
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if bytes.IndexByte(head, '\n') >= 0 {
			break
		}
	}
	r.head = head
	return nil
}

// beginsStream reports whether text starts with a line of an event stream.
func beginsStream(text []byte) bool {
	for _, field := range []string{":", "data:", "event:", "id:", "retry:"} {
		if bytes.HasPrefix(text, []byte(field)) {
			return true
		}
	}
	return false
}

func isJSON(kind string) bool {
	return kind == "application/json" || strings.HasSuffix(kind, "+json")
}
