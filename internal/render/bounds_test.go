package render

import (
	"strings"
	"testing"
)

// What is held back of an answer is bounded, also where its lines and cells have no text.
func TestN3_HeldWithoutText(t *testing.T) {
	for _, begin := range []string{"- a\n", "    code\n", strings.Repeat("|a", 100) + "|\n" + strings.Repeat("|-",
		100) + "|\n"} {
		for _, line := range []string{"\n", "|\n", "  b\n"} {
			m := NewMarkdown(Style{})
			m.Add(begin)
			for range 2 * maxHeld / minLine {
				m.Add(line)
				if len(m.text) > maxHeld/minLine {
					t.Fatalf("%q: %d lines of %q are held", begin, len(m.text), line)
				}
			}
			m.End()
		}
	}
}
