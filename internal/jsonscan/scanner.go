package jsonscan

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// Scanner reads a JSON text from its beginning. After a form that it does not read, all methods return zero values and OK returns false.
type Scanner struct {
	data  []byte
	at    int
	depth int  // open objects and arrays
	fresh bool // the innermost object or array has no member yet
	dense bool // white space is a form that is not read
	bad   bool
	buf   []byte // reused by String
}

// New returns a scanner of a text. The scanner does not change the text.
func New(data []byte) Scanner { return Scanner{data: data} }

// Compact reports whether a text is one JSON value without white space around or within it. In a text where it stands within so many
// objects and arrays it must not be nested too deeply for encoding/json.
func Compact(data []byte, within int) bool {
	s := Scanner{data: data, dense: true, depth: within}
	s.Skip()
	return s.End()
}

// OK reports whether everything was read up to now.
func (s *Scanner) OK() bool { return !s.bad }

// End reports whether the whole text was read.
func (s *Scanner) End() bool { return !s.bad && s.at == len(s.data) }

// Fail makes the scanner end as after a form that it does not read.
func (s *Scanner) Fail() { s.bad = true }

// Open reads the beginning of an object.
func (s *Scanner) Open() { s.open('{') }

// Close reads the end of an object. Members that were not read are of a form that the scanner does not read.
func (s *Scanner) Close() { s.close('}') }

// Field reports whether the object's next member has this name, and reads the name.
func (s *Scanner) Field(name string) bool {
	at := s.at
	if !s.fresh {
		if s.peek() != ',' {
			return false
		}
		at++
	}
	end := at + len(name) + 3
	if s.bad || end > len(s.data) || s.data[at] != '"' || string(s.data[at+1:end-2]) != name || s.data[end-2] != '"' || s.data[end-1] != ':' {
		return false
	}
	s.at, s.fresh = end, false
	return true
}

// Member reads the object's next member, whatever its name. It returns the name as it is written, with quotes, and the value. Ok is false at
// the end of the object.
func (s *Scanner) Member() (name, value []byte, ok bool) {
	if s.peek() == '}' || !s.fresh && !s.take(',') {
		return nil, nil, false
	}
	s.fresh = false
	from := s.at
	s.text()
	name = s.data[from:s.at]
	s.take(':')
	value = s.Raw()
	return name, value, !s.bad
}

// OpenArray reads the beginning of an array. The caller then reads an element each time that Next returns true.
func (s *Scanner) OpenArray() { s.open('[') }

// Next reports whether the array has another element. If not, it reads the end of the array.
func (s *Scanner) Next() bool {
	switch {
	case s.peek() == ']':
		s.close(']')
		return false
	case !s.fresh && !s.take(','):
		return false
	}
	s.fresh = false
	return !s.bad
}

// String reads a string without escaped surrogates that is valid UTF-8.
func (s *Scanner) String() string {
	from := s.at
	escaped := s.text()
	if s.bad {
		return ""
	}
	inner := s.data[from+1 : s.at-1]
	if !escaped {
		if text := string(inner); utf8.ValidString(text) {
			return text
		}
		s.bad = true
		return ""
	}
	text, ok := unescape(s.buf[:0], inner)
	if s.buf, s.bad = text, !ok; s.bad {
		return ""
	}
	return string(text)
}

// Int64 reads an integer that is written without a fraction or an exponent.
func (s *Scanner) Int64() int64 {
	n, err := strconv.ParseInt(string(s.digits()), 10, 64)
	s.bad = s.bad || err != nil
	return n
}

// Float64 reads a number.
func (s *Scanner) Float64() float64 {
	f, err := strconv.ParseFloat(string(s.digits()), 64)
	s.bad = s.bad || err != nil
	return f
}

// Bool reads true or false.
func (s *Scanner) Bool() bool {
	if s.peek() == 't' {
		s.literal("true")
		return !s.bad
	}
	s.literal("false")
	return false
}

// Raw reads any value and returns its text, which is a part of the scanner's.
func (s *Scanner) Raw() []byte {
	from := s.at
	s.Skip()
	if s.bad {
		return nil
	}
	return s.data[from:s.at]
}

// StringField reads the object's next member if it has this name, as String does.
func StringField[T ~string](s *Scanner, name string, to *T) {
	if s.Field(name) {
		*to = T(s.String())
	}
}

// IntField reads the object's next member if it has this name, as Int64 does.
func IntField[T ~int | ~int64](s *Scanner, name string, to *T) {
	if s.Field(name) {
		n := s.Int64()
		*to = T(n)
		s.bad = s.bad || int64(*to) != n
	}
}

// BoolField reads the object's next member if it has this name, as Bool does.
func (s *Scanner) BoolField(name string, to *bool) {
	if s.Field(name) {
		*to = s.Bool()
	}
}

// Decode reads any value into v as encoding/json does.
func (s *Scanner) Decode(v any) {
	raw := s.Raw()
	if s.bad {
		return
	}
	if own, ok := v.(json.Unmarshaler); ok { // the value is valid already
		s.bad = own.UnmarshalJSON(raw) != nil
		return
	}
	s.bad = json.Unmarshal(raw, v) != nil
}

// DecodeField reads the object's next member into v with encoding/json if it has this name.
func (s *Scanner) DecodeField(name string, v any) {
	if s.Field(name) {
		s.Decode(v)
	}
}

// open reads the beginning of an object or an array.
func (s *Scanner) open(c byte) {
	if s.take(c) {
		s.depth, s.fresh = s.depth+1, true
		s.bad = s.depth > deepest
	}
}

// close reads the end of an object or an array.
func (s *Scanner) close(c byte) {
	if s.take(c) {
		s.depth, s.fresh = s.depth-1, false
	}
}

// peek returns the next byte, 0 if there is none.
func (s *Scanner) peek() byte {
	if s.bad || s.at >= len(s.data) {
		return 0
	}
	return s.data[s.at]
}

// take reads one byte, which must be c.
func (s *Scanner) take(c byte) bool {
	if s.peek() != c {
		s.bad = true
		return false
	}
	s.at++
	return true
}
