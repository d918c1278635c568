package render

import (
	"strings"
	"testing"
)

// What is held back of an answer is bounded, also where its lines and cells have no text.
func TestN3_HeldWithoutText(t *testing.T) {
	m := NewMarkdown(Style{})
	m.Add("    code\n")
	for range 4 * maxHeldBlock {
		m.Add("\n")
		if len(m.text) > 2*maxHeldBlock {
			t.Fatalf("%d empty lines of code are held", len(m.text))
		}
	}
	m.End()
	const columns = 100
	m.Add(strings.Repeat("|a", columns) + "|\n" + strings.Repeat("|-", columns) + "|\n")
	if m.table == nil {
		t.Fatal("there is no table")
	}
	for range maxTable {
		m.Add("|\n")
		if m.table != nil && len(m.table.rows)*columns > maxTable {
			t.Fatalf("%d empty cells are held", len(m.table.rows)*columns)
		}
	}
}
