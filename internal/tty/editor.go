package tty

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/clipperhouse/displaywidth"

	"github.com/attractor-go/attractor/sanitize"
)

// Editor holds a text that a person edits. A long paste is shown folded, as if it were one
// character. The zero value is empty.
type Editor struct {
	cells []cell
	at    int    // the cursor is in front of this cell
	cut   []cell // what was cut last
}

// cell is what the cursor moves over: a character with its marks, a line end, or a folded paste.
type cell struct {
	text  string
	shown string // what a folded paste is shown as; else empty
	width int
	// pasted says that nobody has typed it.
	pasted bool
}

// The limits of an Editor.
const (
	maxTyped  = 64 << 10 // characters, of which a folded paste is one
	foldLines = 5        // a paste of more lines or bytes is folded
	foldBytes = 1000
	tabWidth  = 4
)

// String returns the whole text.
func (e *Editor) String() string { return textOf(e.cells) }

// textOf returns the text of cells.
func textOf(cells []cell) string {
	var b strings.Builder
	for _, c := range cells {
		b.WriteString(c.text)
	}
	return b.String()
}

// Empty reports whether there is no text.
func (e *Editor) Empty() bool { return len(e.cells) == 0 }

// Set replaces the text and puts the cursor at its end.
func (e *Editor) Set(text string) {
	e.cells, e.at = nil, 0
	e.Insert(text)
}

// SetPasted is like Set with a text that nobody has typed.
func (e *Editor) SetPasted(text string) {
	e.Set(text)
	pasted(e.cells)
}

// Typed reports whether the beginning of the text was typed, and not pasted.
func (e *Editor) Typed() bool { return len(e.cells) > 0 && !e.cells[0].pasted }

// Insert inserts a text at the cursor. It returns false if there is no room for it.
func (e *Editor) Insert(text string) bool {
	return e.insert(cellsOf(sanitize.Text(text)))
}

// Paste inserts a pasted text, folded if it is long. Invisible characters in it become visible.
func (e *Editor) Paste(text string) bool {
	text = sanitize.Text(text)
	text = strings.TrimSuffix(text, "\n")
	lines := strings.Count(text, "\n") + 1
	if lines <= foldLines && len(text) <= foldBytes {
		return e.insert(pasted(cellsOf(text)))
	}
	shown := fmt.Sprintf("[pasted %d lines]", lines)
	if lines == 1 {
		shown = fmt.Sprintf("[pasted %d characters]", len([]rune(text)))
	}
	return e.insert(pasted([]cell{{text: text, shown: shown, width: len(shown)}}))
}

func (e *Editor) insert(cells []cell) bool {
	if len(e.cells)+len(cells) > maxTyped {
		return false
	}
	if e.at > 0 && len(cells) > 0 { // a mark belongs to the character before it
		if before := e.cells[e.at-1]; before.shown == "" && before.text != "\n" && cells[0].shown == "" {
			if joined := cellsOf(before.text + cells[0].text); len(joined) == 1 {
				joined[0].pasted = before.pasted
				e.cells[e.at-1] = joined[0]
				cells = cells[1:]
			}
		}
	}
	e.cells = slices.Insert(e.cells, e.at, cells...)
	e.at += len(cells)
	return true
}

// cellsOf divides a cleaned text into its characters.
func cellsOf(text string) (cells []cell) {
	for g := displaywidth.StringGraphemes(text); g.Next(); {
		c := cell{text: g.Value(), width: g.Width()}
		if c.text == "\t" {
			c.width = tabWidth
		}
		cells = append(cells, c)
	}
	return cells
}

// pasted marks cells as pasted.
func pasted(cells []cell) []cell {
	for i := range cells {
		cells[i].pasted = true
	}
	return cells
}

// Key changes the text or moves the cursor, as a key says. It returns false if the key is not for
// an editor, or has no effect.
func (e *Editor) Key(k Key) bool {
	switch k.Code {
	case KeyText:
		return e.Insert(k.Text)
	case KeyPaste:
		return e.Paste(k.Text)
	case KeyNewline:
		return e.insert([]cell{{text: "\n"}})
	case KeyBackspace:
		return e.remove(e.at-1, e.at, false)
	case KeyDelete:
		return e.remove(e.at, e.at+1, false)
	case KeyCutWord:
		return e.remove(e.wordLeft(), e.at, true)
	case KeyCutNextWord:
		return e.remove(e.at, e.wordRight(), true)
	case KeyCutStart:
		return e.remove(e.lineStart(), e.at, true)
	case KeyCutEnd:
		return e.remove(e.at, e.lineEnd(), true)
	case KeyInsertCut:
		return len(e.cut) > 0 && e.insert(slices.Clone(e.cut))
	}
	return e.move(k.Code)
}

// move moves the cursor.
func (e *Editor) move(code Code) bool {
	to := e.at
	switch code {
	case KeyLeft:
		to--
	case KeyRight:
		to++
	case KeyHome:
		to = e.lineStart()
	case KeyEnd:
		to = e.lineEnd()
	case KeyWordLeft:
		to = e.wordLeft()
	case KeyWordRight:
		to = e.wordRight()
	}
	to = max(0, min(to, len(e.cells)))
	moved := to != e.at
	e.at = to
	return moved
}

// remove removes cells, which can be inserted again if they are cut.
func (e *Editor) remove(from, to int, cut bool) bool {
	from, to = max(0, from), min(to, len(e.cells))
	if from >= to {
		return false
	}
	if cut {
		e.cut = slices.Clone(e.cells[from:to])
	}
	e.cells = slices.Delete(e.cells, from, to)
	e.at = from
	return true
}

// left returns the index of the first of the cells in front of i that are all such.
func (e *Editor) left(i int, such func(cell) bool) int {
	for i > 0 && such(e.cells[i-1]) {
		i--
	}
	return i
}

// right returns the index behind the last of the cells from i on that are all such.
func (e *Editor) right(i int, such func(cell) bool) int {
	for i < len(e.cells) && such(e.cells[i]) {
		i++
	}
	return i
}

func (e *Editor) lineStart() int { return e.left(e.at, cell.inLine) }
func (e *Editor) lineEnd() int   { return e.right(e.at, cell.inLine) }
func (e *Editor) wordLeft() int  { return e.left(e.left(e.at, cell.betweenWords), cell.inWord) }
func (e *Editor) wordRight() int { return e.right(e.right(e.at, cell.betweenWords), cell.inWord) }

// wordStart returns the index of the first cell of the text that Word returns.
func (e *Editor) wordStart() int {
	return e.left(e.at, func(c cell) bool { return c.shown == "" && strings.TrimSpace(c.text) != "" })
}

func (c cell) inLine() bool       { return c.text != "\n" }
func (c cell) betweenWords() bool { return !c.inWord() }

func (c cell) inWord() bool {
	return c.shown != "" ||
		strings.ContainsFunc(c.text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' })
}

// EndsWith reports whether the text in front of the cursor ends with a character, and the cursor is
// at the end.
func (e *Editor) EndsWith(text string) bool {
	return e.at == len(e.cells) && e.at > 0 && e.cells[e.at-1].text == text
}

// Word returns the text between the last white space in front of the cursor and the cursor, and
// whether it begins the whole text.
func (e *Editor) Word() (word string, first bool) {
	start := e.wordStart()
	return textOf(e.cells[start:e.at]), start == 0
}

// ReplaceWord replaces the text that Word returns.
func (e *Editor) ReplaceWord(with string) {
	e.remove(e.wordStart(), e.at, false)
	e.Insert(with)
}

// OnFirstLine reports whether the cursor is on the first line.
func (e *Editor) OnFirstLine() bool { return e.lineStart() == 0 }

// OnLastLine reports whether the cursor is on the last line.
func (e *Editor) OnLastLine() bool { return e.lineEnd() == len(e.cells) }

// Up moves the cursor a line up. It returns false on the first line.
func (e *Editor) Up() bool {
	start := e.lineStart()
	if start == 0 {
		return false
	}
	column := e.at - start
	e.at = start - 1
	e.at = min(e.lineStart()+column, e.at)
	return true
}

// Down moves the cursor a line down. It returns false on the last line.
func (e *Editor) Down() bool {
	column, end := e.at-e.lineStart(), e.lineEnd()
	if end == len(e.cells) {
		return false
	}
	e.at = end + 1
	e.at = min(e.at+column, e.lineEnd())
	return true
}

// Rows returns the text in rows of at most width columns, the first one after a prompt and the
// others indented like it, and the place of the cursor. It returns at most limit rows: those around
// the cursor. A prompt that leaves no room has a row of its own, which may be wider.
func (e *Editor) Rows(prompt string, width, limit int) (rows []string, row, column int) {
	indent := displaywidth.String(prompt)
	if indent > width/2 { // a prompt that leaves no room has a row of its own
		rows, prompt, indent = []string{prompt}, "", 0
	}
	var b strings.Builder
	b.WriteString(prompt)
	at := indent
	end := func() {
		rows = append(rows, b.String())
		b.Reset()
		b.WriteString(strings.Repeat(" ", indent))
		at = indent
	}
	for i, c := range e.cells {
		shown, w := c.view(width - indent)
		if at+w > width && at > indent {
			end()
		}
		if i == e.at {
			row, column = len(rows), at
		}
		if c.text == "\n" {
			end()
			continue
		}
		b.WriteString(shown)
		at += w
	}
	if e.at == len(e.cells) {
		if at >= width {
			end()
		}
		row, column = len(rows), at
	}
	rows = append(rows, b.String())
	if first := row - limit + 1; len(rows) > limit && limit > 0 {
		first = max(0, min(max(first, 0), len(rows)-limit))
		rows, row = rows[first:min(len(rows), first+limit)], row-first
	}
	return rows, row, column
}

// view returns what a cell is shown as, in at most a number of columns.
func (c cell) view(most int) (string, int) {
	switch {
	case c.text == "\n":
		return "", 0
	case c.text == "\t":
		return strings.Repeat(" ", min(tabWidth, most)), min(tabWidth, most)
	case c.shown != "" && c.width > most:
		shown := displaywidth.TruncateString(c.shown, most, "")
		return shown, displaywidth.String(shown)
	case c.shown != "":
		return c.shown, c.width
	}
	return c.text, c.width
}

// Shown returns the text with folded pastes as they are shown.
func (e *Editor) Shown() string {
	var b strings.Builder
	for _, c := range e.cells {
		b.WriteString(cmp.Or(c.shown, c.text))
	}
	return b.String()
}
