package coding

import (
	"sort"
	"strings"
)

// withLineEndings returns the texts of places with their line endings. A text gets those of the
// part that it replaces. If that part has none or both kinds, it gets those of most of the content.
func withLineEndings(content string, places []place) []string {
	texts := make([]string, len(places))
	most := "" // the content's line ending; found when it is needed
	for i, p := range places {
		if texts[i] = p.text; !strings.Contains(p.text, "\n") {
			continue
		}
		part := content[p.start:p.end]
		crlf, all := strings.Count(part, "\r\n"), strings.Count(part, "\n")
		ending := "\n"
		switch {
		case all > 0 && crlf == all:
			ending = "\r\n"
		case all == 0 || crlf > 0:
			if most == "" {
				most = mostLineEndings(content)
			}
			ending = most
		}
		texts[i] = withLineEnding(p.text, ending)
	}
	return texts
}

func mostLineEndings(content string) string {
	if crlf := strings.Count(content, "\r\n"); crlf > 0 && 2*crlf > strings.Count(content, "\n") {
		return "\r\n"
	}
	return "\n"
}

func withLineEnding(text, ending string) string {
	text = toLF(text)
	if ending == "\n" {
		return text
	}
	return strings.ReplaceAll(text, "\n", ending)
}

func toLF(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// lfView holds a content with \n for line endings, and maps offsets to the original.
type lfView struct {
	text    string
	removed []int // ascending offsets in text before which a \r was removed
}

func viewLF(content string) lfView {
	v := lfView{text: toLF(content)}
	for at, dropped := 0, 0; len(v.text)+dropped < len(content); dropped++ {
		at += strings.Index(content[at:], "\r\n")
		v.removed = append(v.removed, at-dropped)
		at += len("\r\n")
	}
	return v
}

// original returns the offset in the original content. The offset of a line's end is before its \r.
func (v lfView) original(offset int) int { return offset + sort.SearchInts(v.removed, offset) }
