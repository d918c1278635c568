package lastline

import (
	"strings"
	"testing"
)

// Of a long text the last line that is not blank is kept, without escape sequences.
func TestM1_LastLine(t *testing.T) {
	var b Buffer
	for range 100 {
		b.Add([]byte(strings.Repeat("x", 1000) + "\n"))
	}
	b.Add([]byte("it \x1b[31mfails\x1b[0m\r\n\n"))
	if got := b.String(); got != "it fails" || len(b.text) > Max {
		t.Errorf("%q of %d bytes", got, len(b.text))
	}
	b.Add([]byte(strings.Repeat("y", 3*Max)))
	if got := b.String(); got != strings.Repeat("y", Max) {
		t.Errorf("%d bytes", len(got))
	}
}
