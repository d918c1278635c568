package render

import "strings"

// The columns of a list: of the names, of the space in front of each line, and the least that texts get beside the names.
const (
	entryName   = 28
	entryIndent = 2
	entryText   = 30
)

// Entry returns an entry of a list as lines: a name and a text about it, both clean. The text is wrapped at words in a column beside the name, or below the
// name where the style's width leaves too little room. Without a name it has all columns, and its further lines are indented.
func (s Style) Entry(name, text string) string {
	indent, first := entryIndent+entryName+1, strings.Repeat(" ", entryIndent)+name
	switch {
	case name == "":
		indent, first = 2*entryIndent, first[:entryIndent]
	case s.Width > 0 && s.Width < indent+entryText:
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
