package instructions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/sanitize"
)

// Document describes a file with instructions.
type Document struct {
	Path string // absolute
	// Dir is the directory to which it applies, with all below. It is empty for the user's own
	// documents.
	Dir string
	// Globs are the files below Dir to which it applies. Empty means all.
	Globs []string
	// By is the document that imports it.
	By   string
	Size int64 // of the file, in bytes
	// Shown is how many bytes of the prompt it takes.
	Shown int
	// State says what becomes of it, and Other names the document that is used in its place.
	State State
	Other string

	text  string // cleaned, at most budget bytes
	whole bool   // text is all of it
	rule  bool   // it may say which files it applies to
	line  int    // lines of the file before the text
	real  string // the path without links
}

// State says what becomes of a document.
type State string

// The states of a document.
const (
	Whole    State = "whole"
	Cut      State = "cut"
	LeftOut  State = "left out" // there was no room
	Shadowed State = "shadowed" // by an override
	Equal    State = "equal"    // to another one, which is there
	Later    State = "later"    // when a file to which it applies is read or changed
)

// Mistake describes something wrong with a document.
type Mistake struct {
	File string
	Line int // 0 means the whole file
	Text string
}

// String returns the mistake with its place.
func (m Mistake) String() string {
	if m.Line > 0 {
		return fmt.Sprintf("%s, line %d: %s", sanitize.Line(m.File), m.Line, sanitize.Line(m.Text))
	}
	return sanitize.Line(m.File) + ": " + sanitize.Line(m.Text)
}

// project reads the documents of a project.
type project struct {
	env    env.Environment
	top    string // the directory that documents and imports cannot leave
	refuse func(file string) string
}

// load reads the text of a document, which has to be a regular file of the project that the
// environment can read.
func (p *project) load(ctx context.Context, d *Document) error {
	info, err := p.env.Stat(ctx, d.Path)
	switch {
	case err != nil:
		return err
	case info.Mode&fs.ModeType != 0:
		return errNotFile
	case !isInProject(ctx, p.env, p.top, d.Path):
		return fmt.Errorf("it leads out of %s, or into git's directory", p.top)
	}
	if d.real, err = env.Resolve(ctx, p.env, d.Path); err != nil {
		return err
	}
	if why := p.refused(ctx, d); why != "" {
		return errors.New(why)
	}
	file, err := p.env.Open(ctx, d.Path)
	if err != nil {
		return err
	}
	d.Size = info.Size
	err = d.readText(file)
	return errors.Join(err, file.Close())
}

// refused returns why a file must not be read, or "". A link does not hide what it leads to.
func (p *project) refused(ctx context.Context, d *Document) string {
	top, err := env.Resolve(ctx, p.env, p.top)
	if err != nil {
		return err.Error()
	}
	below, _ := relative(top, d.real)
	for elem := range strings.SplitSeq(below, "/") {
		if d.By != "" && strings.HasPrefix(elem, ".") && !slices.Contains(placesOfAgents(), elem) {
			return "hidden files are not imported"
		}
	}
	if p.refuse != nil {
		return p.refuse(d.real)
	}
	return ""
}

// isDir reports whether a name leads to a directory of the project.
func (p *project) isDir(ctx context.Context, name string) bool {
	info, err := p.env.Stat(ctx, name)
	return err == nil && info.IsDir() && isInProject(ctx, p.env, p.top, name)
}

// The reasons for which a file cannot be a document.
var (
	errNotFile = errors.New("it is not a regular file")
	errNotText = errors.New("it is not text in UTF-8")
)

// readText sets the text of a document: at most budget bytes, cleaned.
func (d *Document) readText(r io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(r, budget+1))
	if err != nil {
		return err
	}
	if bytes.IndexByte(data, 0) >= 0 { // also UTF-16 has such bytes
		return errNotText
	}
	if d.whole = len(data) <= budget; !d.whole {
		data = []byte(cutText(string(data), budget))
	}
	text := sanitize.Text(strings.TrimPrefix(string(data), "\ufeff"))
	d.text = strings.TrimSpace(text)
	d.line = strings.Count(text[:len(text)-len(strings.TrimLeftFunc(text, unicode.IsSpace))], "\n")
	return nil
}

// isInProject reports whether a name leads to a file of the project's own below top. A link into
// git's directory, whose configuration may have passwords, or into another readable directory does
// not.
func isInProject(ctx context.Context, e env.Environment, top, name string) bool {
	file, err1 := env.Resolve(ctx, e, name)
	dir, err2 := env.Resolve(ctx, e, top)
	if err1 != nil || err2 != nil {
		return false
	}
	below, ok := relative(dir, file)
	return ok && !slices.ContainsFunc(strings.Split(below, "/"), isGit)
}

// isGit reports whether a name is that of git's directory, perhaps on a file system that ignores
// case.
func isGit(name string) bool { return strings.EqualFold(name, ".git") }

// relative returns the path of a file from a directory that it is in.
func relative(dir, file string) (string, bool) {
	return strings.CutPrefix(file, strings.TrimSuffix(dir, "/")+"/")
}

// cutText returns the first n bytes of a text at most, in whole characters.
func cutText(text string, n int) string {
	n = max(0, min(n, len(text)))
	for at := n; at > 0 && at < len(text) && n-at < utf8.UTFMax; at-- {
		if utf8.RuneStart(text[at]) {
			return text[:at]
		}
	}
	return text[:n]
}

// The limits of a directory of rules.
const (
	maxRules       = 100
	maxRuleDepth   = 5
	maxRuleEntries = 2_000 // files and directories that are looked at
)

// rules returns the .md files in a directory and below, in order.
func (f *finder) rules(ctx context.Context, dir string) []string {
	w := ruleWalk{from: f.from}
	w.list(ctx, dir, 1)
	switch {
	case len(w.files) > maxRules:
		w.files = w.files[:maxRules]
		f.mistake(dir, 0, "only the first %d rules are used", maxRules)
	case w.looked > maxRuleEntries:
		f.mistake(dir, 0, "only the rules among its first %d files and directories are used", maxRuleEntries)
	}
	return w.files
}

// ruleWalk collects the files with rules in a directory and below.
type ruleWalk struct {
	from   *project
	files  []string
	seen   []string // the directories without links: some lead to each other
	looked int
}

// list adds the files of a directory.
func (w *ruleWalk) list(ctx context.Context, dir string, depth int) {
	real, err := env.Resolve(ctx, w.from.env, dir)
	if err != nil || depth > maxRuleDepth || slices.Contains(w.seen, real) {
		return
	}
	w.seen = append(w.seen, real)
	entries, err := w.from.env.ReadDir(ctx, dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if w.looked++; w.looked > maxRuleEntries || len(w.files) > maxRules {
			return
		}
		name := path.Join(dir, entry.Name)
		switch {
		case strings.HasSuffix(name, ".md"):
			w.files = append(w.files, name)
		case (entry.IsDir() || entry.Mode&fs.ModeSymlink != 0) && w.from.isDir(ctx, name):
			w.list(ctx, name, depth+1)
		}
	}
}
