package texts

import (
	"strings"
	"testing"
)

// Of a long text the last line that is not blank is kept, without escape sequences.
func TestM1_LastLine(t *testing.T) {
	var b Tail
	for range 100 {
		_, _ = b.Write([]byte(strings.Repeat("x", 1000) + "\n"))
	}
	_, _ = b.Write([]byte("it \x1b[31mfails\x1b[0m\r\n\n"))
	if got := b.String(); got != "it fails" || len(b.text) > MaxTail {
		t.Errorf("%q of %d bytes", got, len(b.text))
	}
	_, _ = b.Write([]byte(strings.Repeat("y", 3*MaxTail)))
	if got := b.String(); got != strings.Repeat("y", MaxTail) {
		t.Errorf("%d bytes", len(got))
	}
}
