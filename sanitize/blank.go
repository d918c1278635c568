package sanitize

import (
	"strings"
	"unicode"
)

// Blank reports whether a character takes part in a text but looks like a space or like nothing:
// fillers, such as those of Hangul, and empty signs, such as the Braille pattern without dots.
// Spaces are not blank in this sense, nor are the parts of emoji.
func Blank(r rune) bool {
	switch r {
	case '\u2800', '\U0001d159', '\U00016fe4', '\U00013441', '\U00013442', '\U0001da7f', '\U0001da80':
		return true
	case '\u200d', '\ufe0e', '\ufe0f':
		return false
	}
	return r >= 0x80 && hidden(r) && unicode.IsGraphic(r)
}

// Blanks returns a text with escapes such as \u{2800} for its blank characters, for people who
// decide about the text. Text keeps some of them, since drawings consist of them. A text without
// any is returned as it is.
func Blanks(text string) string {
	n := strings.IndexFunc(text, Blank)
	if n < 0 {
		return text
	}
	b := append(make([]byte, 0, len(text)+len(text)/8), text[:n]...)
	for _, r := range text[n:] {
		if Blank(r) {
			b = appendEscape(b, r)
		} else {
			b = append(b, string(r)...)
		}
	}
	return string(b)
}
