package acp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"
)

// maxMessage limits the bytes of a message, and keptMessage how many are kept of the beginning of a
// longer one.
const (
	maxMessage  = 32 << 20
	keptMessage = 4 << 10
)

// errTooLong says that a line was skipped because it is too long.
var errTooLong = errors.New("the message is longer than 32 MiB")

// lines reads lines of bounded length.
type lines struct {
	in  *bufio.Reader
	max int
}

func newLines(r io.Reader, most int) *lines {
	return &lines{in: bufio.NewReaderSize(r, 64<<10), max: most}
}

// next returns the next line that is not blank. Of a line that is too long it returns the beginning
// and errTooLong; the rest is skipped. The last line needs no end.
func (l *lines) next() ([]byte, error) {
	for {
		line, err := l.read()
		if err == nil && len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		return line, err
	}
}

func (l *lines) read() (line []byte, err error) {
	long := false
	for {
		piece, err := l.in.ReadSlice('\n')
		switch {
		case long:
		case len(line)+len(piece) > l.max+1: // and the line feed
			line, long = append(line, piece...)[:min(keptMessage, l.max)], true
			line = bytes.Clone(line)
		default:
			line = append(line, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (!errors.Is(err, io.EOF) || len(line) == 0):
			return nil, err
		case long:
			return line, errTooLong
		}
		return line, nil
	}
}

// headOf returns the id in the beginning of a message, or null if it is not there, and reports
// whether the message is a response.
func headOf(beginning []byte) (id json.RawMessage, isResponse bool) {
	id = null
	dec := json.NewDecoder(bytes.NewReader(beginning))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return id, false
	}
	for {
		name, err := dec.Token()
		if name == "result" || name == "error" {
			isResponse = true
		}
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			return id, isResponse
		}
		if name == "id" && validID(value) {
			id = value
		}
	}
}

// validID reports whether a JSON value can be the id of a request.
func validID(id json.RawMessage) bool {
	return len(id) > 0 && len(id) <= 1<<10 && id[0] != '{' && id[0] != '[' && id[0] != 't' && id[0] != 'f' &&
		utf8.Valid(id)
}
