package render

import (
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/tool"
)

const someDiff = "--- a/f.go\n+++ b/f.go\n@@ -8,4 +8,4 @@\n func f() {\n-\told\x1b[2J\n+\tnew\n }\n \n@@ -100,2 " +
	"+100,2 @@\n-- a\n-c\n+- b\n+漢字\n\\ No newline at end of file\n"

// A change is shown with the numbers of its lines, those that are gone in the old file and all
// others in the new one.
func TestN3_Diff(t *testing.T) {
	want := []string{"    8   func f() {", `    9 -     old\u{1b}[2J`, "    9 +     new", "   10   }", "   11", "    ⋮",
		"  100 - - a", "  101 - c", "  100 + - b", "  101 + 漢字"}
	if got := Diff(Style{}, tool.Change{Diff: someDiff}, 0); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	folded := Diff(Style{}, tool.Change{Diff: someDiff}, 3)
	if len(folded) != 4 || folded[3] != "    … 7 more lines" {
		t.Errorf("folded to three lines: %q", folded)
	}
	if all := Diff(Style{}, tool.Change{Diff: someDiff}, 9); len(all) != 10 {
		t.Errorf("a single line is folded: %q", all)
	}
	if cut := Diff(Style{}, tool.Change{Diff: someDiff, DiffCut: true}, 0); !strings.Contains(cut[len(cut)-1],
		"too long") {
		t.Errorf("nothing says that the diff was cut: %q", cut)
	}
	for _, line := range Diff(Style{Width: 20},
		tool.Change{Diff: "@@ -1 +1 @@\n+" + strings.Repeat("漢", 100) + "\n-" + strings.Repeat("x", 1<<20) + "\n"}, 0) {
		if Width(line) > 20 {
			t.Errorf("%q does not fit", line)
		}
	}
}

// On a screen, the line of a call is followed by diffs; several files have their names. Elsewhere
// there are none.
func TestN4_DiffsFollowCalls(t *testing.T) {
	end := &agent.ToolCallEnd{Name: "edit_file",
		Changes: []tool.Change{{Kind: tool.Modified, Path: "/d/f.go", Diff: "@@ -1 +1 @@\n-a\n+b\n"}}}
	s := NewSession(Style{Rich: true})
	if got, want := s.Event(end), "✓ edit_file /d/f.go <1ms\n  1 - a\n  1 + b\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	end.Changes = append(end.Changes, tool.Change{Kind: tool.Created, Path: "/d/n", Diff: "@@ -0,0 +1 @@\n+x\n"})
	if got, want := s.Event(end),
		"✓ edit_file /d/f.go, /d/n (created) <1ms\n  /d/f.go\n  1 - a\n  1 + b\n  /d/n\n  1 + x\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := NewSession(Style{}).Event(end); strings.Count(got, "\n") != 1 {
		t.Errorf("a pipe gets %q", got)
	}
}

// FuzzN3_Diff shows arbitrary diffs.
func FuzzN3_Diff(f *testing.F) {
	f.Add(someDiff, 80)
	f.Add("@@ -9999999999999999999 +1 @@\n+\xff\r\n@@ -1 @@\n", 1)
	f.Fuzz(func(t *testing.T, diff string, width int) {
		text := strings.Join(Diff(Style{Width: min(max(width, 0), 400)}, tool.Change{Diff: diff}, maxDiffLines), "\n")
		if clean := sanitize.Text(text); clean != text {
			t.Errorf("the terminal gets %q", text)
		}
	})
}
