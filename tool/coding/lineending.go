package coding

import (
	"sort"
	"strings"
)

// withLineEndings are the texts of places with the line endings that they have to use: what the part of the content uses that they
// replace or, if it is all on one line or uses both, what most of the content uses.
func withLineEndings(content string, places []place) []string {
	texts := make([]string, len(places))
	most := "" // of the content; not looked for before it is needed
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

// lfView is a content with \n for line endings, and the way back to the original.
type lfView struct {
	text    string
	removed []int // the offsets in text before which there was a \r, rising
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

// original is the offset in the content. That of a line's end is before its \r.
func (v lfView) original(offset int) int { return offset + sort.SearchInts(v.removed, offset) }
