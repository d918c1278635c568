package coding

import "strings"

// edit holds a replacement of text in a file's content.
type edit struct {
	old, new string
	all      bool // replace every occurrence; otherwise there must be just one
}

const (
	// maxPlaces limits the places of an edit, which take about 100 bytes each.
	maxPlaces = 1 << 20
	// maxDividedBytes is the largest content that edits divide into lines, of which they hold a few
	// copies.
	maxDividedBytes = 16 << 20
	// maxNewText limits the new texts of the places that a matcher makes: with more, any file would
	// become larger than maxWholeBytes.
	maxNewText = 2 * maxWholeBytes
)

// span holds the offsets of a part of a text.
type span struct{ start, end int }

// place holds where an edit's old text was found, and its replacement.
type place struct {
	span
	text string // with \n for line endings
}

// matchResult holds the places where an edit's old text was found.
type matchResult struct {
	places []place // at most maxPlaces+1, in the order of the content; they do not overlap if the edit is for all
	// how names the differences that were ignored, such as indentation, for the result. It is empty
	// if only line endings differ.
	how  string
	note string // what was done about them, to follow how in the result of the edit
}

// spans returns the places without their texts.
func (m matchResult) spans() []span {
	var spans []span
	for _, p := range m.places {
		spans = append(spans, p.span)
	}
	return spans
}

// matcher holds one way of finding an old text.
type matcher struct {
	how  string                            // what is ignored
	note string                            // what is done about it when the edit is made
	find func(e edit, text string) []place // text has \n for line endings
}

// matchers returns the ways of finding an old text, in the order in which they are tried:
//
//  1. The exact text matches anywhere, also in the middle of a line. Line endings are ignored,
//     since models do not see them.
//  2. White space at the ends of lines, and a newline that the file's last line lacks, are ignored.
//     2, 3 and 5 compare whole lines, so that nothing else on those lines can get lost, and need an
//     old text that is not blank.
//  3. Indentation is ignored too, if one rule turns the old text's into the file's on all lines:
//     more, less, or another unit (tabs for spaces, four spaces for two). The same rule is applied
//     to the new text; see fuzzy.Indent.
//  4. Typographic characters (dashes, quotes, spaces, full-width forms) match those of a keyboard
//     and the reverse, anywhere.
//  5. The differences of 2, 3 and 4 are ignored together.
//
// Nothing else is ignored: no letter, no other punctuation, no additional or missing line.
func matchers() []matcher {
	return []matcher{
		{"", "", occurrences},
		{"white space at the ends of lines", "", lineFinder{}.find},
		{"indentation", ", to which new_string was adapted", lineFinder{reindent: true}.find},
		{"typographic characters such as quotes, dashes and special spaces", "", findPlain},
		{"white space and typographic characters", "", lineFinder{reindent: true, plain: true}.find},
	}
}

// match finds an edit's old text. The first matcher that finds something decides, even if what it
// finds is ambiguous: that is an error, unless the edit is for all. So a laxer matcher never adds
// to a stricter one. Lines at the beginning and end that the new text shares with the old one stay
// as they are in the file.
func (e edit) match(content string) matchResult {
	e.old, e.new = toLF(e.old), toLF(e.new)
	text := toLF(content)
	for i, m := range matchers() {
		if i > 0 && onlyExact(content) {
			break
		}
		places := m.find(e, text)
		if len(places) == 0 {
			continue
		}
		if len(text) < len(content) {
			starts, ends := newCROffsets(content), newCROffsets(content)
			for i, p := range places {
				places[i].span = span{starts.original(p.start), ends.original(p.end)}
			}
		}
		return matchResult{places, m.how, m.note}
	}
	return matchResult{}
}

// onlyExact reports whether a content is too large for the matchers that divide it into lines.
func onlyExact(content string) bool {
	return len(content) > maxDividedBytes || strings.Count(content, "\n") > maxLines
}

// occurrences returns the places of the old text in another text.
func occurrences(e edit, text string) []place {
	if e.old == "" { // refused by check
		return nil
	}
	var places []place
	for at := 0; at <= len(text) && len(places) <= maxPlaces; {
		i := strings.Index(text[at:], e.old)
		if i < 0 {
			break
		}
		start := at + i
		places = append(places, place{span{start, start + len(e.old)}, e.new})
		if at = start + 1; e.all { // without all, overlapping matches count too, because either could be meant
			at = start + len(e.old)
		}
	}
	return places
}

// sizeAfter returns the bytes of a content after its places were replaced, without the carriage
// returns of new lines.
func sizeAfter(content string, places []place) int {
	size := len(content)
	for _, p := range places {
		size += len(p.text) - (p.end - p.start)
	}
	return size
}

// apply replaces the places and returns the new content with the spans of the new texts.
func (e edit) apply(content string, places []place) ([]byte, []span) {
	texts := withLineEndings(content, places)
	edited := make([]byte, 0, sizeAfter(content, places))
	placed := make([]span, len(places))
	end := 0
	for i, p := range places {
		edited = append(edited, content[end:p.start]...)
		placed[i].start = len(edited)
		edited = append(edited, texts[i]...)
		placed[i].end = len(edited)
		end = p.end
	}
	return append(edited, content[end:]...), placed
}
