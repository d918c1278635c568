package patch

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/internal/fuzzy"
)

// maxQuoted limits the lines of a hunk or a file that an error shows.
const maxQuoted = 10

// lineNumbers matches the line ranges that a unified diff has after @@.
var lineNumbers = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^-\d+(,\d+)? \+\d+(,\d+)?( @@|$)`)
})

// hintNotFound reports that a line after @@ is not in the file at or after an index, and shows the
// nearest line.
func (d *document) hintNotFound(hint string, from int) *Error {
	if lineNumbers().MatchString(hint) {
		return &Error{Text: "@@ takes no line numbers. Write @@ alone, or @@ and a line of the file above the " +
			"change, such as @@ def main():"}
	}
	text := fmt.Sprintf("the line %q after @@ is not in the file%s. ", hint, after(from))
	if at := d.lineLike(hint); at >= 0 {
		return &Error{Text: text + fmt.Sprintf("It is at line %d. Hunks stand in the order of the file.", at+1)}
	}
	rest := d.texts()[from:]
	at := slices.IndexFunc(rest, func(line string) bool { return strings.Contains(line, hint) })
	if at < 0 {
		at, _ = fuzzy.Nearest(rest, []string{hint})
	}
	if at < 0 {
		return &Error{Text: text + "Write a whole line of the file after @@, or @@ alone."}
	}
	return &Error{Text: text + fmt.Sprintf(
		"The nearest line is line %d, which reads\n%sWrite the whole line after @@, or @@ alone.",
		from+at+1, quote(rest[at:at+1]))}
}

// lineLike returns the index of the first line that equals a hint by the strictest comparison that
// finds one, or -1.
func (d *document) lineLike(hint string) int {
	texts := d.texts()
	for _, v := range d.views {
		if at := slices.IndexFunc(texts, func(line string) bool { return v.like(line) == v.like(hint) }); at >= 0 {
			return at
		}
	}
	return -1
}

// notFound reports that the old lines of a hunk are not in the file at or after an index, and shows
// the nearest place.
func (d *document) notFound(h Hunk, from int) *Error {
	want, where := oldLines(h.Lines), "in the file"+after(from)
	if h.EndOfFile {
		where = "at the end of the file"
	}
	text := fmt.Sprintf("these old lines are not %s:\n%s", where, quote(want))
	switch {
	case h.unifiedHeader():
		return &Error{Text: text + "Leave out the lines --- and +++: " + strings.TrimSuffix(updFile,
			":") + " names the file."}
	case fuzzy.Numbered(want):
		return &Error{Text: text + "They begin with line numbers, which are not part of the file: leave them out."}
	case d.len() == 0:
		return &Error{Text: text + "The file is empty."}
	}
	have := d.texts()
	at, _ := fuzzy.Nearest(have, want)
	if at < 0 {
		return &Error{Text: text + "Nothing in the file is like them: read the file again."}
	}
	have = have[at:min(at+len(want), len(have))]
	return &Error{Text: text + d.nearest(h, want, have, at, from)}
}

// nearest explains how a hunk's old lines differ from the file's lines at an index.
func (d *document) nearest(h Hunk, want, have []string, at, from int) string {
	const copyThem = "Copy old lines from the file exactly."
	differs := 0
	for differs < len(have) && loose(have[differs]) == loose(want[differs]) {
		differs++
	}
	switch {
	case differs == len(want) && at < from:
		return fmt.Sprintf("They are at line %d. Hunks stand in the order of the file, each below its @@ line.", at+1)
	case differs == len(want) && h.EndOfFile && at+len(want) < d.len():
		return fmt.Sprintf("They are at line %d. Leave out %s.", at+1, endOfFile)
	case differs == len(want):
		return fmt.Sprintf("The same lines with other indentation are at line %d, where the file reads\n%s%s", at+1,
			quote(have), copyThem)
	case differs == len(have):
		return fmt.Sprintf("The nearest place begins at line %d, but the file ends with line %d. %s", at+1, d.len(),
			copyThem)
	case len(want) == 1:
		return fmt.Sprintf("The nearest line is line %d, which reads\n%s%s", at+1, quote(have), copyThem)
	}
	return fmt.Sprintf("The nearest place begins at line %d, but from line %d on the file reads\n%s%s", at+1,
		at+differs+1, quote(have[differs:]), copyThem)
}

// unifiedHeader reports whether the hunk begins with the lines --- and +++ of a unified diff.
func (h Hunk) unifiedHeader() bool {
	return len(h.Lines) > 1 && h.Lines[0].Op == '-' && strings.HasPrefix(h.Lines[0].Text, "-- ") &&
		h.Lines[1].Op == '+' && strings.HasPrefix(h.Lines[1].Text, "++ ")
}

// after returns " after line N", or "" for line 0.
func after(line int) string {
	if line == 0 {
		return ""
	}
	return fmt.Sprintf(" after line %d", line)
}

// quote returns lines as an error shows them.
func quote(lines []string) string {
	var b strings.Builder
	for i, l := range fuzzy.Shortened(lines) {
		if i == maxQuoted {
			fmt.Fprintf(&b, "  ... %d more\n", len(lines)-i)
			break
		}
		b.WriteString("  " + l + "\n")
	}
	return b.String()
}
