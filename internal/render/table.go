package render

import (
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"
	extast "github.com/yuin/goldmark/extension/ast"
)

// table holds a table, whose columns depend on all rows.
type table struct {
	align  []extast.Alignment
	header [][]piece
	rows   [][][]piece
}

// newTable returns the table of a node.
func newTable(n *extast.Table, source []byte) *table {
	t := &table{align: n.Alignments}
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		_, header := row.(*extast.TableHeader)
		var own look
		if header {
			own = strong
		}
		cells := make([][]piece, len(t.align))
		i := 0
		for cell := row.FirstChild(); cell != nil && i < len(cells); cell = cell.NextSibling() {
			cells[i] = inline(cell, own, source)
			i++
		}
		if header {
			t.header = cells
		} else {
			t.rows = append(t.rows, cells)
		}
	}
	return t
}

// widthOf returns the columns of a cell.
func widthOf(cell []piece) int {
	n := 0
	for _, p := range cell {
		n += Width(p.text)
	}
	return n
}

// The columns between two cells, and the least that a column gets.
const (
	between   = 2
	minColumn = 10
)

// lines returns the table in at most this many columns of the screen; 0 means no limit. Cells of a
// wide table are wrapped, and one with too many columns of its own becomes records.
func (t *table) lines(style Style, columns int) []string {
	widths := make([]int, len(t.align))
	for _, cells := range append(t.rows, t.header) {
		for i, cell := range cells {
			widths[i] = max(widths[i], widthOf(cell), 1)
		}
	}
	if !shrink(widths, columns) {
		return t.records(style, columns)
	}
	lines := t.row(style, t.header, widths)
	rule := ""
	for i, width := range widths {
		if i > 0 {
			rule += strings.Repeat(" ", between)
		}
		rule += strings.Repeat("─", width)
	}
	lines = append(lines, style.paint(dim, rule))
	for _, cells := range t.rows {
		lines = append(lines, t.row(style, cells, widths)...)
	}
	return lines
}

// shrink makes the widest columns narrower until all fit, and reports whether they do.
func shrink(widths []int, columns int) bool {
	sum := between * (len(widths) - 1)
	for _, w := range widths {
		sum += w
	}
	for columns > 0 && sum > columns {
		widest := slices.Max(widths)
		if widest <= minColumn {
			return false
		}
		for i := range widths {
			if widths[i] == widest {
				widths[i]--
				sum--
			}
		}
	}
	return true
}

// row returns the lines of a row.
func (t *table) row(style Style, cells [][]piece, widths []int) []string {
	texts := make([][]string, len(cells))
	height := 1
	for i, cell := range cells {
		texts[i] = style.wrap(cell, widths[i])
		height = max(height, len(texts[i]))
	}
	lines := make([]string, height)
	for n := range lines {
		var b strings.Builder
		for i, width := range widths {
			if i > 0 {
				b.WriteString(strings.Repeat(" ", between))
			}
			text := ""
			if n < len(texts[i]) {
				text = texts[i][n]
			}
			room := max(width-displaywidth.Options{ControlSequences: true}.String(text), 0)
			left := 0
			switch t.align[i] {
			case extast.AlignRight:
				left = room
			case extast.AlignCenter:
				left = room / 2
			}
			b.WriteString(strings.Repeat(" ", left) + text + strings.Repeat(" ", room-left))
		}
		lines[n] = strings.TrimRight(b.String(), " ")
	}
	return lines
}

// records returns each row as lines of names and values.
func (t *table) records(style Style, columns int) []string {
	var lines []string
	for n, cells := range t.rows {
		if n > 0 {
			lines = append(lines, "")
		}
		for i, cell := range cells {
			if len(cell) == 0 {
				continue
			}
			text := slices.Concat(t.header[i], []piece{{": ", strong}}, cell)
			for j, line := range style.wrap(text, max(columns-2, 0)) {
				if j > 0 {
					line = "  " + line
				}
				lines = append(lines, line)
			}
		}
	}
	if len(t.rows) == 0 {
		for _, name := range t.header {
			lines = append(lines, style.wrap(name, columns)...)
		}
	}
	return lines
}
