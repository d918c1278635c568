package render

import (
	"strings"
	"testing"

	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
)

// No row of a call looks like a line of the question, however long the lines of the call are, and
// what it does is on the same screen as the question.
func TestU20_NoRowLooksLikeTheQuestion(t *testing.T) {
	row := func(text string) string { return text + strings.Repeat(" ", 80-len(text)) }
	forged := row("  make test VERBOSE=1") + row(" --eval='$(shell touch CANARY)'") + strings.Repeat(" ", 80*19) +
		row("X='") + row("The agent wants to run:") + "  make test'"
	dense := strings.Repeat("x", 78) + strings.Repeat("y", 80*25) + row("The agent wants to run:") + "  make test"
	lines := "rm -rf x" + strings.Repeat("\n", 40) + "make test" + strings.Repeat(" \n", 40) + "\tmake"
	for name, q := range map[string]permit.Question{
		"blanks":  {Request: tool.Request{Access: tool.Access{Command: forged}}},
		"letters": {Request: tool.Request{Access: tool.Access{Command: dense}}},
		"a diff": {Changes: []tool.Change{{Path: "/w/a", Diff: "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+" + row("true") +
			row("  4 - rm -rf build") + dense + "\n"}}},
		"a reason":    {Request: tool.Request{Access: tool.Access{Command: "x"}}, Reasons: []string{dense}},
		"empty lines": {Request: tool.Request{Access: tool.Access{Command: lines}}},
	} {
		asked := 0
		shown := strings.Split(InRows(Question(q), 79), "\n")
		for _, row := range shown {
			if Width(row) > 79 {
				t.Errorf("%s: a terminal breaks the row %q", name, row)
			}
			if strings.HasPrefix(row, "The agent wants to") {
				asked++
			}
		}
		if asked != 1 {
			t.Errorf("%s: asked %d times: %s", name, asked, Question(q))
		}
		short := name == "blanks" || name == "empty lines"
		if short && len(shown) > 15 || !short && name != "a reason" && !strings.Contains(Question(q),
			"one call, with") {
			t.Errorf("%s: the question has %d rows: %s", name, len(shown), Question(q))
		}
	}
}

func TestU20_Squeezed(t *testing.T) {
	for text, want := range map[string]string{
		"a b":                                         "a b",
		"a\n\n\n    b":                                "a\n\n\n    b",
		"a" + strings.Repeat(" ", 60):                 "a" + strings.Repeat(" ", 60),
		"a" + strings.Repeat(" ", 61):                 "a[61 blanks]",
		strings.Repeat("\t", 8) + "b":                 "[8 blanks]b",
		"a" + strings.Repeat("\u3000", 31) + "b":      "a[31 blanks]b",
		"a" + strings.Repeat("\n", 12) + "  b":        "a\n  [10 blanks]\n  b",
		"a " + strings.Repeat(" \n", 99) + "\tb":      "a  \n  [195 blanks]\n\tb",
		"a\n" + strings.Repeat(" ", 100) + "b":        "a\n  [100 blanks]b",
		"a" + strings.Repeat(" ", 100) + "\n b\u3000": "a[100 blanks]\n b\u3000",
	} {
		if got := squeezed(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// A row ends behind a blank near its end, so that words stay whole. A word that is long is broken.
func TestU20_RowsEndBehindWords(t *testing.T) {
	for text, want := range map[string]string{
		"Asked because the rule of the project says so.\nIt": "Asked because the rule of the \n    ┊ project " +
			"says so.\nIt",
		"one two three four five six seven eight 12": "one two three four five six \n    ┊ seven eight 12",
		"one two three four five six se\nnine":       "one two three four five six se\nnine",
		"a " + strings.Repeat("b", 40):               "a " + strings.Repeat("b", 28) + "\n    ┊ " + strings.Repeat("b", 12),
		"a\n" + strings.Repeat("b", 40): "a\n" + strings.Repeat("b", 30) + "\n    ┊ " +
			strings.Repeat("b", 10),
	} {
		if got := InRows(text, 30); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
