package render

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// foldMark begins each row but the first of a line that a terminal is too narrow for, so that no
// such row looks like a line of the program.
const foldMark = "    ┊ "

// The most blanks in a row, and the most empty lines, that a question shows as they are. Code is
// indented and divided with fewer, and a terminal has more columns and rows.
const (
	maxBlanks     = 60
	maxEmptyLines = 10
)

// InRows returns a clean text whose rows have at most width columns, for a person who decides about
// it: a terminal would begin the next row of a long line at its edge, where lines of the program
// begin. A row ends behind a blank if there is one near its end, and else anywhere. A width below 1
// means that it is not known, and the text stays as it is.
func InRows(text string, width int) string {
	if width < 1 {
		return text
	}
	width = max(width, len(foldMark)+minColumns)
	var b strings.Builder
	row, place := 0, 0   // where the row begins in the text, and where the next grapheme does
	at := 0              // the columns of the row
	word, before := 0, 0 // where its last word begins, and the columns before it; 0 for none
	for g := displaywidth.StringGraphemes(text); g.Next(); {
		value := g.Value()
		columns := columnsOf(value)
		switch {
		case strings.HasSuffix(value, "\n"):
			at, columns, before = 0, 0, 0
		case at > 0 && at+columns > width:
			if room := width - Width(foldMark) - columns; before == 0 || at-before > min(room, width/3) {
				word, before = place, at
			}
			b.WriteString(text[row:word] + "\n" + foldMark)
			row, at, before = word, Width(foldMark)+at-before, 0
		}
		at += columns
		if place += len(value); value == " " {
			word, before = place, at
		}
	}
	return b.String() + text[row:]
}

// columnsOf returns the most columns that a terminal may use for a grapheme: some draw its
// characters one by one, and a tab leads to a multiple of eight.
func columnsOf(grapheme string) (columns int) {
	for _, r := range grapheme {
		if r == '\t' {
			columns += 8
			continue
		}
		columns += displaywidth.Rune(r)
	}
	return columns
}

// squeezed returns a text in which long runs of white space are replaced by their length, so that
// they cannot push the rest of a call out of sight.
func squeezed(text string) string { return blankRun().ReplaceAllStringFunc(text, squeezedRun) }

// blankRun matches a run of what [unicode.IsSpace] reports.
var blankRun = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[\s\v\x{85}\p{Z}]+`) })

// squeezedRun returns a run of white space, or its length in words if it is long. What is before
// the first line end and after the last one stays, unless it is long itself.
func squeezedRun(run string) string {
	long := strings.Count(run, "\n") > maxEmptyLines+1
	for line := range strings.SplitSeq(run, "\n") {
		long = long || columnsOf(line) > maxBlanks
	}
	if !long {
		return run
	}
	count := func(text string) string { return fmt.Sprintf("[%d blanks]", utf8.RuneCountInString(text)) }
	first, last := strings.Index(run, "\n"), strings.LastIndex(run, "\n")
	if first < 0 {
		return count(run)
	}
	before, after := run[:first], run[last+1:]
	if columnsOf(before) > maxBlanks {
		before = count(before)
	}
	if columnsOf(after) > maxBlanks {
		after = "  " + count(after)
	}
	between := "\n"
	if first < last {
		between = "\n  " + count(run[first+1:last]) + "\n"
	}
	return before + between + after
}
