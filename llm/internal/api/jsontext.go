package api

import (
	"unicode/utf16"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. It replaces invalid UTF-8 by U+FFFD, and changes or escapes nothing else without need.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			dst = append(dst, s[from:i]...)
			dst = appendEscape(dst, c)
			i++
			from = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			dst = append(append(dst, s[from:i]...), "\uFFFD"...)
			from = i + 1
		}
		i += size
	}
	return append(append(dst, s[from:]...), '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// Scanner reads JSON of a known form, without reflection and with one allocation for each text. It is for the few event types
// that come by the thousand. A byte that it does not expect makes it bad for good: OK returns false, and the caller decodes the
// value with encoding/json instead. Whatever it accepts, encoding/json decodes the same way.
type Scanner struct {
	data []byte
	at   int
	bad  bool
}

// Scan returns a scanner at the start of data.
func Scan(data []byte) Scanner { return Scanner{data: data} }

// OK reports whether the scanner has accepted everything so far.
func (s *Scanner) OK() bool { return !s.bad }

// Is consumes c, after white space, and reports whether it came next.
func (s *Scanner) Is(c byte) bool {
	s.space()
	if s.bad || s.at >= len(s.data) || s.data[s.at] != c {
		return false
	}
	s.at++
	return true
}

// Want consumes c, which must come next.
func (s *Scanner) Want(c byte) {
	if !s.Is(c) {
		s.bad = true
	}
}

// End requires that only white space is left.
func (s *Scanner) End() {
	s.space()
	if s.at != len(s.data) {
		s.bad = true
	}
}

// Word reads a string of printable ASCII without escapes, such as a key or a type. The result is valid as long as data.
func (s *Scanner) Word() []byte {
	s.Want('"')
	if !s.bad {
		rest := s.data[s.at:]
		for i, c := range rest {
			if c == '"' {
				s.at += i + 1
				return rest[:i]
			}
			if c < ' ' || c == '\\' || c >= utf8.RuneSelf {
				break
			}
		}
	}
	s.bad = true
	return nil
}

// Int reads a small non-negative integer.
func (s *Scanner) Int() int {
	s.space()
	from, n := s.at, 0
	for ; s.at < len(s.data) && s.data[s.at]-'0' <= 9; s.at++ {
		n = n*10 + int(s.data[s.at]-'0')
		if s.at-from > 8 {
			s.bad = true
			return 0
		}
	}
	if s.at == from || s.data[from] == '0' && s.at-from > 1 {
		s.bad = true
	}
	return n
}

// Number skips a non-negative integer of any size.
func (s *Scanner) Number() {
	s.space()
	from := s.at
	for s.at < len(s.data) && s.data[s.at]-'0' <= 9 {
		s.at++
	}
	if s.at == from || s.data[from] == '0' && s.at-from > 1 {
		s.bad = true
	}
}

// Null consumes null and reports whether it came next.
func (s *Scanner) Null() bool { return s.literal("null") }

// True consumes true and reports whether it came next.
func (s *Scanner) True() bool { return s.literal("true") }

func (s *Scanner) literal(word string) bool {
	s.space()
	if s.bad || len(s.data)-s.at < len(word) || string(s.data[s.at:s.at+len(word)]) != word {
		return false
	}
	s.at += len(word)
	return true
}

// Reject makes the scanner bad.
func (s *Scanner) Reject() { s.bad = true }

// Text reads a string.
func (s *Scanner) Text() string {
	s.Want('"')
	from := s.at
	for ; !s.bad && s.at < len(s.data); s.at++ {
		c := s.data[s.at]
		if c == '"' {
			text := s.data[from:s.at]
			s.at++
			if !utf8.Valid(text) {
				s.bad = true
			}
			return string(text)
		}
		if c == '\\' {
			return s.escaped(from)
		}
		if c < ' ' {
			s.bad = true
		}
	}
	s.bad = true
	return ""
}

// escaped continues reading a string with an escape at the current position.
func (s *Scanner) escaped(from int) string {
	var room [256]byte // most deltas fit, so the returned text is the only allocation
	text := room[:0]
	if most := s.rest(from); most > len(room) {
		text = make([]byte, 0, most) // in one piece, because a long text would be copied whenever it grows
	}
	text = append(text, s.data[from:s.at]...)
	for s.at < len(s.data) {
		c := s.data[s.at]
		s.at++
		switch {
		case c == '"':
			if !utf8.Valid(text) {
				s.bad = true
			}
			return string(text)
		case c < ' ':
			s.bad = true
			return ""
		case c != '\\':
			text = append(text, c)
		case s.at >= len(s.data):
			s.bad = true
			return ""
		default:
			text = s.escape(text)
			if s.bad {
				return ""
			}
		}
	}
	s.bad = true
	return ""
}

// rest returns the size of a string's JSON from a position on, which its text does not exceed.
func (s *Scanner) rest(from int) int {
	for i := from; i < len(s.data); i++ {
		switch s.data[i] {
		case '"':
			return i - from
		case '\\':
			i++
		}
	}
	return len(s.data) - from
}

// escape reads the rest of an escape after its backslash.
func (s *Scanner) escape(text []byte) []byte {
	c := s.data[s.at]
	s.at++
	switch c {
	case '"', '\\', '/':
		return append(text, c)
	case 'n':
		return append(text, '\n')
	case 't':
		return append(text, '\t')
	case 'r':
		return append(text, '\r')
	case 'b':
		return append(text, '\b')
	case 'f':
		return append(text, '\f')
	case 'u':
		return utf8.AppendRune(text, s.unicode())
	}
	s.bad = true
	return text
}

// unicode reads the digits of an escape, and the second half of a surrogate pair. A lone half becomes U+FFFD, as in
// encoding/json.
func (s *Scanner) unicode() rune {
	r := s.hex4()
	if !utf16.IsSurrogate(r) {
		return r
	}
	if s.at+1 < len(s.data) && s.data[s.at] == '\\' && s.data[s.at+1] == 'u' {
		before := s.at
		s.at += 2
		if pair := utf16.DecodeRune(r, s.hex4()); pair != utf8.RuneError {
			return pair
		}
		if !s.bad {
			s.at = before // the second escape stands alone
		}
	}
	return utf8.RuneError
}

func (s *Scanner) hex4() rune {
	if s.at+4 > len(s.data) {
		s.bad = true
		return 0
	}
	var r rune
	for _, c := range s.data[s.at : s.at+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			s.bad = true
			return 0
		}
		r = r<<4 | rune(c)
	}
	s.at += 4
	return r
}

func (s *Scanner) space() {
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}
