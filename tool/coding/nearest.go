package coding

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/attractor-go/attractor/internal/fuzzy"
)

const maxShownLine = 500 // bytes of a line in a snippet

// numberedLine is a line as read_file shows it. The tab is what other agents put behind the number.
var numberedLine = regexp.MustCompile(`^\s*\d+( \||\t)`)

// explainNoMatch tells the model what comes nearest to an old text that is not in a content.
func explainNoMatch(content string, e edit) string {
	old := strings.Split(strings.Trim(toLF(e.old), "\n"), "\n")
	if allNumbered(old) {
		return " It starts with line numbers as read_file shows them: they are not part of the file, leave them out."
	}
	lines := strings.Split(toLF(content), "\n")
	at, equal := fuzzy.Nearest(lines, old)
	if at < 0 {
		return " Nothing in the file is like it: read the file, and copy the text from there."
	}
	first := max(0, min(at, len(lines)-1))
	last := min(first+min(len(old), maxSnippetLines), len(lines))
	why := "The nearest place is"
	if equal {
		why = "The same text with other white space is at"
	}
	return fmt.Sprintf(" %s %s; copy the text from there, exactly:\n%s", why, lineRange(first+1, last), number(shortened(lines[first:last]), first+1))
}

func lineRange(first, last int) string {
	if first == last {
		return fmt.Sprintf("line %d", first)
	}
	return fmt.Sprintf("lines %d to %d", first, last)
}

func allNumbered(lines []string) bool {
	for _, l := range lines {
		if !numberedLine.MatchString(l) {
			return false
		}
	}
	return true
}

// shortened cuts long lines.
func shortened(lines []string) []string {
	short := make([]string, len(lines))
	for i, l := range lines {
		if short[i] = l; len(l) > maxShownLine {
			end := maxShownLine
			for end > 0 && !utf8.RuneStart(l[end]) {
				end--
			}
			short[i] = l[:end] + " ..."
		}
	}
	return short
}
