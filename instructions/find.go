package instructions

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/git"
	"github.com/attractor-go/attractor/tool"
)

// Options say which documents a session has.
type Options struct {
	// Names are the documents of a directory beside AGENTS.md, as slash-separated paths, in their
	// order. A name that ends with a slash is a directory with rules: all .md files in it and
	// below.
	Names []string
	// Env reads the documents, where it can read the working directory. Nil means the session's
	// environment. A host sets it for sessions below a repository's root that may not read the
	// whole repository.
	Env env.Environment
	// User holds the user's own documents, and UserMistakes what is wrong with them, from
	// [ReadUser]. They come first.
	User         []Document
	UserMistakes []Mistake
	// Refuse returns why a document of the project must not be or import a file, or "" if it may.
	// The path is absolute and has no links. Nil refuses nothing. Hidden files are never imported,
	// except from directories such as .claude and .github.
	Refuse func(file string) string
	// Reads returns the files that the commands of a call have read, for [Below]. Nil means that
	// commands do not count.
	Reads func(ctx context.Context, call *tool.Call) []string
	// Roots lists further directories of the session, absolute and without symbolic links. [Below]
	// gives their documents when it is about a file in them.
	Roots []string
	// Warn is told of mistakes. It may be called by several goroutines, and more than once with a
	// mistake. Nil ignores them.
	Warn func(Mistake)
}

// Found holds the documents of a session.
type Found struct {
	// Text is the part of the system prompt with the documents, empty if there are none.
	Text string
	// Documents are all that were found, in their order, also those whose text is not in Text.
	Documents []Document
	Mistakes  []Mistake
}

// The limits of documents.
const (
	budget       = 32 << 10 // bytes of the user's documents, of the project's, and of those that come later, each
	maxDocuments = 200
	maxMistakes  = 50
)

// Find returns the user's documents and those of each directory from the repository's root, or the
// working directory, down to the working directory, in this order, because the nearer ones count
// more. It reads only what the environment allows, so documents above its roots and links out of
// them are left out.
func Find(ctx context.Context, e env.Environment, root string, o Options) *Found {
	if other := o.other(ctx, e); other != nil {
		e, root = other, git.Top(ctx, other)
	}
	dirs := directoriesDown(root, e.WorkDir())
	f := newFinder(e, dirs[0], &o)
	for _, dir := range dirs {
		f.directory(ctx, dir)
	}
	found := &Found{Documents: slices.Concat(o.User, f.documents), Mistakes: slices.Concat(o.UserMistakes, f.mistakes)}
	own, theirs := found.Documents[:len(o.User)], found.Documents[len(o.User):]
	found.Text = strings.TrimSpace(render(own, userCut) + "\n\n" + render(theirs, projectCut))
	for i := range found.Documents {
		if d := &found.Documents[i]; d.State == Cut || d.State == LeftOut {
			found.Mistakes = append(found.Mistakes, Mistake{File: d.Path, Text: cutWarning(d)})
		}
	}
	o.warn(found.Mistakes)
	return found
}

// other returns the environment that reads the documents of a session in e, or nil if e does.
func (o *Options) other(ctx context.Context, e env.Environment) env.Environment {
	if o.Env == nil {
		return nil
	}
	if _, err := o.Env.Stat(ctx, e.WorkDir()); err != nil {
		return nil
	}
	return env.Sub(o.Env, e.WorkDir())
}

func (o *Options) warn(mistakes []Mistake) {
	if o.Warn != nil {
		for _, m := range mistakes {
			o.Warn(m)
		}
	}
}

// directoriesDown returns the directories from root down to dir, or dir alone if it is not below
// root.
func directoriesDown(root, dir string) []string {
	if root == "" || dir != root && !strings.HasPrefix(dir, strings.TrimSuffix(root, "/")+"/") {
		return []string{dir}
	}
	var dirs []string
	for d := dir; ; d = path.Dir(d) {
		dirs = append(dirs, d)
		if d == root || d == path.Dir(d) {
			break
		}
	}
	slices.Reverse(dirs)
	return dirs
}

// finder collects the documents of directories.
type finder struct {
	from *project
	list
	options *Options
}

func newFinder(e env.Environment, top string, o *Options) *finder {
	return &finder{from: &project{e, top, o.Refuse}, options: o}
}

// The documents that every directory may have. The first takes the place of the second.
const (
	override = "AGENTS.override.md"
	agents   = "AGENTS.md"
)

// directory adds the documents of a directory.
func (f *finder) directory(ctx context.Context, dir string) {
	first := len(f.documents)
	if f.named(ctx, dir, override, first) {
		f.shadowed(ctx, dir)
	} else {
		f.named(ctx, dir, agents, first)
	}
	for _, name := range f.options.Names {
		if rules, ok := strings.CutSuffix(name, "/"); ok {
			for _, file := range f.rules(ctx, path.Join(dir, rules)) {
				f.add(ctx, Document{Path: file, Dir: dir, rule: true}, first)
			}
			continue
		}
		f.named(ctx, dir, name, first)
	}
}

// named adds the document with a name in a directory. It reports whether there is one that is not
// empty.
func (f *finder) named(ctx context.Context, dir, name string, first int) bool {
	return f.add(ctx, Document{Path: path.Join(dir, name), Dir: dir}, first)
}

// shadowed lists the AGENTS.md that an override replaces.
func (f *finder) shadowed(ctx context.Context, dir string) {
	d := Document{Path: path.Join(dir, agents), Dir: dir}
	if info, err := f.from.env.Stat(ctx, d.Path); err == nil && info.Mode.IsRegular() && isInProject(ctx, f.from.env,
		f.from.top, d.Path) {
		d.Size, d.State, d.Other = info.Size, Shadowed, path.Join(dir, override)
		f.documents = append(f.documents, d)
	}
}

// add reads a document and those that it imports, and adds them. The documents of its directory
// begin at index first. One that equals another of them, or one of the user's, is listed without
// its text. It reports false if there is no such document, or nothing in it.
func (f *finder) add(ctx context.Context, d Document, first int) bool {
	if f.full() {
		return false
	}
	if err := f.from.load(ctx, &d); err != nil {
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) && ctx.Err() == nil {
			f.mistake(d.Path, 0, "it is not used: %s", reason(err))
		}
		return false
	}
	if d.rule {
		f.scope(&d)
	}
	if d.text == "" {
		return false
	}
	if other := f.equal(&d, first); other != "" {
		d.State, d.Other, d.text = Equal, other, ""
	}
	f.documents = append(f.documents, d)
	if d.State == "" {
		f.follow(ctx, f.from, &d, 1)
	}
	return true
}

// equal returns the path of the document that makes a second copy unnecessary, or "".
func (f *finder) equal(d *Document, first int) string {
	for i := range f.options.User {
		if other := &f.options.User[i]; other.text == d.text {
			return other.Path
		}
	}
	for i := range f.documents {
		other := &f.documents[i]
		same := i >= first && other.text == d.text && slices.Equal(other.Globs, d.Globs)
		if same || other.By != "" && other.real == d.real && len(other.Globs) == 0 { // one is often a link to the other
			return other.Path
		}
	}
	return ""
}

// list holds documents in their order, and what is wrong with them.
type list struct {
	documents []Document
	mistakes  []Mistake
	tried     int // imports that were looked at
	patterns  int // of the rules
}

func (l *list) full() bool { return len(l.documents) >= maxDocuments }

// mistake notes a mistake.
func (l *list) mistake(file string, line int, format string, args ...any) {
	if len(l.mistakes) < maxMistakes {
		l.mistakes = append(l.mistakes, Mistake{file, line, fmt.Sprintf(format, args...)})
	}
}
