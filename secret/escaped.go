package secret

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// layer describes escapes to undo: percent-encoding over so many layers of JSON strings. The zero
// value stands for none.
type layer struct {
	percent bool
	json    int
}

// layers lists the escapes in which patterns are found.
var layers = [...]layer{{percent: true}, {json: 1}, {json: 2}, {percent: true, json: 1}}

// unit holds what one character or escape stands for.
type unit struct {
	code   rune
	isByte bool // one byte, perhaps a part of a character
	end    int  // the offset behind it; -1 if the text ends before
}

// next decodes the unit at an offset of text.
func (l layer) next(text string, at int) unit {
	u := nextJSON(text, at, l.json)
	if u.end < 0 || !l.percent || u.code != '%' {
		return u
	}
	code, end := hexDigits(text, u.end, l.json, 2)
	switch {
	case end < 0:
		return unit{end: -1}
	case code < 0: // not an escape
		return u
	}
	return unit{code, true, end}
}

// nextJSON decodes the unit at an offset of text that was escaped as a JSON string so many times.
func nextJSON(text string, at, layers int) unit {
	if layers == 0 {
		if at >= len(text) {
			return unit{end: -1}
		}
		return unit{rune(text[at]), true, at + 1}
	}
	u := nextJSON(text, at, layers-1)
	if u.end < 0 || u.code != '\\' {
		return u
	}
	escape := nextJSON(text, u.end, layers-1)
	if escape.end < 0 {
		return escape
	}
	if escape.code == 'u' {
		return codePoint(text, u, escape.end, layers-1)
	}
	if i := strings.IndexByte(jsonEscapes, byte(escape.code)); i >= 0 && escape.code < 0x80 {
		return unit{rune(jsonEscaped[i]), true, escape.end}
	}
	return u // not an escape
}

// jsonEscapes holds the bytes that make an escape after a backslash, except u, and jsonEscaped what
// they stand for.
const jsonEscapes, jsonEscaped = `"\/bfnrt`, "\"\\/\b\f\n\r\t"

// codePoint decodes the digits of \u, and the second half of a surrogate pair. Without digits it
// returns the backslash.
func codePoint(text string, backslash unit, at, layers int) unit {
	code, end := hexDigits(text, at, layers, 4)
	switch {
	case end < 0:
		return unit{end: -1}
	case code < 0:
		return backslash
	case code < 0x80:
		return unit{code, true, end}
	case !utf16.IsSurrogate(code):
		return unit{code, false, end}
	}
	for _, want := range `\u` {
		u := nextJSON(text, end, layers)
		if u.end < 0 {
			return u
		}
		if u.code != want {
			return unit{code: utf8.RuneError, end: end}
		}
		end = u.end
	}
	low, end := hexDigits(text, end, layers, 4)
	return unit{code: utf16.DecodeRune(code, low), end: end}
}

// hexDigits decodes n hexadecimal digits. The code is -1 if there is anything else, and the end -1
// if the text ends before.
func hexDigits(text string, at, layers, n int) (code rune, end int) {
	for range n {
		u := nextJSON(text, at, layers)
		if u.end < 0 {
			return 0, -1
		}
		digit := strings.IndexByte("0123456789abcdef", byte(u.code)|0x20)
		if u.code >= 0x80 || u.code < '0' || digit < 0 {
			return -1, at
		}
		code, at = code<<4|rune(digit), u.end
	}
	return code, at
}

// relevant reports whether the escape at an offset may stand for a character of a pattern, or may
// do so once the text goes on.
func (m *matcher) relevant(text string, at int) bool {
	for _, l := range layers {
		switch u := l.next(text, at); {
		case u.end < 0:
			return true
		case u.end == at+1: // not an escape here
		case u.isByte && m.has[byte(u.code)], !u.isByte && m.wide:
			return true
		}
	}
	return false
}

// escaped looks for patterns whose first escape of its kind is at an offset of text. tried is the
// offset behind the last one.
func (s *scanner) escaped(at int, tried *int) {
	if !s.relevant(s.text, at) {
		return
	}
	for i := max(at-s.longest, *tried, 0); i <= at; i++ {
		if i < at && !s.mayBegin(i, at) {
			continue
		}
		for _, l := range layers {
			if l.percent && s.text[at] == '%' || l.json > 0 && s.text[at] == '\\' {
				s.decoded(l, i)
			}
		}
	}
	*tried = at + 1
}

// mayBegin reports whether a pattern begins with text[i:at].
func (s *scanner) mayBegin(i, at int) bool {
	if !s.pairs.has(s.text[:at], i) {
		return false
	}
	from, to := s.beginning(s.text[i:min(at, i+4)])
	return to > from
}

// decoded looks for a pattern at an offset under escapes.
func (s *scanner) decoded(l layer, at int) {
	var first [4]byte
	n := 0
	for pos := at; n < len(first); {
		u := l.next(s.text, pos)
		if u.end < 0 {
			break
		}
		if pos = u.end; u.isByte {
			first[n] = byte(u.code)
			if n++; n <= 2 && !s.pairs.has(string(first[:n]), 0) {
				return
			}
			continue
		}
		var char [utf8.UTFMax]byte
		n += copy(first[n:], char[:utf8.EncodeRune(char[:], u.code)])
	}
	from, to := s.beginning(string(first[:n]))
	if n < len(first) {
		if to > from {
			s.wait(at)
		}
		return
	}
	for i := from; i < to; i++ {
		s.match(&s.patterns[i], l, at)
	}
}
