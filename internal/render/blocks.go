package render

import (
	"strconv"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdownParser parses CommonMark with GitHub's tables and ~~, and without references.
var markdownParser = sync.OnceValue(func() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(parser.DefaultBlockParsers()...),
		parser.WithInlineParsers(append(parser.DefaultInlineParsers(),
			util.Prioritized(twoTildes{extension.NewStrikethroughParser()}, 500))...),
		parser.WithParagraphTransformers(util.Prioritized(extension.NewTableParagraphTransformer(), 200)),
		parser.WithASTTransformers(util.Prioritized(extension.NewTableASTTransformer(), 0)),
	)
})

// twoTildes strikes out what stands between ~~. A single ~ stays as it is.
type twoTildes struct{ parser.InlineParser }

// Parse implements [parser.InlineParser].
func (t twoTildes) Parse(parent ast.Node, block text.Reader, pc parser.Context) ast.Node {
	if line, _ := block.PeekLine(); len(line) < 2 || line[1] != '~' {
		return nil
	}
	return t.InlineParser.Parse(parent, block, pc)
}

// container holds an open quote or list item.
type container struct {
	quote  bool
	marker string // of an item, until it is shown
	width  int    // of the marker
}

// show shows the lines that were held back.
func (m *Markdown) show() {
	if len(m.text) == 0 {
		return
	}
	empty := m.text[len(m.text)-1] == ""
	source := []byte(strings.Join(m.text, "\n") + "\n")
	m.text, m.size, m.list = m.text[:0], 0, 0
	m.blocks(markdownParser().Parse(text.NewReader(source)), source)
	m.due = m.due || empty
}

// blocks shows the blocks in a node. Empty lines between them stay.
func (m *Markdown) blocks(parent ast.Node, source []byte) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if n.PreviousSibling() != nil && n.HasBlankPreviousLines() {
			m.due, m.gap = true, strings.TrimRight(m.prefix(false), " ")
		}
		list, _ := n.(*ast.List)
		if list == nil && len(m.stack) == 0 {
			m.next = 0
		}
		switch n := n.(type) {
		case *ast.List:
			m.items(n, source)
		case *ast.Blockquote:
			m.inside(container{quote: true}, n, source)
		case *ast.Heading:
			look := strong
			if n.Level == 1 {
				look |= link
			}
			m.paragraph(n, look, source)
		case *ast.Paragraph, *ast.TextBlock:
			m.paragraph(n, 0, source)
		case *ast.ThematicBreak:
			columns := m.columns()
			if columns == 0 || columns > 40 {
				columns = 40
			}
			m.emit(m.style.paint(dim, strings.Repeat("─", columns)))
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			for _, line := range n.Lines().Sliced(0, n.Lines().Len()) {
				m.code(strings.TrimSuffix(string(line.Value(source)), "\n"))
			}
		case *ast.HTMLBlock:
			for _, line := range n.Lines().Sliced(0, n.Lines().Len()) {
				m.emit(strings.TrimRight(string(line.Value(source)), " \t\n"))
			}
			if n.HasClosure() {
				m.emit(strings.TrimRight(string(n.ClosureLine.Value(source)), " \t\n"))
			}
		case *extast.Table:
			m.emit(newTable(n, source).lines(m.style, m.columns())...)
		}
	}
}

// items shows the items of a list. The numbers of a list at the outermost level go on from those of
// the list before it, unless its own number is higher.
func (m *Markdown) items(list *ast.List, source []byte) {
	number := list.Start
	if len(m.stack) == 0 {
		number = max(number, m.next)
	}
	for n := list.FirstChild(); n != nil; n = n.NextSibling() {
		if n.PreviousSibling() != nil && n.HasBlankPreviousLines() {
			m.due, m.gap = true, strings.TrimRight(m.prefix(false), " ")
		}
		item := container{marker: "• "}
		if list.IsOrdered() {
			item.marker = strconv.Itoa(number) + ". "
		}
		item.width = Width(item.marker)
		m.inside(item, n, source)
		number++
	}
	if len(m.stack) > 0 {
		return
	}
	if m.next = number; !list.IsOrdered() {
		m.next = 0
	}
}

// inside shows the blocks in a container. A container within maxNesting others gets no mark.
func (m *Markdown) inside(c container, n ast.Node, source []byte) {
	if len(m.stack) == maxNesting {
		m.blocks(n, source)
		return
	}
	m.stack = append(m.stack, c)
	m.blocks(n, source)
	if m.stack[len(m.stack)-1].marker != "" { // an empty item
		m.emit("")
	}
	m.stack = m.stack[:len(m.stack)-1]
}

// prefix returns what begins a line in the open containers. The first line of an item has its
// marker.
func (m *Markdown) prefix(show bool) string {
	var b strings.Builder
	for i := range m.stack {
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
	m.due, m.gap, m.begun = false, "", true
	for _, line := range lines {
		m.out.WriteString(strings.TrimRight(m.prefix(true)+line, " ") + "\n")
	}
}

// paragraph shows a text with emphasis.
func (m *Markdown) paragraph(n ast.Node, look look, source []byte) {
	if pieces := inline(n, look, source); len(pieces) > 0 {
		m.emit(m.style.wrap(pieces, m.columns())...)
	}
}

// code shows a line of code.
func (m *Markdown) code(line string) {
	if line = strings.TrimRight(line, " \t"); line != "" {
		line = "  " + m.style.paint(cyan, line)
	}
	m.emit(line)
}
