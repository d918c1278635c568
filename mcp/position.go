package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxNesting limits the objects and arrays of a configuration inside each other. Ours need four.
const maxNesting = 32

// node is a JSON value with the place where it stands in a file.
type node struct {
	value   any // string, json.Number, bool, nil, *object or []node
	line    int
	members []entry // of an object
	items   []node  // of an array
	kind    nodeKind
}

// entry is a member of an object. A name that is there twice gives two members.
type entry struct {
	name string
	line int
	node
}

// nodeKind says what a node is.
type nodeKind uint8

const (
	scalar nodeKind = iota
	object
	array
)

// jsonReader reads JSON with the lines of its values.
type jsonReader struct {
	data []byte
	*json.Decoder
	at, line int // an offset, and the line that it is on
}

// readJSON reads a file that is one JSON value. An error names the line.
func readJSON(data []byte) (node, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // which editors on Windows write
	r := &jsonReader{data: data, Decoder: json.NewDecoder(bytes.NewReader(data)), line: 1}
	r.UseNumber()
	n, err := r.next(0)
	if err == nil {
		if _, end := r.Token(); !errors.Is(end, io.EOF) {
			err = errors.New("there is something after the end of the object")
		}
	}
	if err != nil {
		return n, fmt.Errorf("line %d: %w", r.lineOf(err), plainJSON(err))
	}
	return n, nil
}

// lineOf returns the line of an error.
func (r *jsonReader) lineOf(err error) int {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return r.lineAt(int(syntax.Offset))
	}
	return r.lineAt(int(r.InputOffset()))
}

// lineAt returns the line of an offset.
func (r *jsonReader) lineAt(at int) int {
	at = min(at, len(r.data))
	if at < r.at {
		return 1 + bytes.Count(r.data[:at], []byte("\n"))
	}
	r.line += bytes.Count(r.data[r.at:at], []byte("\n"))
	r.at = at
	return r.line
}

// plainJSON returns an error of the decoder as a person needs it.
func plainJSON(err error) error {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the file ends too early; a bracket or brace is not closed")
	case strings.Contains(err.Error(), "character '/'"):
		return errors.New("JSON has no comments: remove them")
	}
	return fmt.Errorf("it is not JSON: %w", err)
}

// next reads the next value.
func (r *jsonReader) next(depth int) (node, error) {
	token, err := r.Token()
	if err != nil {
		return node{}, err
	}
	n := node{value: token, line: r.lineAt(int(r.InputOffset()))}
	delim, ok := token.(json.Delim)
	if !ok {
		return n, nil
	}
	if depth == maxNesting {
		return n, fmt.Errorf("there are more than %d objects or arrays inside each other", maxNesting)
	}
	if n.value = nil; delim == '[' {
		n.kind = array
	} else {
		n.kind = object
	}
	for r.More() {
		m := entry{}
		if n.kind == object {
			name, err := r.Token()
			if err != nil {
				return n, err
			}
			m.name, _ = name.(string) // the decoder allows nothing else
			m.line = r.lineAt(int(r.InputOffset()))
		}
		if m.node, err = r.next(depth + 1); err != nil {
			return n, err
		}
		if n.kind == object {
			n.members = append(n.members, m)
		} else {
			n.items = append(n.items, m.node)
		}
	}
	_, err = r.Token() // the end
	return n, err
}

// is returns what a node is, for a message.
func (n *node) is() string {
	switch value := n.value.(type) {
	case string:
		return "a string"
	case json.Number:
		return "the number " + value.String()
	case bool:
		return fmt.Sprint(value)
	}
	return [...]string{"null", "an object", "an array"}[n.kind]
}
