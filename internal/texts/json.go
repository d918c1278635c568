package texts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxNesting limits the objects and arrays inside each other. Files of configuration need few.
const maxNesting = 32

// JSON holds a JSON value of a file and the line on which it begins.
type JSON struct {
	Value   any // of a scalar: a string, a json.Number, a bool or nil
	Raw     json.RawMessage
	Line    int
	Members []Member // of an object, in the order of the file
	Items   []JSON   // of an array
	Kind    Kind
}

// Member holds a member of an object. A name that is there twice gives two members.
type Member struct {
	Name string
	Line int // of the name
	JSON
}

// Kind says what a JSON value is.
type Kind uint8

// The kinds of JSON values.
const (
	Scalar Kind = iota
	Object
	Array
)

// jsonReader reads JSON with the lines of its values.
type jsonReader struct {
	data []byte
	*json.Decoder
	at, line int // an offset, and the line that it is on
}

// ReadJSON returns the value of a file that is one JSON value. An error names the line.
func ReadJSON(data []byte) (JSON, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // which editors on Windows write
	r := &jsonReader{data: data, Decoder: json.NewDecoder(bytes.NewReader(data)), line: 1}
	r.UseNumber()
	n, err := r.next(0)
	if err == nil {
		if _, end := r.Token(); !errors.Is(end, io.EOF) {
			err = errors.New("there is something after the end of the JSON value; remove it")
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

// plainJSON returns an error as a person needs it, also one of the decoder.
func plainJSON(err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the file ends too early; a bracket or brace is not closed")
	case !errors.As(err, &syntax): // one of our own
		return err
	case strings.Contains(err.Error(), "character '/'"):
		return errors.New("JSON has no comments: remove them")
	case strings.Contains(err.Error(), "character ']'"), strings.Contains(err.Error(), "character '}'"):
		return fmt.Errorf("it is not JSON: %w; if a comma stands before it, remove that", err)
	}
	return fmt.Errorf("it is not JSON: %w", err)
}

// next reads the next value.
func (r *jsonReader) next(depth int) (n JSON, err error) {
	before := r.InputOffset()
	defer func() { n.Raw = bytes.TrimLeft(r.data[before:r.InputOffset()], " \t\r\n:,") }()
	token, err := r.Token()
	if err != nil {
		return JSON{}, err
	}
	n = JSON{Value: token, Line: r.lineAt(int(r.InputOffset()))}
	delim, ok := token.(json.Delim)
	if !ok {
		return n, nil
	}
	if depth == maxNesting {
		return n, fmt.Errorf("there are more than %d objects or arrays inside each other", maxNesting)
	}
	if n.Value = nil; delim == '[' {
		n.Kind = Array
	} else {
		n.Kind = Object
	}
	for r.More() {
		m := Member{}
		if n.Kind == Object {
			name, err := r.Token()
			if err != nil {
				return n, err
			}
			m.Name, _ = name.(string) // the decoder allows nothing else
			m.Line = r.lineAt(int(r.InputOffset()))
		}
		if m.JSON, err = r.next(depth + 1); err != nil {
			return n, err
		}
		if n.Kind == Object {
			n.Members = append(n.Members, m)
		} else {
			n.Items = append(n.Items, m.JSON)
		}
	}
	_, err = r.Token() // the end
	return n, err
}

// Is returns what a value is, for a message such as "a string".
func (n *JSON) Is() string {
	switch value := n.Value.(type) {
	case string:
		return "a string"
	case json.Number:
		return "the number " + value.String()
	case bool:
		return fmt.Sprint(value)
	}
	return [...]string{"null", "an object", "an array"}[n.Kind]
}

// PlainJSON returns a value as JSON that leaves <, > and & as they are, for models and people.
func PlainJSON(value any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(value)
	return bytes.TrimSpace(b.Bytes()), err
}
