package tty

import (
	"strings"
	"testing"
)

// Text does not act on the terminal, in lines that scroll by and in rows, and rows fit into it.
func TestN3_ScreenCleans(t *testing.T) {
	var out strings.Builder
	s := NewScreen(&out, 20, 5)
	hostile := "a\x1b]0;title\ab\x1b[6nc\u202ed\x9be"
	rows := []string{hostile, strings.Repeat("世", 30), "\x1b[2mfaint\x1b[0m", "4", "5", "6"}
	if err := s.Draw(hostile+"\nnext\n", rows, 5, 3); err != nil {
		t.Fatal(err)
	}
	for _, acts := range []string{"\x1b]", "\x1b[6n", "\u202e", "\a", "\x9b"} {
		if strings.Contains(out.String(), acts) {
			t.Errorf("%q reaches the terminal: %q", acts, out.String())
		}
	}
	if !strings.Contains(out.String(), "\x1b[2mfaint\x1b[0m") || strings.Contains(out.String(), "\n\x1b[2K") {
		t.Errorf("the screen gets %q", out.String())
	}
	if strings.Contains(out.String(), strings.Repeat("世", 10)) { // and the rows do not fit: the first ones are left out
		t.Errorf("a row is too long: %q", out.String())
	}
	drawn := out.Len()
	if err := s.Draw("", rows, 5, 3); err != nil || out.Len() != drawn {
		t.Errorf("the same screen is drawn again: %v %q", err, out.String()[drawn:])
	}
}

// After a resize the cursor is where the terminal has put it.
func TestN3_Reflowed(t *testing.T) {
	for _, c := range []struct {
		row, column, width, wantRow, wantColumn int
	}{{1, 5, 40, 2, 5}, {1, 30, 20, 5, 10}, {0, 3, 20, 0, 3}} {
		if row, column := reflowed([]string{strings.Repeat("x", 79), strings.Repeat("y", 40)}, c.row, c.column,
			c.width); row != c.wantRow || column != c.wantColumn {
			t.Errorf("%+v: row %d, column %d", c, row, column)
		}
	}
}
