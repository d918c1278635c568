package render

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/tool"
)

// maxDiffLines limits the lines of a change that are shown, and maxDiffBytes the bytes of each.
const (
	maxDiffLines = 20
	maxDiffBytes = 2000
)

// diffLine holds a line of a unified diff with its number, in the old file if it was removed, else
// in the new one.
type diffLine struct {
	number int
	sign   byte // +, -, space, or @ between two hunks
	text   string
	open   bool // the line is the last of its file, and has no end
}

// Diff returns a change as lines with numbers, in colour: the lines that are new or gone, and those
// around them. If there are more than most lines, the rest is left out; 0 means all of them. It
// returns nothing if the change has no diff.
func Diff(style Style, c tool.Change, most int) []string {
	all := diffLines(c.Diff)
	shown := all
	if most > 0 && len(all) > most+1 {
		shown = all[:most]
	}
	digits := 1
	for _, l := range shown {
		digits = max(digits, len(strconv.Itoa(l.number)))
	}
	var lines []string
	for _, l := range shown {
		lines = append(lines, l.render(style, digits))
	}
	switch {
	case len(shown) < len(all):
		lines = append(lines, style.paint(dim, fmt.Sprintf("    … %s", Count(len(all)-len(shown), "more line"))))
	case c.DiffCut:
		lines = append(lines, style.paint(dim, "    … the rest of the diff was too long"))
	}
	return lines
}

// render returns the line as text.
func (l diffLine) render(style Style, digits int) string {
	if l.sign == '@' {
		return "  " + style.paint(dim, strings.Repeat(" ", max(digits-1, 0))+"⋮")
	}
	text := sanitize.Text(strings.TrimSuffix(l.text, "\r"))
	if len(text) > maxDiffBytes {
		text = Fit(text, maxDiffBytes/4)
	}
	text = strings.ReplaceAll(text, "\t", "    ")
	if style.Width > 0 {
		text = Fit(text, max(style.Width-digits-5, minColumns))
	}
	number := fmt.Sprintf("  %*d ", digits, l.number)
	switch l.sign {
	case '+':
		return style.paint(dim, number) + style.paint(green, "+ "+text)
	case '-':
		return style.paint(dim, number) + style.paint(red, "- "+text)
	}
	return strings.TrimRight(style.paint(dim, number)+"  "+text, " ")
}

// diffLines returns the lines of a unified diff of one file. It skips lines that do not fit the
// format.
func diffLines(diff string) (list []diffLine) {
	var before, after int
	inHunk := false
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		if from, to, ok := hunk(line); ok {
			before, after = from, to
			if inHunk {
				list = append(list, diffLine{sign: '@'})
			}
			inHunk = true
			continue
		}
		if !inHunk || line == "" { // the names
			continue
		}
		if line[0] == '\\' && len(list) > 0 { // the sign of a missing line end
			list[len(list)-1].open = true
			continue
		}
		switch l := (diffLine{sign: line[0], text: line[1:]}); line[0] {
		case '-':
			l.number = before
			before++
			list = append(list, l)
		case '+', ' ':
			l.number = after
			after++
			if line[0] == ' ' {
				before++
			}
			list = append(list, l)
		}
	}
	return list
}

// hunk returns where a hunk begins in both files.
func hunk(line string) (before, after int, ok bool) {
	found := hunkLine().FindStringSubmatch(line)
	if found == nil {
		return 0, 0, false
	}
	before, err1 := strconv.Atoi(found[1])
	after, err2 := strconv.Atoi(found[2])
	return before, after, err1 == nil && err2 == nil
}

// hunkLine matches the line at which a hunk begins.
var hunkLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@`)
})

// diffs appends the diffs of what a call changed. With several files each has a line with its name.
func (s *Session) diffs(changes []tool.Change) {
	for _, c := range changes {
		lines := Diff(s.style, c, maxDiffLines)
		if len(lines) == 0 {
			continue
		}
		if len(changes) > 1 {
			s.line("  %s", s.paint(bold, OneLine(relative(s.dir, c.Path))))
		}
		for _, line := range lines {
			s.line("%s", line)
		}
	}
}
