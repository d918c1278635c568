package render

import (
	"strconv"
	"strings"
)

// indentOf returns the columns of white space at the beginning of a line.
func indentOf(line string) int {
	n := 0
	for i := range len(line) {
		switch line[i] {
		case ' ':
			n++
		case '\t':
			n += 4 - n%4
		default:
			return n
		}
	}
	return n
}

// dropIndent returns a line without so many columns of white space, of which it may have fewer.
func dropIndent(line string, columns int) string {
	n := 0
	for i := range len(line) {
		if n >= columns || line[i] != ' ' && line[i] != '\t' {
			return strings.Repeat(" ", n-min(n, columns)) + line[i:]
		}
		if line[i] == ' ' {
			n++
		} else {
			n += 4 - n%4
		}
	}
	return strings.Repeat(" ", max(n-columns, 0))
}

// cutQuote returns a line of a quote without its mark.
func cutQuote(line string) (rest string, ok bool) {
	if indentOf(line) > 3 {
		return line, false
	}
	rest, ok = strings.CutPrefix(strings.TrimLeft(line, " "), ">")
	if !ok {
		return line, false
	}
	return strings.TrimPrefix(rest, " "), true
}

// cutMarker returns the list item that a line begins, and what follows its marker.
func cutMarker(line string) (item container, rest string, ok bool) {
	indent := indentOf(line)
	line = strings.TrimLeft(line, " \t")
	if isRule(line) {
		return item, "", false
	}
	n := 0
	for n < len(line) && n < 9 && line[n] >= '0' && line[n] <= '9' {
		n++
	}
	if n > 0 {
		item.ordered = true
		item.number, _ = strconv.Atoi(line[:n]) // it has at most nine digits
	}
	if n == len(line) || item.ordered && line[n] != '.' && line[n] != ')' || !item.ordered && strings.IndexByte("-+*", line[n]) < 0 {
		return item, "", false
	}
	rest = line[n+1:]
	if rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return item, "", false
	}
	space := indentOf(rest)
	if space > 4 || strings.TrimSpace(rest) == "" {
		space = 1
	}
	item.indent = indent + n + 1 + space
	return item, dropIndent(rest, space), true
}

// isRule reports whether a line is a thematic break.
func isRule(line string) bool {
	line = strings.TrimSpace(line)
	if line == "" || strings.IndexByte("-*_", line[0]) < 0 {
		return false
	}
	n := 0
	for i := range len(line) {
		switch line[i] {
		case line[0]:
			n++
		case ' ', '\t':
		default:
			return false
		}
	}
	return n >= 3
}

// heading returns the level and the text of a heading.
func heading(line string) (level int, text string) {
	line = strings.TrimSpace(line)
	level = runOf(line, '#')
	if level == 0 || level > 6 || level < len(line) && line[level] != ' ' && line[level] != '\t' {
		return 0, ""
	}
	text = strings.TrimSpace(line[level:])
	if bare := strings.TrimRight(text, "#"); bare == "" || strings.HasSuffix(bare, " ") {
		text = strings.TrimRight(bare, " ")
	}
	return level, text
}

// fenceOf returns the fence that a line consists of. Its length is 0 if the line is not a fence.
func fenceOf(line string) fence {
	f := fence{indent: indentOf(line)}
	line = strings.TrimLeft(line, " ")
	if f.indent > 3 || line == "" || line[0] != '`' && line[0] != '~' {
		return fence{}
	}
	f.char, f.length = line[0], runOf(line, line[0])
	if f.length < 3 || f.char == '`' && strings.Contains(line[f.length:], "`") {
		return fence{}
	}
	return f
}

// begins reports whether a line begins a block that ends a paragraph.
func (m *Markdown) begins(line string) bool {
	if indentOf(line) > 3 {
		return false
	}
	level, _ := heading(line)
	_, quote := cutQuote(line)
	_, _, item := cutMarker(line)
	return level > 0 || quote || item || isRule(line) || fenceOf(line).length > 0
}

// block processes a line that stands in all open containers.
func (m *Markdown) block(line string) {
	if m.leaf == rows && m.table.add(line) {
		return
	}
	if m.leaf == paragraph && m.underlined(line) {
		return
	}
	if m.leaf == markup {
		m.emit(strings.TrimRight(line, " \t"))
		return
	}
	if m.leaf == rows {
		m.closeLeaf()
	}
	if m.leaf == indentedCode {
		if indentOf(line) > 3 {
			m.hold(dropIndent(line, 4))
			return
		}
		m.closeLeaf()
	}
	if strings.TrimSpace(line) == "" { // an item or a quote without text so far
		return
	}
	m.forget(len(m.stack))
	m.begin(line)
}

// underlined processes a line that makes a heading or a table of the paragraph before it.
func (m *Markdown) underlined(line string) bool {
	if len(m.text) == 0 {
		return false
	}
	mark := strings.TrimSpace(line)
	if t := newTable(m.text[len(m.text)-1], line); t != nil {
		m.text = m.text[:len(m.text)-1]
		m.closeLeaf()
		m.leaf, m.table = rows, t
		return true
	}
	if indentOf(line) > 3 || strings.Trim(mark, "=") != "" && strings.Trim(mark, "-") != "" {
		return false
	}
	text := strings.Join(m.text, "\n")
	m.leaf, m.text, m.size = none, m.text[:0], 0
	m.heading(1+asInt(mark[0] == '-'), text)
	return true
}

// begin processes a line that begins a block, or continues a paragraph.
func (m *Markdown) begin(line string) {
	if m.leaf != paragraph && indentOf(line) > 3 {
		m.leaf = indentedCode
		m.hold(dropIndent(line, 4))
		return
	}
	if indentOf(line) <= 3 {
		if f := fenceOf(line); f.length > 0 {
			m.closeLeaf()
			m.leaf, m.fence = fenced, f
			return
		}
		if level, text := heading(line); level > 0 {
			m.closeLeaf()
			m.heading(level, text)
			return
		}
		if isRule(line) {
			m.closeLeaf()
			m.emit(m.style.paint(dim, strings.Repeat("─", min(columnsOr(m.columns(), 40), 40))))
			return
		}
	}
	text := strings.TrimLeft(line, " \t")
	if m.leaf != paragraph && isMarkup(text) {
		m.leaf = markup
		m.emit(strings.TrimRight(line, " \t"))
		return
	}
	if m.leaf != paragraph {
		m.leaf = paragraph
		text = m.checkbox(text)
	}
	m.hold(text)
}

func columnsOr(columns, other int) int {
	if columns == 0 {
		return other
	}
	return columns
}

// heading shows a heading.
func (m *Markdown) heading(level int, text string) {
	look := strong
	if level == 1 {
		look |= link
	}
	if text != "" {
		m.paragraph(text, look)
	}
}

// checkbox returns the text of a task without its box, which becomes a part of its marker.
func (m *Markdown) checkbox(text string) string {
	if len(m.stack) == 0 || len(text) < 4 || text[0] != '[' || text[2] != ']' || text[3] != ' ' {
		return text
	}
	c := &m.stack[len(m.stack)-1]
	if c.marker == "" || strings.IndexByte(" xX", text[1]) < 0 {
		return text
	}
	box := strings.ToLower(text[:4])
	if c.marker += box; !c.ordered {
		c.marker = box
	}
	c.width = Width(c.marker)
	return text[4:]
}

// isMarkup reports whether a line begins a block of HTML, whose lines stay as they are up to an empty one.
func isMarkup(line string) bool {
	if len(line) < 3 || line[0] != '<' || line[1] != '!' && line[1] != '/' && line[1] != '?' && !isLetter(line[1]) {
		return false
	}
	name := strings.TrimLeft(strings.TrimPrefix(line[1:], "/"), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-!?")
	return name == "" || strings.IndexByte(" \t/>", name[0]) >= 0
}

// codeLine processes a line of fenced code.
func (m *Markdown) codeLine(line string) {
	f := m.fence
	if mark := strings.TrimSpace(line); indentOf(line) < 4 && len(mark) >= f.length && runOf(mark, f.char) == len(mark) {
		m.leaf = none
		return
	}
	m.code(dropIndent(line, min(f.indent, indentOf(line))))
}
