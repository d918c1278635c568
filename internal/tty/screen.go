package tty

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/attractor-go/attractor/sanitize"
)

// Screen draws a live area below text that scrolls by. All of it passes a [sanitize.Writer], so
// that nothing in the text acts on the terminal. Lines that scroll by belong to the terminal, which
// can wrap them anew, select and search them.
type Screen struct {
	out           io.Writer
	buf           bytes.Buffer
	clean         *sanitize.Writer // into buf
	width, height int
	live          []string // as drawn
	row, column   int      // of the cursor in the live area
}

// NewScreen returns a Screen on a terminal of that size. The cursor is at the beginning of a line.
func NewScreen(out io.Writer, width, height int) *Screen {
	s := &Screen{out: out, width: width, height: height}
	s.clean = sanitize.NewWriter(&s.buf, sanitize.Coloured)
	return s
}

// Resize tells of a new size. The terminal has wrapped the lines anew.
func (s *Screen) Resize(width, height int) {
	if width == s.width && height == s.height {
		return
	}
	s.row, s.column = reflowed(s.live, s.row, s.column, width)
	s.live = nil // to be drawn again
	s.width, s.height = width, height
}

// reflowed returns where the cursor is after a terminal has wrapped rows at another width.
func reflowed(rows []string, row, column, width int) (int, int) {
	above := 0
	for i, text := range rows {
		if i == row {
			break
		}
		above += max(1, (widthOf(text)+width-1)/width)
	}
	return above + column/width, column % width
}

// Draw writes lines above the live area and draws that with other rows, and the cursor in one of
// them. Rows that are too long are cut, and so are the first rows of a live area that is higher
// than the terminal. above is empty or ends with a line end.
func (s *Screen) Draw(above string, live []string, row, column int) error {
	if most := max(1, s.height-1); len(live) > most {
		row -= len(live) - most
		live = live[len(live)-most:]
	}
	row = max(row, 0)
	column = min(column, s.width-1)
	if above == "" && s.live != nil && slices.Equal(live, s.live) && row == s.row && column == s.column {
		return nil
	}
	s.buf.Reset()
	s.buf.WriteString("\x1b[?2026h\x1b[?25l") // terminals that know it show the whole change at once
	s.toTop()
	s.text(strings.ReplaceAll(above, "\n", "\r\n"))
	s.buf.WriteString("\x1b[?7l") // a row stays one even where the terminal thinks that a character is wider
	for i, text := range live {
		if i > 0 {
			s.buf.WriteString("\r\n")
		}
		s.text(cutTo(text, s.width-1))
	}
	if up := len(live) - 1 - row; up > 0 {
		fmt.Fprintf(&s.buf, "\x1b[%dA", up)
	}
	s.buf.WriteByte('\r')
	if column > 0 {
		fmt.Fprintf(&s.buf, "\x1b[%dC", column)
	}
	s.buf.WriteString("\x1b[?7h\x1b[?25h\x1b[?2026l")
	s.live, s.row, s.column = slices.Clone(live), row, column
	return s.flush()
}

// Clear erases the live area.
func (s *Screen) Clear() error {
	s.buf.Reset()
	s.toTop()
	s.buf.WriteString("\x1b[?25h")
	s.live, s.row, s.column = nil, 0, 0
	return s.flush()
}

// Forget leaves the live area where it is. The next one is drawn at the cursor, which is at the
// beginning of a line.
func (s *Screen) Forget() { s.live, s.row, s.column = nil, 0, 0 }

// Home erases the whole screen, for a live area at its top.
func (s *Screen) Home() error {
	s.buf.Reset()
	s.buf.WriteString("\x1b[H\x1b[2J")
	s.live, s.row, s.column = nil, 0, 0
	return s.flush()
}

// Bell rings.
func (s *Screen) Bell() error {
	_, err := io.WriteString(s.out, "\a")
	return err
}

// text adds a text, cleaned. \r is part of its line ends.
func (s *Screen) text(text string) {
	for line := range strings.SplitAfterSeq(text, "\r\n") {
		body, ended := strings.CutSuffix(line, "\r\n")
		_, _ = io.WriteString(s.clean, body) // a buffer
		if ended {
			s.buf.WriteString("\r\n")
		}
	}
}

// toTop moves the cursor to the top of the live area and erases that.
func (s *Screen) toTop() {
	s.buf.WriteByte('\r')
	if up := min(s.row, s.height-1); up > 0 {
		fmt.Fprintf(&s.buf, "\x1b[%dA", up)
	}
	// Erasing all from the first row would make some terminals keep what is erased, as if it had
	// scrolled by.
	s.buf.WriteString("\x1b[2K\x1b7\x1b[B\x1b[J\x1b8")
}

func (s *Screen) flush() error {
	_, err := s.out.Write(s.buf.Bytes())
	if s.buf.Cap() > 1<<20 {
		s.buf = bytes.Buffer{}
	}
	return err
}

// widthOf returns the columns of a text that may have colours.
func widthOf(text string) int { return displaywidth.Options{ControlSequences: true}.String(text) }

// cutTo returns a text of one line, cut to a number of columns.
func cutTo(text string, width int) string {
	if len(text) <= width {
		return text
	}
	return displaywidth.Options{ControlSequences: true}.TruncateString(text, width, "…")
}
