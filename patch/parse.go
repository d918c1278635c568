package patch

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/attractor-go/attractor/internal/texts"
)

// Kind identifies an operation.
type Kind uint8

// Kinds of operations.
const (
	Add Kind = iota + 1
	Delete
	Update
)

// Op holds one operation of a patch.
type Op struct {
	Kind Kind
	Path string
	// MoveTo holds the new path of an update, or "" if the file is not renamed.
	MoveTo  string
	Content string // of an Add
	Hunks   []Hunk // of an Update
	Line    int    // of the patch, from 1
}

// Hunk holds one change of an update.
type Hunk struct {
	// Hints holds the context lines to find first, outermost first.
	Hints []string
	Lines []HunkLine
	// EndOfFile reports whether the hunk's last line must be the file's.
	EndOfFile bool
	Line      int // of the patch, from 1
}

// Texts returns the lines of the hunk before and after the change.
func (h *Hunk) Texts() (before, after string) {
	var old, now strings.Builder
	for _, line := range h.Lines {
		if line.Op != '+' {
			old.WriteString(line.Text + "\n")
		}
		if line.Op != '-' {
			now.WriteString(line.Text + "\n")
		}
	}
	return old.String(), now.String()
}

// HunkLine holds a line of a hunk.
type HunkLine struct {
	Op   byte // ' ' for context, '-' for removed, '+' for added
	Text string
}

// Error reports what is wrong with a patch, to the model that wrote it.
type Error struct {
	Path string // of the file, if the error concerns one
	Hunk int    // of the file, from 1, or 0
	Line int    // of the patch, from 1, or 0
	Text string
	Err  error // the cause, if there is one
	Torn bool  // part of the patch was written and could not be restored
}

// Error returns the file, the hunk, the line of the patch and the text.
func (e *Error) Error() string {
	var where []string
	if e.Path != "" {
		where = append(where, texts.Shown(e.Path))
	}
	if e.Hunk > 0 {
		where = append(where, fmt.Sprintf("hunk %d", e.Hunk))
	}
	if e.Line > 0 {
		where = append(where, fmt.Sprintf("line %d of the patch", e.Line))
	}
	if len(where) == 0 {
		return e.Text
	}
	return strings.Join(where, ", ") + ": " + e.Text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

const (
	begin     = "*** Begin Patch"
	end       = "*** End Patch"
	addFile   = "*** Add File:"
	delFile   = "*** Delete File:"
	updFile   = "*** Update File:"
	moveTo    = "*** Move to:"
	endOfFile = "*** End of File"

	operations = addFile + " PATH, " + updFile + " PATH or " + delFile + " PATH"
)

// Parse reads a patch. It accepts what [Unwrap] removes, whose directory it puts in front of the
// paths, and white space around the lines that begin with ***. It rejects a text without the end
// marker, which may have been cut off.
func Parse(text string) ([]Op, error) {
	text, dir := Unwrap(text)
	lines := strings.Split(strings.TrimSpace(text), "\n")
	last := len(lines) - 1
	if strings.TrimSpace(lines[0]) != begin {
		return nil, &Error{Text: noBegin(lines), Line: 1}
	}
	if last == 0 || strings.TrimSpace(lines[last]) != end {
		return nil, noEnd(lines)
	}
	p := parser{lines: lines[1:last], dir: dir}
	for p.skipBlank(); !p.done(); p.skipBlank() {
		op, err := p.operation()
		if err != nil {
			return nil, err
		}
		p.ops = append(p.ops, op)
	}
	if len(p.ops) == 0 {
		return nil, &Error{Text: "the patch is empty: it has no " + operations}
	}
	return p.ops, nil
}

type parser struct {
	lines []string // between the markers
	dir   string   // of the paths
	at    int
	ops   []Op
}

func (p *parser) done() bool { return p.at >= len(p.lines) }

// line returns the number of the current line in the patch. The first of lines is the patch's
// second.
func (p *parser) line() int { return p.at + 2 }

func (p *parser) skipBlank() {
	for !p.done() && strings.TrimSpace(p.lines[p.at]) == "" {
		p.at++
	}
}

// header reports whether the current line begins an operation. A leading space would make it
// context of a hunk.
func (p *parser) header() bool {
	for _, h := range []string{addFile, delFile, updFile} {
		if strings.HasPrefix(p.lines[p.at], h) {
			return true
		}
	}
	return false
}

// operation reads the operation that begins at the current line.
func (p *parser) operation() (Op, error) {
	op := Op{Line: p.line()}
	line := strings.TrimSpace(p.lines[p.at])
	for h, kind := range map[string]Kind{addFile: Add, delFile: Delete, updFile: Update} {
		if name, ok := strings.CutPrefix(line, h); ok {
			op.Kind, op.Path = kind, strings.TrimSpace(name)
		}
	}
	if op.Kind == 0 {
		return op, &Error{Line: op.Line, Text: noOperation(line)}
	}
	var err error
	if op.Path, err = p.path(op.Path); err != nil {
		return op, err
	}
	p.at++
	switch op.Kind {
	case Add:
		return op, p.content(&op)
	case Update:
		return op, p.update(&op)
	}
	return op, nil
}

// path checks a path of the current line and returns it relative to the working directory.
func (p *parser) path(name string) (string, error) {
	switch {
	case name == "":
		return "", &Error{Line: p.line(), Text: "the path is missing"}
	case strings.IndexFunc(p.dir+name, unicode.IsControl) >= 0:
		return "", &Error{Line: p.line(), Text: fmt.Sprintf("the path %q has control characters in it",
			path.Join(p.dir, name))}
	case p.dir == "" || path.IsAbs(name):
		return name, nil
	case slices.Contains(strings.Split(name, "/"), ".."): // dir may be a link, so path.Join could name another file
		return "", &Error{Line: p.line(),
			Text: fmt.Sprintf("the path %q goes up from a directory that cd has changed to; leave the cd out and "+
				"write paths from the working directory", name)}
	}
	return path.Join(p.dir, name), nil
}

// content reads the lines of a new file.
func (p *parser) content(op *Op) error {
	var b strings.Builder
	for ; !p.done() && !p.header() && !p.blankToHeader(); p.at++ {
		text, ok := strings.CutPrefix(p.lines[p.at], "+")
		if !ok {
			return &Error{Path: op.Path, Line: p.line(),
				Text: fmt.Sprintf("each line of a new file begins with +, got %.200q", p.lines[p.at])}
		}
		b.WriteString(text + "\n")
	}
	op.Content = b.String()
	return nil
}

// blankToHeader reports whether only blank lines come before the next operation or the end.
func (p *parser) blankToHeader() bool {
	for _, line := range p.lines[p.at:] {
		if strings.TrimSpace(line) != "" {
			return strings.TrimSpace(p.lines[p.at]) == "" && strings.HasPrefix(strings.TrimSpace(line), "*** ")
		}
	}
	return true
}

// update reads the new name and the hunks of an update.
func (p *parser) update(op *Op) error {
	if !p.done() {
		if name, ok := strings.CutPrefix(strings.TrimSpace(p.lines[p.at]), moveTo); ok {
			var err error
			if op.MoveTo, err = p.path(strings.TrimSpace(name)); err != nil {
				return err
			}
			p.at++
		}
	}
	for !p.done() && !p.header() && !p.blankToHeader() {
		h, err := p.hunk(op.Path, len(op.Hunks)+1)
		if err != nil {
			return err
		}
		op.Hunks = append(op.Hunks, h)
	}
	if len(op.Hunks) == 0 {
		return &Error{Path: op.Path, Line: op.Line,
			Text: "the update has no hunks. Write what changes, with @@ before it; to move a file unchanged, run mv"}
	}
	return nil
}

// hunk reads the @@ lines, which the first hunk of a file may omit, and the lines up to the next
// hunk or operation.
func (p *parser) hunk(file string, number int) (Hunk, error) {
	h := Hunk{Line: p.line()}
	for ; !p.done() && strings.HasPrefix(p.lines[p.at], "@@"); p.at++ {
		hint := strings.TrimSuffix(strings.TrimSpace(strings.TrimPrefix(p.lines[p.at], "@@")), "@@")
		if hint = strings.TrimSpace(hint); hint != "" {
			h.Hints = append(h.Hints, hint)
		}
	}
	changed := false
	for ; !p.done() && !p.header() && !strings.HasPrefix(p.lines[p.at], "@@"); p.at++ {
		line := p.lines[p.at]
		if strings.TrimSpace(line) == endOfFile {
			h.EndOfFile = true
			p.at++
			break
		}
		if line == "" {
			line = " " // models omit the space of an empty context line
		}
		switch line[0] {
		case '+', '-':
			changed = true
			fallthrough
		case ' ':
			h.Lines = append(h.Lines, HunkLine{Op: line[0], Text: line[1:]})
		default:
			return h, &Error{Path: file, Hunk: number, Line: p.line(),
				Text: fmt.Sprintf("a line of a hunk begins with a space, + or -, got %.200q. Put a space before a "+
					"line that stays, and leave out what is not in the file", line)}
		}
	}
	if !changed {
		return h, &Error{Path: file, Hunk: number, Line: h.Line,
			Text: "the hunk changes nothing: it has no line with + or -"}
	}
	return h, nil
}
