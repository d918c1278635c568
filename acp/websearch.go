package acp

import (
	"strings"

	"github.com/attractor-go/attractor/llm"
)

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
