package coding

import (
	"sort"
	"strings"
)

// edit is the replacement of a text in a file's content.
type edit struct {
	old, new string
	all      bool // every occurrence, not the only one
}

// span is a part of a text, by offsets.
type span struct{ start, end int }

// matching is how an edit's old text was found in a content.
type matching struct {
	spans []span // in the content, in order, none overlapping another if the edit is for all
	// how names the step that found them when it was not the exact one; the result reports it.
	how string
}

// match finds an edit's old text. Steps follow each other from the strictest on, and the first that finds something decides,
// also when what it finds is not unique: a laxer step could only find more. There is one step so far: exact but for line
// endings, which models do not see. (Two kinds of line ending in one file do not make an occurrence unique.)
func (e edit) match(content string) matching {
	view := viewLF(content)
	old := toLF(e.old)
	var m matching
	for at := 0; at <= len(view.text); {
		i := strings.Index(view.text[at:], old)
		if i < 0 {
			break
		}
		start := at + i
		m.spans = append(m.spans, span{view.original(start), view.original(start + len(old))})
		if at = start + 1; e.all { // else overlapping ones count, too: which of them is meant cannot be told
			at = start + len(old)
		}
	}
	return m
}

// apply replaces the spans by the new text and returns the new content with where the new text is in it.
func (e edit) apply(content string, spans []span) (string, []span) {
	var b strings.Builder
	var placed []span
	end := 0
	for _, s := range spans {
		b.WriteString(content[end:s.start])
		start := b.Len()
		b.WriteString(withLineEnding(e.new, lineEnding(content, s)))
		placed = append(placed, span{start, b.Len()})
		end = s.end
	}
	b.WriteString(content[end:])
	return b.String(), placed
}

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
