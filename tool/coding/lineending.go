package coding

import (
	"math"
	"strings"
)

// withLineEndings returns the texts of places with their line endings. A text gets those of the
// part that it replaces. If that part has none or both kinds, it gets those of most of the content,
// but lines at its beginning and end that stay as they are keep theirs.
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
		text := toLF(p.text)
		head, tail := sameLines(part, text)
		lf := len(toLF(part[:head]))
		texts[i] = part[:head] + withLineEnding(text[lf:len(text)-len(toLF(part[tail:]))], ending) + part[tail:]
	}
	return texts
}

// sameLines returns where the lines end with which both the part and the text begin, and where
// those begin with which both end. The text has no CRLF.
func sameLines(part, text string) (head, tail int) {
	for line := range strings.Lines(part) {
		lf := toLF(line)
		if !strings.HasSuffix(lf, "\n") || !strings.HasPrefix(text, lf) {
			break
		}
		head += len(line)
		text = text[len(lf):]
	}
	tail = len(part)
	for tail > head {
		start := head + strings.LastIndexByte(part[head:tail-1], '\n') + 1
		rest, ok := strings.CutSuffix(text, toLF(part[start:tail]))
		if !ok || rest != "" && !strings.HasSuffix(rest, "\n") {
			break
		}
		tail, text = start, rest
	}
	return head, tail
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

// crOffsets maps offsets in toLF(content) to the content.
type crOffsets struct {
	content string
	removed int // the \r before next that toLF removes
	next    int // the offset of the next \r\n
}

func newCROffsets(content string) *crOffsets {
	o := &crOffsets{content: content}
	o.find(0)
	return o
}

// find finds the first \r\n at or after an offset.
func (o *crOffsets) find(from int) {
	o.next = math.MaxInt
	if i := strings.Index(o.content[from:], "\r\n"); i >= 0 {
		o.next = from + i
	}
}

// original returns the offset in the content. The offset of a line's end is before its \r. Offsets
// must not decrease from call to call.
func (o *crOffsets) original(offset int) int {
	for o.next-o.removed < offset {
		o.removed++
		o.find(o.next + len("\r\n"))
	}
	return offset + o.removed
}
