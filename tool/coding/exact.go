package coding

import "strings"

// findExact finds the text exactly, except that a line ending matches either kind. It searches the
// content itself, because a copy of a long one would cost more than the rest of the edit.
func findExact(e edit, content string) []place {
	if e.old == "" { // refused by check
		return nil
	}
	a := anchorOf(e.old)
	var places []place
	end := 0 // end of the last place
	for from := 0; from < len(content) && len(places) <= maxPlaces; {
		hit := strings.Index(content[from:], a.text)
		if hit < 0 {
			break
		}
		hit += from
		from = hit + 1
		s, ok := a.around(content, hit)
		// without all, overlapping matches count too, because either could be meant
		if ok && (s.start >= end || !e.all) {
			places = append(places, place{s, e.new})
			if end = s.end; e.all {
				from = max(from, end)
			}
		}
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
