package llm

import (
	"strings"
	"testing"
)

// What is shown of a search and of a source is one line, whatever the web has in it.
func TestV7_SearchesAreOneLine(t *testing.T) {
	bad := "a\n \tb"
	for _, s := range []string{(&WebSearch{Query: bad, Page: bad, Error: bad}).String(),
		(&WebSearch{Page: bad}).String(),
		Source{URL: bad, Title: bad}.String(), Source{URL: bad}.String()} {
		if strings.ContainsAny(s, "\n\t") || !strings.Contains(s, "a b") {
			t.Errorf("%q", s)
		}
	}
	if s := CutSearch(strings.Repeat("ä", 2000)); len(s) > maxSearchText+3 || !strings.HasSuffix(s, "ä...") {
		t.Errorf("%d bytes", len(s))
	}
}
