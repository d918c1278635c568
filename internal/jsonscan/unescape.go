package jsonscan

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape appends the text of a string with valid escapes to out. Ok is false if it has surrogates or is not UTF-8.
func unescape(out, text []byte) (_ []byte, ok bool) {
	for {
		at := bytes.IndexByte(text, '\\')
		if at < 0 {
			out = append(out, text...)
			return out, utf8.Valid(out)
		}
		out = append(out, text[:at]...)
		c := text[at+1]
		text = text[at+2:]
		if c != 'u' {
			out = append(out, simple(c))
			continue
		}
		code, err := strconv.ParseUint(string(text[:4]), 16, 16)
		if err != nil || utf16.IsSurrogate(rune(code)) {
			return out, false
		}
		out = utf8.AppendRune(out, rune(code))
		text = text[4:]
	}
}

// simple returns the byte that an escape of one letter stands for.
func simple(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c // a quote, a backslash or a slash
}
