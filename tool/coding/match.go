package coding

import "strings"

// edit is the replacement of a text in a file's content.
type edit struct {
	old, new string
	all      bool // every occurrence, not the only one
}

// span is a part of a text, by offsets.
type span struct{ start, end int }

// place is where an edit's old text was found, and what belongs there.
type place struct {
	span
	text string // with \n for line endings
}

// matchResult is how an edit's old text was found in a content.
type matchResult struct {
	places []place // in the content, in order, none overlapping another if the edit is for all
	// how says what was overlooked, as in "but for ...". Empty when nothing was but line endings. The result reports it.
	how string
}

// spans are the places without their texts.
func (m matchResult) spans() []span {
	var spans []span
	for _, p := range m.places {
		spans = append(spans, p.span)
	}
	return spans
}

// matcher is one way of finding an old text.
type matcher struct {
	how  string
	find func(e edit, view lfView) []place
}

// matchers are the ways of finding an old text, in the order in which they are tried. The first, which is not in the list, is
// findExact:
//
//  1. Exact, at any place, also in the middle of a line, but for line endings, which models do not see.
//  2. But for white space at the ends of lines, and but for a newline that the file's last line lacks. From here on, unless said
//     otherwise, whole lines are compared, so that nothing before or behind the text on its lines can get lost, and the old
//     text must have more than white space in it.
//  3. But for indentation too, if one rule turns the old text's into the file's on all lines: more in front, less in front, or
//     another unit (tabs for spaces, four spaces for two). The same rule is applied to the new text; see fuzzy.Indent.
//  4. But for typographic characters (dashes, quotes, spaces, full-width forms) where the old text has those of a keyboard, or
//     the reverse, at any place.
//  5. But for all of these together.
//
// Nothing else is overlooked: no letter, no other punctuation, no line more or less.
func matchers() []matcher {
	return []matcher{
		{"white space at the ends of lines", lineFinder{}.find},
		{"indentation, to which new_string was adapted", lineFinder{reindent: true}.find},
		{"typographic characters such as quotes, dashes and special spaces", findPlain},
		{"white space and typographic characters", lineFinder{reindent: true, plain: true}.find},
	}
}

// match finds an edit's old text. The first step that finds something decides, also when what it finds is not unique: then that
// is an error, unless the edit is for all, which means all that this one step finds. So a laxer step never adds to a stricter
// one. Lines that the new text has in common with the old one at its beginning and end stay as they are in the file.
func (e edit) match(content string) matchResult {
	e.old, e.new = toLF(e.old), toLF(e.new)
	if places := findExact(e, content); len(places) > 0 {
		return matchResult{places: places}
	}
	view := viewLF(content)
	for _, s := range matchers() {
		places := s.find(e, view)
		if len(places) == 0 {
			continue
		}
		for i, p := range places {
			places[i].span = span{view.original(p.start), view.original(p.end)}
		}
		return matchResult{places, s.how}
	}
	return matchResult{}
}

// occurrences finds the old text in another.
func occurrences(e edit, text string) []place {
	var places []place
	for at := 0; at <= len(text); {
		i := strings.Index(text[at:], e.old)
		if i < 0 {
			break
		}
		start := at + i
		places = append(places, place{span{start, start + len(e.old)}, e.new})
		if at = start + 1; e.all { // else overlapping ones count, too: which of them is meant cannot be told
			at = start + len(e.old)
		}
	}
	return places
}

// apply replaces the places by their new texts and returns the new content with where the new texts are in it.
func (e edit) apply(content string, places []place) ([]byte, []span) {
	texts := withLineEndings(content, places)
	size := len(content)
	for i, p := range places {
		size += len(texts[i]) - (p.end - p.start)
	}
	edited := make([]byte, 0, size)
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
