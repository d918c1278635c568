package sanitize

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text cleans text that was not meant for a terminal, such as a file's, for models, events and
// people. It interprets nothing and drops nothing: a run of invalid UTF-8 becomes one U+FFFD, \r\n
// becomes \n, and every other character that cannot be seen becomes an escape such as \u{1b}. Those
// are the control characters except \n and \t, the format characters (bidirectional marks, zero
// widths, tags, the byte order mark), line and paragraph separators, fillers and variation
// selectors. The parts of emoji stay: U+200D, U+FE0E and U+FE0F. Clean text is returned as it is,
// without an allocation.
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

// replacement replaces a run of invalid UTF-8.
const replacement = string(utf8.RuneError)

// invalidLen returns the length of the run of invalid bytes at the beginning of text.
func invalidLen(text string) int {
	for i := 0; i < len(text); i++ {
		if r, size := utf8.DecodeRuneInString(text[i:]); r != utf8.RuneError || size != 1 {
			return i
		}
	}
	return len(text)
}

// appendEscape appends the escape of a character.
func appendEscape(dst []byte, r rune) []byte {
	dst = append(dst, `\u{`...)
	dst = strconv.AppendInt(dst, int64(r), 16)
	return append(dst, '}')
}

// cleanLen returns the length of the prefix of text that is clean. decode decodes the first
// character of a text.
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
			if i++; i%8 == 0 { // most words that are not printable have a newline
				break
			}
		}
	}
	return i
}

// load returns eight bytes as a number, the first as the lowest byte.
func load[T string | []byte](b T) uint64 {
	_ = b[7]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// printable reports whether eight bytes are all printable ASCII. It may return false for some that
// are, where a borrow carries over.
func printable(x uint64) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	below := x - ones*' ' // sets the top bit of each byte below a space
	above := x + ones     // and of each that is 0x7f
	return (x|below|above)&tops == 0
}

// hidden reports whether a character cannot be seen, or moves or hides others.
func hidden(r rune) bool {
	switch { // most text needs no table
	case r < 0x300:
		return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == 0xad
	case r < 0x600:
		return r == 0x34f
	case r == '\u200d' || r == '\ufe0e' || r == '\ufe0f': // parts of emoji
		return false
	case r == '\u2028' || r == '\u2029':
		return true
	case r >= 0x2070 && r < 0xfe00:
		return r == 0x3164
	case r >= 0x1d200 && r < 0xe0000:
		return false
	}
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) ||
		unicode.Is(unicode.Variation_Selector, r)
}
