package render

import (
	"strings"
)

// table holds a table until its end, because its columns depend on all rows.
type table struct {
	source []string // the lines of the text
	size   int
	align  []byte // of each column: l, r or c
	header [][]piece
	rows   [][][]piece
}

// maxTable limits the bytes of a table that is held back. A longer one continues as text.
const maxTable = 64 << 10

// minCell is what a cell counts at least, in bytes.
const minCell = 4

// newTable returns the table that a header and the line below it begin, or nil.
func newTable(header, line string) *table {
	if !strings.Contains(line, "-") || strings.Trim(line, "|:- \t") != "" || !strings.Contains(line, "|") && !strings.Contains(header, "|") {
		return nil
	}
	marks, names := cells(line), cells(header)
	if len(marks) != len(names) || len(marks) > 100 {
		return nil
	}
	t := &table{source: []string{header, line}, header: row(names, len(names))}
	for _, mark := range marks {
		if strings.Trim(mark, "-:") != "" || strings.Trim(mark, ":") == "" || strings.Contains(strings.Trim(mark, ":"), ":") {
			return nil
		}
		switch left, right := mark[0] == ':', mark[len(mark)-1] == ':'; {
		case left && right:
			t.align = append(t.align, 'c')
		case right:
			t.align = append(t.align, 'r')
		default:
			t.align = append(t.align, 'l')
		}
	}
	return t
}

// add adds a row and reports whether the line is one.
func (t *table) add(line string) bool {
	if !strings.Contains(line, "|") || t.size > maxTable {
		return false
	}
	t.source = append(t.source, line)
	t.size += max(len(line), minCell*len(t.align)) // each cell takes memory, also one without a text
	t.rows = append(t.rows, row(cells(line), len(t.align)))
	return true
}

// cells returns the texts between the bars of a row.
func cells(line string) []string {
	line = strings.TrimPrefix(strings.TrimSpace(line), "|")
	var list []string
	from := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '|':
			list = append(list, strings.TrimSpace(strings.ReplaceAll(line[from:i], `\|`, "|")))
			from = i + 1
		}
	}
	if rest := strings.TrimSpace(line[from:]); rest != "" {
		list = append(list, strings.ReplaceAll(rest, `\|`, "|"))
	}
	return list
}

// row returns n cells. Missing ones are empty.
func row(texts []string, n int) [][]piece {
	list := make([][]piece, n)
	for i := range min(n, len(texts)) {
		list[i] = inline(texts[i])
	}
	return list
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

// lines returns the table in so many columns, 0 for any. Cells of a wide one are wrapped. One with too many columns becomes records.
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
	for i := range t.header {
		for j := range t.header[i] {
			t.header[i][j].look |= strong
		}
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
		widest, second := 0, 0
		for i, w := range widths {
			if w > widths[widest] {
				widest = i
			}
		}
		count := 0
		for _, w := range widths {
			if w == widths[widest] {
				count++
			} else {
				second = max(second, w)
			}
		}
		to := max(second, widths[widest]-(sum-columns+count-1)/count, minColumn)
		if to >= widths[widest] {
			return false
		}
		from := widths[widest]
		for i := range widths {
			if widths[i] == from {
				widths[i] = to
				sum -= from - to
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
			room := max(width-visible(text), 0)
			left := 0
			switch t.align[i] {
			case 'r':
				left = room
			case 'c':
				left = room / 2
			}
			b.WriteString(strings.Repeat(" ", left) + text + strings.Repeat(" ", room-left))
		}
		lines[n] = strings.TrimRight(b.String(), " ")
	}
	return lines
}

// visible returns the columns of a line with colours.
func visible(line string) int {
	if !strings.Contains(line, "\x1b") {
		return Width(line)
	}
	n := 0
	for line != "" {
		text, rest, _ := strings.Cut(line, "\x1b")
		n += Width(text)
		_, line, _ = strings.Cut(rest, "m")
	}
	return n
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
			var text []piece
			for _, p := range t.header[i] {
				text = append(text, piece{p.text, p.look | strong})
			}
			text = append(append(text, piece{": ", strong}), cell...)
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
