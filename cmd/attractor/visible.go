package main

import (
	"fmt"
	"strings"
	"unicode"
)

// visible shows what a model, a tool or a file wrote without letting it act on the terminal: control characters, and those that
// reorder or hide text, become escapes. Newlines and tabs stay.
func visible(text string) string {
	if strings.IndexFunc(text, hidden) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if hidden(r) {
			fmt.Fprintf(&b, "\\u{%x}", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hidden reports a character that does not show itself. Cf are the format characters: bidirectional marks, joiners, tags.
func hidden(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u200d')
}
