package acp

import (
	"strings"

	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/sanitize"
)

// oneLine returns a cleaned text on one line.
func oneLine(text string) string { return strings.Join(strings.Fields(sanitize.Text(text)), " ") }

// shortened returns the beginning of a text of more than n bytes, with an ellipsis.
func shortened(text string, n int) string { return texts.Cut(text, n, "…") }

// lastOf returns the last n bytes of a text, from the beginning of a character.
func lastOf(text string, n int) string { return strings.ToValidUTF8(text[max(0, len(text)-n):], "") }

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

// searchText says what a search of the web was for, with the pages that it has found.
func searchText(s *llm.WebSearch) string {
	what := s.String()
	return strings.ToUpper(what[:1]) + what[1:] + pageLines(s.Hits)
}

// sourcesText lists the pages that an answer cites.
func sourcesText(list []llm.Source) string { return "Sources:" + pageLines(list) }

func pageLines(list []llm.Source) string {
	var b strings.Builder
	for _, s := range list {
		b.WriteString("\n- " + s.String())
	}
	return b.String()
}
