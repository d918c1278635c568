package render

import (
	"strings"

	"github.com/attractor-go/attractor/sanitize"
)

// UnifiedDiff returns a unified diff in git's form with colours, and without what a terminal would
// act on. If the style has no colour, it returns the text unchanged, so that a program can apply
// it; whoever writes it to a terminal cleans it.
func UnifiedDiff(style Style, text string) string {
	if !style.Colour {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		content := strings.TrimSuffix(line, "\n")
		end := line[len(content):]
		content = sanitize.Text(content)
		switch {
		case strings.HasPrefix(content, "diff "), strings.HasPrefix(content, "--- "),
			strings.HasPrefix(content, "+++ "):
			content = style.paint(bold, content)
		case strings.HasPrefix(content, "@@"):
			content = style.paint(cyan, content)
		case strings.HasPrefix(content, "+"):
			content = style.paint(green, content)
		case strings.HasPrefix(content, "-"):
			content = style.paint(red, content)
		}
		b.WriteString(content + end)
	}
	return b.String()
}
