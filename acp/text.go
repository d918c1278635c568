package acp

import (
	"strings"
	"unicode/utf8"

	"github.com/attractor-go/attractor/sanitize"
)

// oneLine returns a cleaned text on one line.
func oneLine(text string) string { return strings.Join(strings.Fields(sanitize.Text(text)), " ") }

// shortened returns the beginning of a text of more than n bytes, with an ellipsis.
func shortened(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}

// lastOf returns the last n bytes of a text, from the beginning of a character.
func lastOf(text string, n int) string {
	if len(text) <= n {
		return text
	}
	at := len(text) - n
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return text[at:]
}

// fenced returns a text as a block of code in Markdown.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence
}

// coded returns a text as code within a line of Markdown.
func coded(text string) string {
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if fence == "`" {
		return fence + text + fence
	}
	return fence + " " + text + " " + fence
}
