package acp

import (
	"cmp"
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/patch"
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
	number, _, _ := strings.Cut(rest, " ")
	number, _, _ = strings.Cut(number, ",")
	n, _ := strconv.Atoi(number) // 0 if it is none
	return n
}

// intended returns the diffs that a call in a directory would make, as far as its arguments say.
func intended(dir string, args json.RawMessage) (content []callContent) {
	var a struct {
		File    string  `json:"file_path"`
		Old     *string `json:"old_string"`
		New     *string `json:"new_string"`
		Content *string `json:"content"`
		Patch   string  `json:"patch"`
		Input   string  `json:"input"`
	}
	if len(args) > maxInput || json.Unmarshal(args, &a) != nil {
		return nil
	}
	switch {
	case a.File != "" && a.Old != nil && a.New != nil:
		content = []callContent{{Type: "diff", Path: a.File, Old: a.Old, New: a.New}}
	case a.File != "" && a.Content != nil:
		content = []callContent{{Type: "diff", Path: a.File, New: a.Content}}
	default:
		content = diffsOfPatch(cmp.Or(a.Patch, a.Input))
	}
	for i := range content {
		if !filepath.IsAbs(content[i].Path) {
			content[i].Path = filepath.Join(dir, content[i].Path)
		}
	}
	return content
}

// diffsOfPatch returns the diffs of a patch, or nil if the text is no patch.
func diffsOfPatch(text string) (content []callContent) {
	ops, err := patch.Parse(text)
	if err != nil {
		return nil
	}
	for _, op := range ops {
		if op.Kind == patch.Add {
			content = append(content, callContent{Type: "diff", Path: op.Path, New: &op.Content})
		}
		for _, h := range op.Hunks {
			old, now := h.Texts()
			content = append(content, callContent{Type: "diff", Path: op.Path, Old: &old, New: &now})
		}
	}
	return content
}
