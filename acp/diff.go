package acp

import (
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/tool"
)

// diffsOf returns the diffs of a change, one for each place in the file.
func diffsOf(c tool.Change) (content []callContent) {
	hunks := hunksOf(c.Diff)
	for i, h := range hunks {
		d := callContent{Type: "diff", Path: c.Path, New: &h.now}
		if c.Kind != tool.Created || i > 0 {
			d.Old = &h.old
		}
		content = append(content, d)
	}
	if len(hunks) == 0 {
		text := string(c.Kind) + " " + coded(oneLine(c.Path))
		if c.From != "" {
			text += " from " + coded(oneLine(c.From))
		}
		content = append(content, textContent(text))
	}
	if c.DiffCut {
		content = append(content, textContent("The diff is longer; its rest is not shown."))
	}
	return content
}

// changedPlaces returns where a call has changed files.
func changedPlaces(changes []tool.Change) (places []location) {
	for _, c := range changes {
		at := location{Path: c.Path}
		if hunks := hunksOf(c.Diff); len(hunks) > 0 {
			at.Line = hunks[0].line
		}
		places = append(places, at)
	}
	return places
}

// hunk is a place in a file before and after a change.
type hunk struct {
	old, now string
	line     int // of the first change in the new file, from 1
}

// hunksOf returns the hunks of a unified diff of one file.
func hunksOf(diff string) (hunks []hunk) {
	line, changed := 0, false
	for text := range strings.Lines(diff) {
		if strings.HasPrefix(text, "@@ ") {
			line, changed = newStart(text), false
			hunks = append(hunks, hunk{line: max(line, 1)})
			continue
		}
		if len(hunks) == 0 || text[0] == '\\' { // the header, and that the line before has no end
			continue
		}
		h := &hunks[len(hunks)-1]
		if text[0] != ' ' && !changed {
			h.line, changed = max(line, 1), true
		}
		if text[0] != '+' {
			h.old += text[1:]
		}
		if text[0] != '-' {
			h.now += text[1:]
			line++
		}
	}
	return hunks
}

// newStart returns the first line of a hunk in the new file.
func newStart(header string) int {
	_, rest, _ := strings.Cut(header, "+")
	n := 0
	_, _ = fmt.Sscanf(rest, "%d", &n) // 0 if it is none
	return n
}
