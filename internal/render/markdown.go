package render

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/attractor-go/attractor/sanitize"
)

// Markdown turns the Markdown of a model into lines for a terminal, while it arrives: a block is finished when it is certain how it ends.
// What it returns does not depend on the pieces in which the text came. It takes linear time and bounded memory. HTML and references stay as
// they are written, and so does the text of code, which has an indent and nothing else around it.
type Markdown struct {
	style Style
	out   strings.Builder
	line  []byte // the beginning of a line

	stack    []container // from the outermost
	closed   container   // the outermost that has been closed, if only its siblings have followed
	closedAt int         // its place in the stack; -1 for none
	leaf     leaf
	text     []string // the lines of the leaf
	size     int      // of the text
	fence    fence
	table    *table
	begun    bool   // there is output
	due      bool   // an empty line has to come before the next block
	gap      string // that line
}

// container holds an open quote or list item.
type container struct {
	quote   bool
	indent  int    // columns of an item's content
	marker  string // of an item, until it is shown
	width   int    // of the marker
	ordered bool
	number  int
}

// leaf names the block in which the text stands.
type leaf uint8

const (
	none leaf = iota
	paragraph
	fenced
	indentedCode
	rows // of a table
	markup
)

// fence holds how a block of code began.
type fence struct {
	char   byte
	length int
	indent int
}

// The limits of what is held back: a longer line is broken, and a longer block is shown in parts.
const (
	maxHeldLine  = 16 << 10
	maxHeldBlock = 16 << 10
	maxNesting   = 12
	minColumns   = 10
)

// NewMarkdown returns a Markdown at the beginning of a text.
func NewMarkdown(style Style) *Markdown { return &Markdown{style: style, closedAt: -1} }

// Resize changes the width of the lines that follow.
func (m *Markdown) Resize(width int) { m.style.Width = width }

// Add takes the next piece of the text and returns the lines that it finishes, each with its end.
func (m *Markdown) Add(text string) string {
	for text != "" {
		n, whole := strings.IndexByte(text, '\n'), true
		if n < 0 {
			n, whole = len(text), false
		}
		if room := maxHeldLine - len(m.line); n >= room {
			m.line = append(m.line, text[:room]...)
			text = text[room:]
			m.breakLine()
			continue
		}
		m.line = append(m.line, text[:n]...)
		if !whole {
			break
		}
		text = text[n+1:]
		m.take(string(m.line))
		m.line = m.line[:0]
	}
	return m.flush()
}

// breakLine takes a line that is too long without its last character, which may be incomplete.
func (m *Markdown) breakLine() {
	cut := len(m.line) - 1
	for cut > len(m.line)-utf8.UTFMax && !utf8.RuneStart(m.line[cut]) {
		cut--
	}
	m.take(string(m.line[:cut]))
	m.line = append(m.line[:0], m.line[cut:]...)
}

// Rest returns the text that is not finished, as plain text.
func (m *Markdown) Rest() string {
	lines := m.text
	if m.leaf == rows {
		lines = m.table.source
	}
	if len(m.line) > 0 {
		line := m.line[max(0, len(m.line)-maxRest):]
		for len(line) > 0 && !utf8.RuneStart(line[0]) {
			line = line[1:]
		}
		lines = append(lines[:len(lines):len(lines)], sanitize.Text(string(line)))
	}
	from, size := len(lines), 0
	for from > 0 && size < maxRest {
		from--
		size += len(lines[from])
	}
	return strings.Join(lines[from:], "\n")
}

// maxRest limits the bytes of the lines that Rest returns, of which a screen shows a few rows many times a second.
const maxRest = 16 << 10

// End returns what is not finished as lines. What is added afterwards is a new text.
func (m *Markdown) End() string {
	if len(m.line) > 0 {
		m.take(string(m.line))
	}
	m.closeTo(0)
	text := m.flush()
	*m = Markdown{style: m.style, closedAt: -1}
	return text
}

func (m *Markdown) flush() string {
	text := m.out.String()
	m.out.Reset()
	return text
}

// take processes a line of the text.
func (m *Markdown) take(line string) {
	line = sanitize.Text(strings.TrimSuffix(line, "\r"))
	matched, rest := m.match(line)
	if m.leaf == fenced && matched == len(m.stack) {
		m.codeLine(rest)
		return
	}
	if strings.TrimSpace(rest) == "" {
		m.emptyLine(matched)
		return
	}
	if matched < len(m.stack) {
		if m.leaf == paragraph && !m.begins(rest) {
			m.hold(strings.TrimLeft(rest, " \t"))
			return
		}
		m.closeTo(matched)
	}
	m.block(m.nest(rest))
}

// match returns how many open containers a line continues, and what is left of it.
func (m *Markdown) match(line string) (matched int, rest string) {
	for i, c := range m.stack {
		switch {
		case c.quote:
			after, ok := cutQuote(line)
			if !ok {
				return i, line
			}
			line = after
		case strings.TrimSpace(line) == "":
		case indentOf(line) < c.indent:
			return i, line
		default:
			line = dropIndent(line, c.indent)
		}
	}
	return len(m.stack), line
}

// emptyLine processes a line without text. Lines of code keep it.
func (m *Markdown) emptyLine(matched int) {
	if m.leaf == indentedCode && matched == len(m.stack) {
		m.hold("")
		return
	}
	m.closeTo(matched)
	m.closeLeaf()
	if m.begun && !m.due {
		m.due, m.gap = true, strings.TrimRight(m.prefix(matched, false), " ")
	}
}

// nest opens the quotes and items that begin with a line, and returns what is left of it.
func (m *Markdown) nest(line string) string {
	for len(m.stack) < maxNesting {
		inItem := len(m.stack) > 0 && !m.stack[len(m.stack)-1].quote
		if indentOf(line) > 3 && !inItem {
			return line
		}
		if after, ok := cutQuote(line); ok {
			m.closeLeaf()
			m.push(container{quote: true})
			line = after
			continue
		}
		item, after, ok := cutMarker(line)
		if !ok || m.leaf == paragraph && (item.ordered && item.number != 1 || after == "") {
			return line
		}
		m.closeLeaf()
		m.push(m.numbered(item))
		line = after
	}
	return line
}

// numbered returns an item with its marker. An item after one with the same number or a higher one is the next.
func (m *Markdown) numbered(item container) container {
	item.marker = "• "
	if item.ordered {
		if before := m.closed; m.closedAt == len(m.stack) && before.ordered && item.number <= before.number {
			item.number = before.number + 1
		}
		item.marker = strconv.Itoa(item.number) + ". "
	}
	item.width = Width(item.marker)
	return item
}

// push opens a container.
func (m *Markdown) push(c container) {
	m.forget(len(m.stack))
	m.stack = append(m.stack, c)
}

// forget forgets the closed item if something else than a sibling begins at a depth.
func (m *Markdown) forget(depth int) {
	if m.closedAt >= depth {
		m.closedAt = -1
	}
}

// closeTo closes the leaf if it stands in a container that ends, and all but n containers.
func (m *Markdown) closeTo(n int) {
	if n == len(m.stack) {
		if n == 0 {
			m.closeLeaf()
		}
		return
	}
	m.closeLeaf()
	for i := len(m.stack) - 1; i >= n; i-- {
		if m.stack[i].marker != "" { // an empty item
			m.emit("")
		}
		m.closed, m.closedAt = m.stack[i], i
		m.stack = m.stack[:i]
	}
}

// prefix returns what begins a line in the first n containers. The first line of an item has its marker.
func (m *Markdown) prefix(n int, show bool) string {
	var b strings.Builder
	for i := range m.stack[:n] {
		c := &m.stack[i]
		switch {
		case c.quote:
			b.WriteString(m.style.paint(dim, "│") + " ")
		case show && c.marker != "":
			b.WriteString(c.marker)
			c.marker = ""
		default:
			b.WriteString(strings.Repeat(" ", c.width))
		}
	}
	return b.String()
}

// columns returns the width that is left for a block, 0 for any.
func (m *Markdown) columns() int {
	if m.style.Width == 0 {
		return 0
	}
	used := 0
	for _, c := range m.stack {
		if used += c.width; c.quote {
			used += 2
		}
	}
	return max(m.style.Width-used, minColumns)
}

// emit appends lines of the current block to the output.
func (m *Markdown) emit(lines ...string) {
	if m.due {
		m.out.WriteString(m.gap + "\n")
	}
	m.due, m.begun = false, true
	for _, line := range lines {
		m.out.WriteString(strings.TrimRight(m.prefix(len(m.stack), true)+line, " ") + "\n")
	}
}

// hold adds a line to the leaf. A leaf that has become too large is shown.
func (m *Markdown) hold(line string) {
	m.text = append(m.text, line)
	if m.size += len(line) + 1; m.size > maxHeldBlock {
		kind := m.leaf
		m.closeLeaf()
		m.leaf = kind
	}
}

// closeLeaf shows the block that ends here.
func (m *Markdown) closeLeaf() {
	text := m.text
	switch m.leaf {
	case paragraph:
		if len(text) > 0 {
			m.paragraph(strings.Join(text, "\n"), 0)
		}
	case rows:
		m.emit(m.table.lines(m.style, m.columns())...)
		m.table = nil
	case indentedCode:
		m.indented(text)
	}
	m.leaf, m.text, m.size = none, m.text[:0], 0
}

// indented shows indented code. Empty lines at its end separate it from what follows.
func (m *Markdown) indented(text []string) {
	all := len(text)
	for len(text) > 0 && text[len(text)-1] == "" {
		text = text[:len(text)-1]
	}
	for _, line := range text {
		m.code(line)
	}
	if len(text) < all {
		m.due, m.gap = true, strings.TrimRight(m.prefix(len(m.stack), false), " ")
	}
}

// paragraph shows a text with emphasis.
func (m *Markdown) paragraph(text string, all look) {
	pieces := inline(text)
	for i := range pieces {
		pieces[i].look |= all
	}
	m.emit(m.style.wrap(pieces, m.columns())...)
}

// code shows a line of code.
func (m *Markdown) code(line string) {
	if line = strings.TrimRight(line, " \t"); line != "" {
		line = "  " + m.style.paint(cyan, line)
	}
	m.emit(line)
}
