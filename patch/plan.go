package patch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/internal/textfile"
	"github.com/attractor-go/attractor/internal/texts"
)

// Files reads and writes the files that a patch changes. Paths are those of the patch, cleaned.
type Files interface {
	// Read returns the content and mode of a regular file. The error is fs.ErrNotExist if the file
	// does not exist, and another one if the path must not be used, even if the file would be new.
	Read(ctx context.Context, name string) (data []byte, perm fs.FileMode, err error)
	// Write replaces a file atomically, or creates it with its parents. Before points to the
	// expected content, or is nil if no file is expected. An implementation may refuse to write if
	// it finds something else.
	Write(ctx context.Context, name string, before *string, data []byte, perm fs.FileMode) error
	// Remove removes a file. Before is its expected content.
	Remove(ctx context.Context, name, before string) error
}

// newPerm holds the mode of files that a patch adds.
const newPerm = 0o644

// Change reports what one operation does to one file.
type Change struct {
	// Letter holds A for added, D for deleted, M for modified, or R for renamed and possibly
	// modified.
	Letter byte
	Path   string
	To     string // the new path of an R
	// Replaced reports whether an Add or a move replaced a file that existed.
	Replaced bool
	// Reindented holds the numbers, from 1, of the hunks whose indentation was adapted to the
	// file's.
	Reindented []int
	// Kept names what a replaced file kept although the new content lacks it, such as CRLF line
	// ends. Changed is a sentence about what it did not keep.
	Kept, Changed string
}

// String returns the change on one line, "M path" or "R path -> path", with unusual names quoted.
// Parentheses hold what the patch did not ask for.
func (c Change) String() string {
	line := string(c.Letter) + " " + texts.Shown(c.Path)
	if c.Letter == 'R' {
		line += " -> " + texts.Shown(c.To)
	}
	if c.Replaced {
		line += " (replaced a file that existed)"
	}
	if n := len(c.Reindented); n > 0 {
		line += " (the indentation of " + hunkNumbers(c.Reindented) + " was adapted to the file's)"
	}
	if c.Kept != "" {
		line += " (it kept its " + c.Kept + ")"
	}
	if c.Changed != "" {
		line += " (" + c.Changed + ")"
	}
	return line
}

// hunkNumbers returns "hunk 1", or "hunks 1, 2 and 5".
func hunkNumbers(numbers []int) string {
	last := len(numbers) - 1
	if last == 0 {
		return fmt.Sprintf("hunk %d", numbers[0])
	}
	var list []string
	for _, n := range numbers[:last] {
		list = append(list, strconv.Itoa(n))
	}
	return fmt.Sprintf("hunks %s and %d", strings.Join(list, ", "), numbers[last])
}

// Plan holds a patch whose hunks were matched and that is ready to be applied.
type Plan struct {
	Changes []Change

	files    Files
	mayWrite func(name string) bool // although the file is read-only; nil means never
	states   map[string]*state
	order    []string // of the states, as the patch touches them
}

// state holds a file before and after the patch.
type state struct {
	existed, exists bool
	before, after   string
	lines           *document // what is after the patch, instead of after, while operations update it
	perm            fs.FileMode
}

// content returns what the file holds after the patch.
func (s *state) content() string {
	if s.lines != nil {
		s.after, s.lines = s.lines.String(), nil
	}
	return s.after
}

// NewPlan reads the files that the operations touch and matches every hunk, without changing
// anything. A later operation sees the result of an earlier one. mayWrite reports whether a file
// without write permission may be changed; nil means that none may.
func NewPlan(ctx context.Context, files Files, ops []Op, mayWrite func(name string) bool) (*Plan, error) {
	p := &Plan{files: files, mayWrite: mayWrite, states: map[string]*state{}}
	for _, op := range ops {
		change, err := p.operation(ctx, op)
		if err != nil {
			return nil, err
		}
		p.Changes = append(p.Changes, change)
	}
	return p, nil
}

// load returns the state of a file, which it reads the first time.
func (p *Plan) load(ctx context.Context, op Op, name string) (*state, error) {
	name = path.Clean(name)
	if s := p.states[name]; s != nil {
		return s, nil
	}
	data, perm, err := p.files.Read(ctx, name)
	content := string(data)
	s := &state{existed: true, exists: true, before: content, after: content, perm: perm}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s = &state{perm: newPerm}
	case err != nil:
		return nil, &Error{Path: name, Line: op.Line, Text: err.Error(), Err: err}
	case perm&0o222 == 0 && (p.mayWrite == nil || !p.mayWrite(name)):
		return nil, &Error{Path: name, Line: op.Line, Text: fmt.Sprintf("the file is read-only (mode %v)", perm),
			Err: fs.ErrPermission}
	}
	p.states[name] = s
	p.order = append(p.order, name)
	return s, nil
}

// operation changes the states as an operation does, and returns its change.
func (p *Plan) operation(ctx context.Context, op Op) (Change, error) {
	s, err := p.load(ctx, op, op.Path)
	if err != nil {
		return Change{}, err
	}
	name := path.Clean(op.Path)
	if op.Kind == Add {
		return s.add(name, op)
	}
	if !s.exists {
		return Change{}, missing(op, name, s)
	}
	if op.Kind == Delete {
		s.exists, s.after, s.lines = false, "", nil
		return Change{Letter: 'D', Path: name}, nil
	}
	if err := s.open(name, op); err != nil {
		return Change{}, err
	}
	reindented, err := s.lines.apply(name, op.Hunks)
	if err != nil {
		return Change{}, err
	}
	change, err := p.move(ctx, op, name, s)
	change.Reindented = reindented
	return change, err
}

// add replaces the content by that of an operation. It keeps the form of a file that existed before
// the patch.
func (s *state) add(name string, op Op) (Change, error) {
	change := Change{Letter: 'A', Path: name, Replaced: s.exists}
	if s.exists {
		change.Letter = 'M'
	}
	fresh := op.Content
	if s.existed {
		form := textfile.Of(s.before)
		if err := refuse(name, op, form.Encoding, textfile.Foreign(op.Content)); err != nil {
			return Change{}, err
		}
		fresh, change.Kept, change.Changed = form.Keep(op.Content)
	}
	s.exists, s.after, s.lines = true, fresh, nil
	return change, nil
}

// refuse returns the error of an operation that would put a character into a content that cannot
// take it, or that is in UTF-16.
func refuse(name string, op Op, encoding textfile.Encoding, char string) error {
	switch {
	case encoding == textfile.UTF16:
		return &Error{Path: name, Line: op.Line, Text: "the file " + textfile.RefusalUTF16(name)}
	case encoding == textfile.Unknown && char != "":
		return &Error{Path: name, Line: op.Line, Text: "the file " + textfile.Refusal(name, char)}
	}
	return nil
}

// open makes the lines of the content ready for the hunks of an operation.
func (s *state) open(name string, op Op) error {
	if s.lines != nil {
		if err := refuse(name, op, s.lines.encoding, added(op)); err != nil {
			return err
		}
		s.lines.rewind()
		return nil
	}
	form := textfile.Of(s.after)
	if err := refuse(name, op, form.Encoding, added(op)); err != nil {
		return err
	}
	if form.Encoding == textfile.Binary {
		return &Error{Path: name, Line: op.Line, Text: "the file is binary and cannot be patched"}
	}
	s.lines = newDocument(s.after)
	s.lines.encoding = form.Encoding
	return nil
}

// added returns the first character beyond ASCII in the lines that an operation adds, or "".
func added(op Op) string {
	for _, h := range op.Hunks {
		for _, l := range h.Lines {
			if l.Op != '+' {
				continue
			}
			if char := textfile.Foreign(l.Text); char != "" {
				return char
			}
		}
	}
	return ""
}

// missing returns the error of an operation whose file does not exist.
func missing(op Op, name string, s *state) *Error {
	e := &Error{Path: name, Line: op.Line, Text: "the file does not exist", Err: fs.ErrNotExist}
	switch {
	case s.existed:
		e.Text, e.Err = "the file does not exist any more: an operation above has deleted or moved it", nil
	case op.Kind == Update:
		e.Text += ". To create it, use " + strings.TrimSuffix(addFile, ":")
	}
	return e
}

// move completes an update, under its new name if it has one.
func (p *Plan) move(ctx context.Context, op Op, name string, s *state) (Change, error) {
	to := path.Clean(op.MoveTo)
	if op.MoveTo == "" || to == name {
		return Change{Letter: 'M', Path: name}, nil
	}
	target, err := p.load(ctx, op, to)
	if err != nil {
		return Change{}, err
	}
	change := Change{Letter: 'R', Path: name, To: to, Replaced: target.exists}
	target.exists, target.after, target.lines = true, s.content(), nil
	if !target.existed {
		target.perm = s.perm
	}
	s.exists, s.after = false, ""
	return change, nil
}

// Apply writes the changes. If a write fails, it restores the files written before it; the error
// names those that it could not restore. Apply must be called only once.
func (p *Plan) Apply(ctx context.Context) error {
	for i, name := range p.order {
		s := p.states[name]
		if err := p.write(ctx, name, s.existed, s.exists, s.before, s.content(), s.perm); err != nil {
			problem := fmt.Sprintf("cannot write it: %v", err)
			// Half a patch is worse than none, so the files are restored even if the context has
			// ended.
			left := p.putBack(context.WithoutCancel(ctx), p.order[:i+1])
			torn := len(left) > 0
			if torn {
				problem += ". These files could not be put back as they were: " + strings.Join(left, ", ")
			} else {
				problem += ". Nothing was changed"
			}
			return &Error{Path: name, Text: problem, Err: err, Torn: torn}
		}
	}
	return nil
}

// write makes a file what it shall be, given what it is.
func (p *Plan) write(ctx context.Context, name string, is, shall bool, from, to string, perm fs.FileMode) error {
	switch {
	case shall && (!is || from != to):
		before := &from
		if !is {
			before = nil
		}
		return p.files.Write(ctx, name, before, []byte(to), perm)
	case is && !shall:
		return p.files.Remove(ctx, name, from)
	}
	return nil
}

// putBack undoes the writes of the files, the last first, and returns those that it could not undo,
// with reasons. The write of the last file failed, so its content may be another writer's.
func (p *Plan) putBack(ctx context.Context, paths []string) []string {
	var left []string
	for i := len(paths) - 1; i >= 0; i-- {
		s := p.states[paths[i]]
		data, _, err := p.files.Read(ctx, paths[i])
		is, now := err == nil, string(data)
		switch {
		case s.existed == s.exists && s.before == s.content(), is == s.existed && now == s.before:
			continue
		case is == s.exists && now == s.after:
			err = p.write(ctx, paths[i], is, s.existed, s.after, s.before, s.perm)
		case i == len(paths)-1:
			continue
		default:
			err = errors.New("it was changed meanwhile")
		}
		if err != nil {
			left = append(left, fmt.Sprintf("%s (%v)", texts.Shown(paths[i]), err))
		}
	}
	return left
}
