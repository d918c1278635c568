package coding

import "strings"

// findExact finds the text exactly, except that a line ending matches either kind. It searches the
// content itself, because a copy of a long one would cost more than the rest of the edit.
func findExact(e edit, content string) []place {
	if e.old == "" { // refused by check
		return nil
	}
	a := anchorOf(e.old)
	finder := newFinder(content, a.text)
	var places []place
	end := 0 // end of the last place
	for hit := finder.next(0); hit >= 0 && len(places) <= maxPlaces; {
		next := hit + 1
		s, ok := a.around(content, hit)
		// without all, overlapping matches count too, because either could be meant
		if ok && (s.start >= end || !e.all) {
			places = append(places, place{s, e.new})
			if end = s.end; e.all {
				next = max(next, end)
			}
		}
		hit = finder.next(next)
	}
	return places
}

// anchor holds the longest line of a text, which is searched first.
type anchor struct {
	text          string
	before, after string // in the old text: before ends with a newline, after begins with one
}

// anchorOf returns the anchor of an old text that is not empty.
func anchorOf(old string) anchor {
	var a anchor
	at := 0
	for line := range strings.SplitSeq(old, "\n") {
		if len(line) > len(a.text) {
			a = anchor{line, old[:at], old[at+len(line):]}
		}
		at += len(line) + 1
	}
	if a.text == "" { // nothing but newlines
		a = anchor{"\n", "", old[1:]}
	}
	return a
}

// around returns the span of the whole text if its anchor is at an offset and the rest matches.
func (a anchor) around(content string, at int) (span, bool) {
	end, ok := forward(content, at+len(a.text), a.after)
	if !ok {
		return span{}, false
	}
	start, ok := backward(content, at, a.before)
	if a.text == "\n" && start > 0 && content[start-1] == '\r' {
		start--
	}
	return span{start, end}, ok
}

// forward matches a text from an offset on and returns where it ends. A newline matches either line
// ending. Half of a \r\n matches nothing.
func forward(content string, at int, text string) (int, bool) {
	for i := 0; ; {
		line, _, more := strings.Cut(text[i:], "\n")
		if !strings.HasPrefix(content[at:], line) {
			return 0, false
		}
		at += len(line)
		if !more {
			return at, !splitsCRLF(content, at)
		}
		i += len(line) + 1
		switch {
		case strings.HasPrefix(content[at:], "\r\n"):
			at += len("\r\n")
		case strings.HasPrefix(content[at:], "\n") && !splitsCRLF(content, at):
			at++
		default:
			return 0, false
		}
	}
}

// splitsCRLF reports whether an offset is between the two bytes of a \r\n.
func splitsCRLF(content string, at int) bool {
	return at > 0 && at < len(content) && content[at] == '\n' && content[at-1] == '\r'
}

// backward matches a text that ends at an offset and returns where it starts. The text is empty or
// ends with a newline.
func backward(content string, at int, text string) (int, bool) {
	for text != "" {
		if at == 0 || content[at-1] != '\n' {
			return 0, false
		}
		if at--; at > 0 && content[at-1] == '\r' {
			at--
		}
		text = text[:len(text)-1]
		line := text[strings.LastIndexByte(text, '\n')+1:]
		if !strings.HasSuffix(content[:at], line) {
			return 0, false
		}
		at -= len(line)
		text = text[:len(text)-len(line)]
	}
	return at, true
}

// finder searches for a text by its byte that is rarest in the content.
type finder struct {
	content, text string
	rare          int  // the byte's index in the text
	common        bool // no byte is rare enough for strings.IndexByte
}

const (
	samples    = 64   // of a content, for counting bytes
	sampleSize = 1024 // bytes each
	rareEnough = 24   // bytes between two occurrences, on average, that make strings.IndexByte worth a call
)

// newFinder returns a finder for a text that is not empty. It counts the bytes of some samples of
// the content.
func newFinder(content, text string) finder {
	var counts [256]int
	step := max(sampleSize, len(content)/samples)
	total := 0
	for at := 0; at < len(content); at += step {
		sample := content[at:min(at+sampleSize, len(content))]
		total += len(sample)
		for i := range len(sample) {
			counts[sample[i]]++
		}
	}
	f := finder{content: content, text: text}
	for i := range len(text) {
		if counts[text[i]] < counts[text[f.rare]] {
			f.rare = i
		}
	}
	f.common = counts[text[f.rare]]*rareEnough > total
	return f
}

// next returns the offset of the first occurrence from an offset on, or -1.
func (f finder) next(from int) int {
	if from > len(f.content) {
		return -1
	}
	if f.common {
		if i := strings.Index(f.content[from:], f.text); i >= 0 {
			return from + i
		}
		return -1
	}
	for at := from + f.rare; at < len(f.content); at++ {
		i := strings.IndexByte(f.content[at:], f.text[f.rare])
		if i < 0 {
			return -1
		}
		at += i
		if strings.HasPrefix(f.content[at-f.rare:], f.text) {
			return at - f.rare
		}
	}
	return -1
}
