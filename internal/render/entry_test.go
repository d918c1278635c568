package render

import (
	"strings"
	"testing"
)

// Entries of a list fit into every width, and their words stay whole.
func TestN3_Entry(t *testing.T) {
	name, text := "/mode [MODE]",
		"show the mode, or change to ask, accept-edits, plan or full; Shift-Tab goes through the first three"
	for _, name := range []string{name, ""} {
		for width := range 400 {
			got := Style{Width: width}.Entry(name, text)
			if strings.Join(strings.Fields(got), " ") != strings.TrimSpace(name+" "+text) {
				t.Fatalf("width %d: the words are\n%s", width, got)
			}
			for line := range strings.Lines(got) {
				if line = strings.TrimSuffix(line, "\n"); width >= 20 && Width(line) > width ||
					!strings.HasPrefix(line, "  ") {
					t.Fatalf("width %d: a line is %q", width, line)
				}
			}
		}
	}
	if got, want := (Style{Width: 30}).Entry("/mode", "show the mode of this session"),
		"  /mode\n    show the mode of this\n    session\n"; got != want {
		t.Errorf("narrow: %q, want %q", got, want)
	}
	path := "/home/somebody/.local/state/attractor/rules.json:4"
	if got, want := (Style{Width: 79}).Entry("Bash(ls:*)", path), "  Bash(ls:*)\n    "+path+"\n"; got != want {
		t.Errorf("a long word: %q, want %q", got, want)
	}
}

// A warning is wrapped at words, below its beginning; what is indented stays so. Without a width
// nothing is wrapped.
func TestN3_Warning(t *testing.T) {
	text := "these files of the project are not used:\n  .mcp.json and .claude/settings.json\nto decide, run: " +
		"attractor trust"
	want := "! these files of the\n  project are not used:\n    .mcp.json and\n    .claude/settings.json\n  to " +
		"decide, run:\n  attractor trust"
	if got := (Style{Width: 24}).Warning(text); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := (Style{}).Warning(text); got != "! "+text {
		t.Errorf("without a width:\n%s", got)
	}
	for _, text := range []string{"", "\n", "   ", "word"} {
		for width := range 30 {
			if got := (Style{Width: width, Colour: true}).Warning(text); !strings.Contains(got, "!") {
				t.Errorf("width %d: %q becomes %q", width, text, got)
			}
		}
	}
}
