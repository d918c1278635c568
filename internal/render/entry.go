package render

import "strings"

// The columns of a list: of the names, of the space in front of each line, and the least that texts
// get beside the names.
const (
	entryName   = 28
	entryIndent = 2
	entryText   = 30
)

// Entry returns an entry of a list as lines: a name and a text about it, both clean. The text is
// wrapped at words in a column beside the name, or below the name where the style's width leaves
// too little room, also for its longest word. Without a name it has all columns, and its further
// lines are indented.
func (s Style) Entry(name, text string) string {
	indent, first := entryIndent+entryName+1, strings.Repeat(" ", entryIndent)+name
	switch {
	case name == "":
		indent, first = 2*entryIndent, first[:entryIndent]
	case s.Width > 0 && s.Width < indent+max(entryText, longestWord(text)):
		indent, first = 2*entryIndent, first+"\n"+strings.Repeat(" ", 2*entryIndent)
	default:
		first += strings.Repeat(" ", max(indent-Width(first), 1))
	}
	width := 0
	if s.Width > 0 {
		width = max(s.Width-indent, minColumns)
	}
	lines := s.wrap([]piece{{text: text}}, width)
	return strings.TrimRight(first+strings.Join(lines, "\n"+strings.Repeat(" ", indent)), " ") + "\n"
}

// longestWord returns how many columns the longest word of a text takes.
func longestWord(text string) (columns int) {
	for word := range strings.FieldsSeq(text) {
		columns = max(columns, Width(word))
	}
	return columns
}

// Warning returns a warning. Its lines are wrapped at words, where the style has a width.
func (s Style) Warning(text string) string { return s.note("!", text) }

// note returns a text with a mark in front, in the color of what a person should know.
func (s Style) note(mark, text string) string {
	lines := s.marked(mark, text)
	for i, line := range lines {
		lines[i] = s.paint(amber, line)
	}
	return strings.Join(lines, "\n")
}

// marked returns the lines of a text with a mark in front of the first. The others stand below its
// text, and what is indented stays so.
func (s Style) marked(mark, text string) []string {
	if s.Width <= 0 {
		return strings.Split(mark+" "+text, "\n")
	}
	indent := strings.Repeat(" ", Width(mark)+1)
	lines := s.indented(indent, text)
	lines[0] = strings.TrimRight(mark+" "+strings.TrimPrefix(lines[0], indent), " ")
	return lines
}

// Prose returns a text whose lines are wrapped at words, where the style has a width. What is
// indented stays so.
func (s Style) Prose(text string) string {
	if s.Width <= 0 {
		return text
	}
	return strings.Join(s.indented("", text), "\n")
}

// indented returns the lines of a text, wrapped at words, with an indent in front of what they
// have.
func (s Style) indented(indent, text string) (lines []string) {
	for line := range strings.SplitSeq(text, "\n") {
		body := strings.TrimLeft(line, " ")
		before := indent + line[:len(line)-len(body)]
		for _, l := range s.wrap([]piece{{text: body}}, max(s.Width-len(before), minColumns)) {
			lines = append(lines, strings.TrimRight(before+l, " "))
		}
	}
	return lines
}
