package render

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/attractor-go/attractor/sanitize"
)

// Markdown turns the Markdown of a model into lines for a terminal, while it arrives: what cannot
// change any more is shown, such as a line of code, a paragraph that has ended, and an item of a
// list that is followed by the next one. What it returns does not depend on the pieces in which the
// text came. Its memory is bounded. HTML and link references stay as they are written. Code is
// indented, without its fence.
type Markdown struct {
	style Style
	out   strings.Builder
	line  []byte // the beginning of a line

	text  []string // the lines that are not shown yet
	size  int      // of the text
	list  int      // the column at which the text of an item begins, if the text is one; else 0
	fence fence    // of the code in which the text stands, outside of lists and quotes
	next  int      // the number of the next item of the list that may go on; 0 if there is none

	stack []container // from the outermost
	begun bool        // there is output
	due   bool        // an empty line has to come before the next block
	gap   string      // that line
}

// The limits of what is held back: a longer line is broken, and a longer text is shown in parts.
const (
	maxHeldLine = 16 << 10
	maxHeld     = 32 << 10
	minLine     = 32 // the least size that a line counts with, because an empty one takes memory too
	maxNesting  = 12 // quotes and items that begin with one line
	minColumns  = 10
)

// NewMarkdown returns a Markdown at the beginning of a text.
func NewMarkdown(style Style) *Markdown { return &Markdown{style: style} }

// Resize changes the width of the lines that follow.
func (m *Markdown) Resize(width int) { m.style.Width = width }

// Add adds the next piece of the text and returns the lines that it finishes, each with its end.
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

// breakLine processes a line that is too long, but for its last character, which may be incomplete.
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

// maxRest limits the bytes of the lines that Rest returns, of which a screen shows a few rows many
// times a second.
const maxRest = 16 << 10

// End returns what is not finished as lines. What is added afterwards is a new text.
func (m *Markdown) End() string {
	if len(m.line) > 0 {
		m.take(string(m.line))
	}
	m.show()
	text := m.flush()
	*m = Markdown{style: m.style}
	return text
}

func (m *Markdown) flush() string {
	text := m.out.String()
	m.out.Reset()
	return text
}

// take processes a line of the text. It shows the lines before it if they cannot change any more.
func (m *Markdown) take(line string) {
	line = sanitize.Text(strings.TrimSuffix(line, "\r"))
	indent := indentOf(line)
	switch {
	case m.fence.length > 0:
		m.codeLine(line)
		return
	case strings.TrimSpace(line) == "":
		m.emptyLine()
		return
	}
	inItem := m.list > 0 && indent >= m.list
	if m.list > 0 && !inItem && m.text[len(m.text)-1] == "" {
		m.show()
	}
	if f := fenceOf(line); f.length > 0 && !inItem {
		m.show()
		m.fence, m.next = f, 0
		return
	}
	if column := itemOf(line, m.list == 0 && len(m.text) > 0); column > 0 && !inItem && indent <= 3 {
		m.show()
		m.list = column
	}
	m.hold(flat(line))
}

// nested matches the marks of too many quotes and items at the beginning of a line.
var nested = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(fmt.Sprintf(`^(?:[ \t]*(?:>|[-+*][ \t]|\d{1,9}[.)][ \t])){%d}`, maxNesting))
})

// flat returns a line in which the marks of too many quotes and items are text, because they would
// take long to parse.
func flat(line string) string {
	marks := nested().FindString(line)
	if marks == "" || strings.Trim(line, "- ") == "" || strings.Trim(line, "* ") == "" { // a rule
		return line
	}
	return marks + `\` + line[len(marks):]
}

// emptyLine processes a line without text. It ends every block but a list, which may go on.
func (m *Markdown) emptyLine() {
	if m.list > 0 {
		m.hold("")
		return
	}
	m.show()
	m.due = m.begun
}

// hold adds a line to the text. A text that has become too large is shown.
func (m *Markdown) hold(line string) {
	m.text = append(m.text, line)
	if m.size += max(len(line), minLine); m.size > maxHeld {
		m.show()
	}
}

// codeLine processes a line of fenced code.
func (m *Markdown) codeLine(line string) {
	f := m.fence
	mark := strings.TrimSpace(line)
	if indentOf(line) < 4 && len(mark) >= f.length && strings.Trim(mark, f.char) == "" {
		m.fence = fence{}
		return
	}
	m.code(dropIndent(line, f.indent))
}

// fence holds how a block of code began.
type fence struct {
	char   string
	length int
	indent int
}

// fenceOf returns the fence that a line consists of. Its length is 0 if the line is not a fence.
func fenceOf(line string) fence {
	f := fence{indent: indentOf(line)}
	line = strings.TrimLeft(line, " ")
	if f.indent > 3 || line == "" || line[0] != '`' && line[0] != '~' {
		return fence{}
	}
	f.char = line[:1]
	info := strings.TrimLeft(line, f.char)
	f.length = len(line) - len(info)
	if f.length < 3 || f.char == "`" && strings.Contains(info, "`") {
		return fence{}
	}
	return f
}

// itemOf returns the column at which the text of a list's item begins, or 0 if the line begins no
// item. Only some items can interrupt a paragraph.
func itemOf(line string, interrupts bool) int {
	mark, text, _ := strings.Cut(strings.TrimLeft(line, " "), " ")
	number := strings.TrimRight(mark, ".)")
	switch {
	case mark == "-" || mark == "+" || mark == "*":
	case len(number) == len(mark)-1 && len(number) <= 9 && strings.Trim(number, "0123456789") == "" && number != "":
		if interrupts && number != "1" {
			return 0
		}
	default:
		return 0
	}
	if interrupts && strings.TrimSpace(text) == "" {
		return 0
	}
	space := indentOf(text)
	if space > 3 || strings.TrimSpace(text) == "" {
		space = 0
	}
	return indentOf(line) + len(mark) + 1 + space
}

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

// dropIndent returns a line without its first spaces, at most as many as columns.
func dropIndent(line string, columns int) string {
	for columns > 0 && strings.HasPrefix(line, " ") {
		line = line[1:]
		columns--
	}
	return line
}
