package cli

import (
	"strings"
	"testing"
)

// Help fits on the terminal: descriptions of flags stay in their column, and nothing is lost.
func TestI17_HelpIsFolded(t *testing.T) {
	for text, want := range map[string]string{
		"short\n\n":                                    "short\n\n",
		"one two three four five six\n":                "one two three four\nfive six\n",
		"  indented words go on below\n":               "  indented words go on below\n",
		"  --a x  one two three four\n":                "  --a x  one two\n         three four\n",
		"  --a short\n":                                "  --a short\n",
		"a-word-that-is-longer-than-a-line and one\n":  "a-word-that-is-longer-than-a-line\nand one\n",
		"a-word-that-is-longer-than-a-line\n":          "a-word-that-is-longer-than-a-line\n",
		"one two three four five\nsix seven\n\n":       "one two three four\nfive six seven\n\n",
		"a paragraph of prose\nthen\n  code\nUsage:\n": "a paragraph of\nprose then\n  code\nUsage:\n",
	} {
		if got := fold(text, 19); got != want {
			t.Errorf("%q is folded to\n%s, want\n%s", text, got, want)
		}
	}
	var help strings.Builder
	execute([]string{"run", "--help"}, terminal{in: strings.NewReader(""), out: &help, err: &help})
	folded := fold(help.String(), 79)
	if got, want := strings.Join(strings.Fields(folded), " "), strings.Join(strings.Fields(help.String()),
		" "); got != want {
		t.Errorf("folding changes the words of the help:\n%s", folded)
	}
	for line := range strings.Lines(folded) {
		if len([]rune(line)) > 80 && !strings.Contains(help.String(), line) {
			t.Errorf("this line is wider than the terminal: %s", line)
		}
	}
}
