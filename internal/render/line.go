package render

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/attractor-go/attractor/sanitize"
)

// OneLine returns a cleaned text as one line, with its line ends and tabs as escapes.
func OneLine(text string) string {
	text = sanitize.Text(text)
	text = strings.ReplaceAll(text, "\n", `\u{a}`)
	return strings.ReplaceAll(text, "\t", `\u{9}`)
}

// Shorten returns a text as one line of at most limit characters, with … after them if something is
// missing.
func Shorten(text string, limit int) string {
	text = sanitize.Text(strings.Join(strings.Fields(beginning(text, limit)), " "))
	n := 0
	for i := range text {
		if n == limit {
			return text[:i] + "…"
		}
		n++
	}
	return text
}

// beginning returns the text up to the character with which it has become longer than the limit,
// whatever is done to its white space and to invalid UTF-8.
func beginning(text string, limit int) string {
	for i, r := range text {
		if r == utf8.RuneError || unicode.IsSpace(r) {
			continue
		}
		if limit--; limit < 0 {
			return text[:i+utf8.RuneLen(r)]
		}
	}
	return text
}

// indented returns a cleaned text with the prefix in front of each line. Its last line has an end.
func indented(text, prefix string) string {
	text = strings.TrimSuffix(sanitize.Text(text), "\n")
	return prefix + strings.ReplaceAll(text, "\n", "\n"+prefix) + "\n"
}

// lastLine returns the last line of a text that is not empty.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// Error returns an error's text as a person should see it: cleaned, even in a pipe, and without the
// names of this module's packages, because the program's name precedes it.
func Error(text string) string {
	lines := strings.Split(sanitize.Text(text), "\n")
	for i, line := range lines {
		for _, name := range []string{"agent: ", "journal: ", "tool: ", "env: ", "llm: ", "secret: "} {
			line = strings.TrimPrefix(strings.ReplaceAll(line, ": "+name, ": "), name)
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}
