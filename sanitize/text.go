package sanitize

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text makes text that no terminal is meant for, such as a file's, fit for models, events and whoever looks at them.
// Nothing is interpreted and nothing disappears: invalid UTF-8 becomes one U+FFFD a run, \r\n becomes \n, and every other
// character that does not show itself becomes an escape like \u{1b}. These are the control characters but \n and \t, the format
// characters (bidirectional marks, zero widths, tags, the byte order mark), line and paragraph separators, fillers and variation
// selectors. What emoji are made of stays: U+200D, U+FE0E and U+FE0F. Cleaning clean text changes nothing and allocates nothing.
func Text(text string) string {
	n := cleanLen(text, utf8.DecodeRuneInString)
	if n == len(text) {
		return text
	}
	b := make([]byte, 0, len(text)+len(text)/8+len(`\u{10ffff}`))
	for {
		b = append(b, text[:n]...)
		text = text[n:]
		if text == "" {
			return string(b)
		}
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError:
			b = append(b, replacement...)
			size = invalidLen(text)
		case r != '\r' || !strings.HasPrefix(text, "\r\n"):
			b = appendEscape(b, r)
		}
		text = text[size:]
		n = cleanLen(text, utf8.DecodeRuneInString)
	}
}

// replacement stands for bytes that are not UTF-8.
const replacement = string(utf8.RuneError)

// invalidLen is the length of the run of bytes at the beginning of text that are no part of a character.
func invalidLen(text string) int {
	for i := 0; i < len(text); i++ {
		if r, size := utf8.DecodeRuneInString(text[i:]); r != utf8.RuneError || size != 1 {
			return i
		}
	}
	return len(text)
}

// appendEscape appends what shows a character that does not show itself.
func appendEscape(dst []byte, r rune) []byte {
	dst = append(dst, `\u{`...)
	dst = strconv.AppendInt(dst, int64(r), 16)
	return append(dst, '}')
}

// cleanLen is the length of the part at the beginning of text that is the same after cleaning. It ends before anything that
// needs a look. The function reads a character of such text.
func cleanLen[T string | []byte](text T, decode func(T) (rune, int)) int {
	i := 0
	for i < len(text) {
		if b := text[i]; b >= utf8.RuneSelf {
			r, size := decode(text[i:])
			if r == utf8.RuneError && size == 1 || hidden(r) {
				return i
			}
			i += size
			continue
		}
		for i+8 <= len(text) && printable(load(text[i:i+8])) {
			i += 8
		}
		for i < len(text) && text[i] < utf8.RuneSelf {
			if hidden(rune(text[i])) {
				return i
			}
			if i++; i%8 == 0 { // where a word was not printable it had a newline, as a rule
				break
			}
		}
	}
	return i
}

// load reads eight bytes, the first as the lowest.
func load[T string | []byte](b T) uint64 {
	_ = b[7]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// printable reports whether eight bytes are all printable ASCII. It may deny it of bytes that are, where a borrow runs over.
func printable(x uint64) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	below := x - ones*' ' // a top bit for each byte less than a space
	above := x + ones     // and for each that is 0x7f
	return (x|below|above)&tops == 0
}

// hidden reports a character that does not show itself, or that moves or hides others.
func hidden(r rune) bool {
	switch { // most text is decided without a table
	case r < 0x300:
		return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == 0xad
	case r < 0x600:
		return r == 0x34f
	case r == '\u200d' || r == '\ufe0e' || r == '\ufe0f': // emoji are made with them
		return false
	case r == '\u2028' || r == '\u2029':
		return true
	case r >= 0x2070 && r < 0xfe00:
		return r == 0x3164
	case r >= 0x1d200 && r < 0xe0000:
		return false
	}
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Variation_Selector, r)
}
