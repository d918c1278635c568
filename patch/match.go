package patch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/fuzzy"
)

// document is a file as lines, each with its own ending.
type document struct {
	bom   string
	lines []docLine
}

type docLine struct{ text, ending string }

const bom = "\uFEFF"

func newDocument(content string) *document {
	d := new(document)
	if rest, ok := strings.CutPrefix(content, bom); ok {
		d.bom, content = bom, rest
	}
	for content != "" {
		line, rest, found := strings.Cut(content, "\n")
		l := docLine{text: line}
		if found {
			l.ending = "\n"
			if text, cr := strings.CutSuffix(line, "\r"); cr {
				l.text, l.ending = text, "\r\n"
			}
		}
		d.lines, content = append(d.lines, l), rest
	}
	return d
}

func (d *document) String() string {
	var b strings.Builder
	b.WriteString(d.bom)
	for _, l := range d.lines {
		b.WriteString(l.text + l.ending)
	}
	return b.String()
}

// ending is what new lines end with: what most lines of the file do.
func (d *document) ending() string {
	crlf, lf := 0, 0
	for _, l := range d.lines {
		switch l.ending {
		case "\r\n":
			crlf++
		case "\n":
			lf++
		}
	}
	if crlf > lf {
		return "\r\n"
	}
	return "\n"
}

// comparisons are the ways in which a line of a patch can be like one of a file, the strictest first.
func comparisons() []func(string) string {
	return []func(string) string{
		func(s string) string { return s },
		func(s string) string { return strings.TrimRight(s, " \t\r") },
		strings.TrimSpace,
		func(s string) string { return strings.TrimSpace(strings.Map(fuzzy.Plain, s)) },
	}
}

// find looks for lines from a place on, or only at the end of the file.
func (d *document) find(want []string, from int, atEnd bool) (int, bool) {
	for _, like := range comparisons() {
		wanted := make([]string, len(want))
		for i, w := range want {
			wanted[i] = like(w)
		}
		first := from
		if atEnd {
			first = max(from, len(d.lines)-len(want))
		}
		for i := first; i+len(want) <= len(d.lines); i++ {
			if d.matches(wanted, i, like) {
				return i, true
			}
		}
	}
	return 0, false
}

func (d *document) matches(wanted []string, at int, like func(string) string) bool {
	for j, w := range wanted {
		if like(d.lines[at+j].text) != w {
			return false
		}
	}
	return true
}

// apply makes all hunks' changes, in forward order.
func (d *document) apply(path string, hunks []Hunk) error {
	at := 0
	for i, h := range hunks {
		next, err := d.applyHunk(h, at)
		if err != nil {
			err.Path, err.Hunk, err.Line = path, i+1, h.Line
			return err
		}
		at = next
	}
	ending := d.ending()
	if n := len(d.lines); n > 0 && d.lines[n-1].ending == "" {
		d.lines[n-1].ending = ending
	}
	return nil
}

// applyHunk returns the place behind its change.
func (d *document) applyHunk(h Hunk, from int) (int, *Error) {
	at := from
	for _, hint := range h.Hints {
		found, ok := d.find([]string{hint}, at, false)
		if !ok {
			return 0, &Error{Text: fmt.Sprintf("there is no line %q after line %d of the file", hint, at)}
		}
		at = found + 1
	}
	lines := h.Lines
	if !slices.ContainsFunc(lines, func(l HunkLine) bool { return l.Op != '+' }) {
		if len(h.Hints) == 0 {
			at = len(d.lines)
		}
		return d.replace(at, lines), nil
	}
	place, ok := d.locate(h, lines, at)
	if !ok { // models leave an empty line behind the last one
		if last := lines[len(lines)-1]; last.Op == ' ' && strings.TrimSpace(last.Text) == "" && len(lines) > 1 {
			lines = lines[:len(lines)-1]
			place, ok = d.locate(h, lines, at)
		}
	}
	if !ok {
		return 0, d.notFound(h, at)
	}
	return d.replace(place, lines), nil
}

// locate finds the hunk's old lines behind its hints; or from the last hint on, when the hunk repeats that line.
func (d *document) locate(h Hunk, lines []HunkLine, at int) (int, bool) {
	want := old(lines)
	if place, ok := d.find(want, at, h.EndOfFile); ok || len(h.Hints) == 0 {
		return place, ok
	}
	if place, ok := d.find(want, at-1, h.EndOfFile); ok && place == at-1 {
		return place, true
	}
	return 0, false
}

func old(lines []HunkLine) []string {
	var want []string
	for _, l := range lines {
		if l.Op != '+' {
			want = append(want, l.Text)
		}
	}
	return want
}

// replace puts the hunk's lines in the place of its old ones. Context stays as it is in the file.
func (d *document) replace(at int, lines []HunkLine) int {
	ending := d.ending()
	if at > 0 && at == len(d.lines) && d.lines[at-1].ending == "" {
		d.lines[at-1].ending = ending
	}
	var fresh []docLine
	i, instead := at, ending
	for _, l := range lines {
		switch l.Op {
		case ' ':
			fresh = append(fresh, d.lines[i])
			i, instead = i+1, ending
		case '-': // what comes in its place ends as it did
			if d.lines[i].ending != "" {
				instead = d.lines[i].ending
			}
			i++
		default:
			fresh = append(fresh, docLine{l.Text, instead})
		}
	}
	for j := range fresh { // a last line without an end may have moved up
		if fresh[j].ending == "" && (j < len(fresh)-1 || i < len(d.lines)) {
			fresh[j].ending = ending
		}
	}
	d.lines = slices.Concat(d.lines[:at], fresh, d.lines[i:])
	return at + len(fresh)
}

// notFound shows what the hunk wants and the place in the file that is most like it.
func (d *document) notFound(h Hunk, from int) *Error {
	want := old(h.Lines)
	where := ""
	if h.EndOfFile {
		where = " at the end of the file"
	} else if from > 0 {
		where = fmt.Sprintf(" after line %d of the file", from)
	}
	text := fmt.Sprintf("its old lines were not found%s:\n%s", where, quote(want, 10))
	like := comparisons()[3]
	best, most := -1, 0
	for i := range d.lines {
		same := 0
		for j, w := range want {
			if i+j < len(d.lines) && w != "" && like(d.lines[i+j].text) == like(w) {
				same++
			}
		}
		if same > most {
			best, most = i, same
		}
	}
	if best < 0 {
		return &Error{Text: text + "Nothing in the file is like them: read the file again."}
	}
	for j, w := range want {
		if best+j < len(d.lines) && like(d.lines[best+j].text) != like(w) {
			return &Error{Text: text + fmt.Sprintf("The nearest place is line %d, but line %d reads\n  %s\nwhere the hunk has\n  %s",
				best+1, best+j+1, d.lines[best+j].text, w)}
		}
	}
	return &Error{Text: text + fmt.Sprintf("They are at line %d, before that place or not at the file's end; hunks stand in the order of the file.", best+1)}
}

func quote(lines []string, limit int) string {
	var b strings.Builder
	for i, l := range lines {
		if i == limit {
			fmt.Fprintf(&b, "  ... %d more\n", len(lines)-limit)
			break
		}
		b.WriteString("  " + l + "\n")
	}
	return b.String()
}
