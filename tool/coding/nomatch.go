package coding

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/attractor-go/attractor/internal/fuzzy"
)

// explainNoMatch returns sentences, which begin with a space, about the part of a content that is
// most like an old text that is not in it.
func (d Dialect) explainNoMatch(content string, e edit) string {
	old := strings.Split(strings.Trim(toLF(e.old), "\n"), "\n")
	if fuzzy.Numbered(old) {
		return fmt.Sprintf(" It starts with line numbers as %s shows them: they are not part of the file, so leave "+
			"them out.", d.word("read_file"))
	}
	if !isASCII(e.old) && !utf8.ValidString(content) {
		return " The file is not UTF-8: use a part of the text that is ASCII alone."
	}
	if onlyExact(content) {
		return fmt.Sprintf(" The file has more than %d MiB or %d lines, so only the very text is looked for, with "+
			"its white space. Search the file for a part of the text, and copy it from there.", maxDividedBytes>>20,
			maxLines)
	}
	lines := strings.Split(toLF(content), "\n")
	at, equal := fuzzy.Nearest(lines, old)
	if at < 0 {
		return " Nothing in the file is similar. Read the file, and copy the text from there."
	}
	first := max(0, min(at, len(lines)-1))
	last := min(first+min(len(old), maxSnippetLines), len(lines))
	why := "The nearest place is"
	if equal {
		why = "The same text with other white space is at"
	}
	return fmt.Sprintf(" %s %s; copy the text from there, exactly:\n%s", why, lineRange(first+1, last),
		d.number(fuzzy.Shortened(lines[first:last]), first+1))
}

func lineRange(first, last int) string {
	if first == last {
		return fmt.Sprintf("line %d", first)
	}
	return fmt.Sprintf("lines %d to %d", first, last)
}
