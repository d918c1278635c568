package render

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/attractor-go/attractor/sanitize"
)

// maxLookalikes limits the words that a question names.
const maxLookalikes = 5

// lookalikes returns the words of a text that look like other words, with escapes for the
// characters that are not what they seem to be: letters of other alphabets among Latin ones, spaces
// that do not divide words in a shell, and wide or other forms of ASCII characters.
func lookalikes(text string) (words []string) {
	for word := range strings.FieldsFuncSeq(sanitize.Text(text), func(r rune) bool { return r <= ' ' }) {
		if shown := unmasked(word); shown != word {
			if len(words) == maxLookalikes {
				return append(words, "and others")
			}
			words = append(words, OneLine(shown))
		}
	}
	return words
}

// unmasked returns a word with escapes for the characters that look like others.
func unmasked(word string) string {
	var b strings.Builder
	for rest := word; rest != ""; {
		letters := len(rest) - len(strings.TrimLeftFunc(rest, inName))
		part := rest[:letters]
		rest = rest[letters:]
		latin := strings.ContainsFunc(part, func(r rune) bool { return unicode.Is(unicode.Latin, r) })
		for _, r := range part {
			writeRune(&b, r, fullWidth(r) || latin && unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian,
				unicode.Cherokee, unicode.Coptic, unicode.Lisu))
		}
		others := len(rest) - len(strings.TrimLeftFunc(rest, func(r rune) bool { return !inName(r) }))
		for _, r := range rest[:others] {
			writeRune(&b, r, fullWidth(r) || r > 0x7f && unicode.Is(unicode.Zs, r) ||
				strings.ContainsRune("\u037e\u0589\u2024\u2044\u2215\u2216\u2236\u29f8\ua789\ufe55\ufe68", r))
		}
		rest = rest[others:]
	}
	return b.String()
}

// inName reports whether a character belongs to a name: a letter, with its accents, or a digit.
func inName(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) }

// fullWidth reports whether a character is a wide form of an ASCII character.
func fullWidth(r rune) bool { return r >= 0xff01 && r <= 0xff5e }

// writeRune writes a character or its escape.
func writeRune(b *strings.Builder, r rune, escape bool) {
	if escape {
		fmt.Fprintf(b, `\u{%x}`, r)
	} else {
		b.WriteRune(r)
	}
}
