package patch

import (
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/textfile"
)

// document holds a file as lines while hunks are applied to it from its beginning to its end. Hunks
// change only lines from where the previous hunk ended, so the lines before that are kept apart,
// and no change moves the lines behind it.
type document struct {
	encoding textfile.Encoding
	bom      string
	done     []docLine // up to the end of the last hunk, as they are now
	lines    []docLine // all lines of the file as it was
	next     int       // the index of the first of lines that is not replaced by done
	crlf, lf int       // how many lines of the document have each ending
	views    []*view   // of lines, one for each way to compare them
}

type docLine struct{ text, ending string }

// newDocument returns the document of a file's content.
func newDocument(content string) *document {
	d := &document{views: views()}
	if rest, ok := strings.CutPrefix(content, textfile.BOM); ok {
		d.bom, content = textfile.BOM, rest
	}
	d.lines = make([]docLine, 0, strings.Count(content, "\n")+1)
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
		d.count(l, 1)
	}
	return d
}

// String returns the content of the file.
func (d *document) String() string {
	size := len(d.bom)
	parts := [][]docLine{d.done, d.lines[d.next:]}
	for _, lines := range parts {
		for _, l := range lines {
			size += len(l.text) + len(l.ending)
		}
	}
	var b strings.Builder
	b.Grow(size)
	b.WriteString(d.bom)
	for _, lines := range parts {
		for _, l := range lines {
			b.WriteString(l.text)
			b.WriteString(l.ending)
		}
	}
	return b.String()
}

// rewind makes the changed lines the file's, so that the next hunk is searched from the beginning.
func (d *document) rewind() {
	if kept := d.next - len(d.done); kept >= 0 {
		copy(d.lines[kept:], d.done)
		d.lines = d.lines[kept:]
	} else {
		d.lines = slices.Concat(d.done, d.lines[d.next:])
	}
	d.done, d.next, d.views = d.done[:0], 0, views()
}

// len returns the number of lines.
func (d *document) len() int { return len(d.done) + len(d.lines) - d.next }

// line returns the line at an index, to be read or changed.
func (d *document) line(i int) *docLine {
	if i < len(d.done) {
		return &d.done[i]
	}
	return &d.lines[d.next+i-len(d.done)]
}

// count adds n lines with this ending to the counts.
func (d *document) count(l docLine, n int) {
	switch l.ending {
	case "\r\n":
		d.crlf += n
	case "\n":
		d.lf += n
	}
}

// ending returns the line ending of most lines, which new lines get.
func (d *document) ending() string {
	if d.crlf > d.lf {
		return "\r\n"
	}
	return "\n"
}

// end gives a line without an ending this one.
func (d *document) end(l *docLine, ending string) {
	if l.ending == "" {
		l.ending = ending
		d.count(*l, 1)
	}
}

// texts returns the lines without their endings.
func (d *document) texts() []string {
	texts := make([]string, d.len())
	for i := range texts {
		texts[i] = d.line(i).text
	}
	return texts
}

// replace replaces the hunk's old lines at an index by its new ones, and returns the index behind
// them. Context keeps the file's text. The index is not before the end of the last hunk.
func (d *document) replace(at int, lines []HunkLine) int {
	ending := d.ending()
	if at > 0 && at == d.len() {
		d.end(d.line(at-1), ending)
	}
	kept := d.next + at - len(d.done)
	d.done = append(d.done, d.lines[d.next:kept]...)
	d.next = kept
	instead := ending
	for _, l := range lines {
		switch l.Op {
		case ' ':
			d.done = append(d.done, d.lines[d.next])
			d.next, instead = d.next+1, ending
		case '-': // its replacement gets its line ending
			old := d.lines[d.next]
			if old.ending != "" {
				instead = old.ending
			}
			d.count(old, -1)
			d.next++
		default:
			added := docLine{l.Text, instead}
			d.done = append(d.done, added)
			d.count(added, 1)
		}
	}
	last := len(d.done) - 1
	for i := at; i <= last; i++ { // a last line without an ending may have moved up
		if i < last || d.next < len(d.lines) {
			d.end(&d.done[i], ending)
		}
	}
	return len(d.done)
}
