package coding

import (
	"sort"
	"strings"
)

// lineEnding is what a new text has to use in place of a part of a content: what the part uses, or, if it is all on one line or
// uses both, what most of the content uses.
func lineEnding(content string, s span) string {
	for _, text := range [...]string{content[s.start:s.end], content} {
		crlf := strings.Count(text, "\r\n")
		lf := strings.Count(text, "\n") - crlf
		switch {
		case crlf > 0 && lf == 0:
			return "\r\n"
		case lf > 0 && crlf == 0:
			return "\n"
		case text == content && crlf > lf:
			return "\r\n"
		}
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

// lineNumber is the line that an offset is in, from 1.
func lineNumber(content string, offset int) int { return 1 + strings.Count(content[:offset], "\n") }
