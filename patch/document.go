package patch

import (
	"slices"
	"strings"
)

// document holds a file as lines, each with its own ending.
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

// ending returns the line ending of most lines, which new lines get.
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

// texts returns the lines without their endings.
func (d *document) texts() []string {
	texts := make([]string, len(d.lines))
	for i, l := range d.lines {
		texts[i] = l.text
	}
	return texts
}

// replace replaces the hunk's old lines at an index by its new ones, and returns the index behind them. Context keeps the file's text.
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
		case '-': // its replacement gets its line ending
			if d.lines[i].ending != "" {
				instead = d.lines[i].ending
			}
			i++
		default:
			fresh = append(fresh, docLine{l.Text, instead})
		}
	}
	for j := range fresh { // a last line without an ending may have moved up
		if fresh[j].ending == "" && (j < len(fresh)-1 || i < len(d.lines)) {
			fresh[j].ending = ending
		}
	}
	d.lines = slices.Concat(d.lines[:at], fresh, d.lines[i:])
	return at + len(fresh)
}
