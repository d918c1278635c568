package patch

import (
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/fuzzy"
)

// loose returns a line as the laxest comparison sees it.
func loose(line string) string { return strings.TrimSpace(plain(line)) }

func plain(line string) string { return strings.Map(fuzzy.Plain, line) }

// find returns the first index from which the lines equal the wanted ones, at or after from, or
// only at the end of the file. From is not before the end of the last hunk. If fits is not nil, it
// must accept the index.
func (d *document) find(want []string, from int, atEnd bool, fits func(at int) bool) (int, bool) {
	if atEnd {
		from = max(from, d.len()-len(want))
	}
	moved := len(d.done) - d.next // how far the lines behind the last hunk have moved
	var here func(at int) bool
	if fits != nil {
		here = func(at int) bool { return fits(at + moved) }
	}
	for _, v := range d.views {
		if at, ok := v.find(d.lines, want, from-moved, here); ok {
			return at + moved, true
		}
	}
	return 0, false
}

// apply applies the hunks in order and returns the numbers of those whose indentation it adapted.
func (d *document) apply(path string, hunks []Hunk) (reindented []int, err error) {
	at := 0
	for i, h := range hunks {
		next, adapted, err := d.applyHunk(h, at)
		if err != nil {
			err.Path, err.Hunk, err.Line = path, i+1, h.Line
			return nil, err
		}
		if adapted {
			reindented = append(reindented, i+1)
		}
		at = next
	}
	if n := d.len(); n > 0 {
		d.end(d.line(n-1), d.ending())
	}
	return reindented, nil
}

// applyHunk applies a hunk at or after an index. It returns the index behind the change, and
// whether it adapted the indentation.
func (d *document) applyHunk(h Hunk, from int) (next int, adapted bool, _ *Error) {
	at := from
	for _, hint := range h.Hints {
		found, ok := d.find([]string{hint}, at, false, nil)
		if !ok {
			return 0, false, d.hintNotFound(hint, at)
		}
		at = found + 1
	}
	lines := h.Lines
	if !slices.ContainsFunc(lines, func(l HunkLine) bool { return l.Op != '+' }) {
		if len(h.Hints) == 0 {
			at = d.len()
		}
		return d.replace(at, lines), false, nil
	}
	place, fresh, ok := d.locate(h, lines, at)
	if !ok { // models add an empty line after the last one
		if last := lines[len(lines)-1]; last.Op == ' ' && strings.TrimSpace(last.Text) == "" && len(lines) > 1 {
			lines = lines[:len(lines)-1]
			place, fresh, ok = d.locate(h, lines, at)
		}
	}
	if !ok {
		return 0, false, d.notFound(h, at)
	}
	return d.replace(place, fresh), !slices.Equal(fresh, lines), nil
}

// locate finds the hunk's old lines below its hints, or from the last hint on if the hunk repeats
// that line. It returns their index, and the hunk's lines with the file's indentation.
func (d *document) locate(h Hunk, lines []HunkLine, at int) (place int, fresh []HunkLine, ok bool) {
	fits := func(i int) (ok bool) {
		fresh, ok = d.reindent(lines, i)
		return ok
	}
	want := oldLines(lines)
	if place, ok := d.find(want, at, h.EndOfFile, fits); ok || len(h.Hints) == 0 {
		return place, fresh, ok
	}
	if place, ok := d.find(want, at-1, h.EndOfFile, fits); ok && place == at-1 {
		return place, fresh, true
	}
	return 0, nil, false
}

// oldLines returns the context and removed lines.
func oldLines(lines []HunkLine) []string {
	var want []string
	for _, l := range lines {
		if l.Op != '+' {
			want = append(want, l.Text)
		}
	}
	return want
}

// reindent returns the hunk's lines with the added ones indented as the file is at an index where
// its old lines are. It returns false if no one rule turns the indentation of the old lines into
// the file's.
func (d *document) reindent(lines []HunkLine, at int) ([]HunkLine, bool) {
	var want, have, added []string
	blank, addsBlank := true, true
	for _, l := range lines {
		empty := strings.TrimSpace(l.Text) == ""
		if l.Op == '+' {
			added = append(added, l.Text)
			addsBlank = addsBlank && empty
			continue
		}
		want, have = append(want, plain(l.Text)), append(have, plain(d.line(at+len(have)).text))
		blank = blank && empty
	}
	if blank || addsBlank {
		return lines, true
	}
	rule, ok := fuzzy.FindIndent(want, have)
	if !ok {
		return nil, false
	}
	if added, ok = rule.Apply(added); !ok {
		return nil, false
	}
	fresh := slices.Clone(lines)
	for i, l := range fresh {
		if l.Op == '+' {
			fresh[i].Text, added = added[0], added[1:]
		}
	}
	return fresh, true
}
