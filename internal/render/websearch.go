package render

import (
	"fmt"

	"github.com/attractor-go/attractor/llm"
)

// How many pages are shown of a search of the web, and below an answer.
const (
	shownHits    = 5
	shownSources = 20
)

// search appends a search of the web with the first of the pages that it has found.
func (s *Session) search(search *llm.WebSearch) {
	color := dim
	if search.Error != "" {
		color = amber
	}
	s.line("%s", s.paint(color, "⌕ "+OneLine(search.String())))
	s.pages(search.Hits, shownHits)
}

// sources appends the pages that the text above cites.
func (s *Session) sources(list []llm.Source) {
	if len(list) == 0 {
		return
	}
	s.line("%s", s.paint(dim, "Sources:"))
	s.pages(list, shownSources)
}

func (s *Session) pages(list []llm.Source, most int) {
	for i, page := range list {
		if i == most {
			s.line("%s", s.paint(dim, fmt.Sprintf("  … and %d more", len(list)-most)))
			break
		}
		s.line("%s", s.paint(dim, "  "+OneLine(page.String())))
	}
}
