package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
)

// DiffOptions bounds a diff.
type DiffOptions struct {
	// MaxFile is the size of a file in bytes above which only its sizes are shown. Zero means 1
	// MiB.
	MaxFile int64
	// MaxBytes bounds the text of all files, except that the first one is always shown. Zero means
	// 8 MiB.
	MaxBytes int
	// MaxFiles bounds the number of paths. Zero means 10,000.
	MaxFiles int
}

// withDefaults returns the options with the defaults for what is zero.
func (o DiffOptions) withDefaults() DiffOptions {
	if o.MaxFile <= 0 {
		o.MaxFile = 1 << 20
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 8 << 20
	}
	if o.MaxFiles <= 0 {
		o.MaxFiles = 10_000
	}
	return o
}

// Diff shows changes.
type Diff struct {
	Files []FileDiff `json:"files,omitempty"`
	// More is the number of paths that are left out because of the limits.
	More int `json:"more,omitempty"`
}

// FileDiff shows the change of one path.
type FileDiff struct {
	Change
	// From is the path that a file had before, if only its path and perhaps its permissions have
	// changed.
	From string `json:"from,omitempty"`
	// Binary says that the content has changed and is not text.
	Binary bool `json:"binary,omitempty"`
	// Large says that the content has changed and is too large to be shown, or was not recorded.
	Large bool `json:"large,omitempty"`
	// Added and Removed are numbers of lines.
	Added   int `json:"added,omitempty"`
	Removed int `json:"removed,omitempty"`
	// Text is the diff in git's form. Names in it have no control characters. The contents are as
	// the files have them: clean them before a terminal shows them.
	Text string `json:"text"`
}

// NewDiff returns the diff of changes, in their order. The path of a file that only got another
// path comes once, where it is now.
func NewDiff(ctx context.Context, s Store, changes []Change, o DiffOptions) (*Diff, error) {
	o = o.withDefaults()
	d, room := new(Diff), o.MaxBytes
	from := renames(changes)
	for i := range changes {
		c := &changes[i]
		if c.After == nil && from[c.Path] != nil {
			continue // shown at its new path
		}
		if len(d.Files) == o.MaxFiles || room <= 0 {
			d.More++
			continue
		}
		f := FileDiff{Change: *c}
		if old := from[c.Path]; old != nil {
			f.From, f.Before = old.Path, old.Before
		}
		if err := f.show(ctx, s, o.MaxFile); err != nil {
			return nil, err
		}
		if room -= len(f.Text); room < 0 && len(d.Files) > 0 {
			d.More++
			continue
		}
		d.Files = append(d.Files, f)
	}
	return d, nil
}

// renames returns the pairs of a path that is gone and a new one with the same content, by both
// paths. Of several candidates it takes the first of each, in the order of the changes.
func renames(changes []Change) map[string]*Change {
	gone := map[env.Hash][]*Change{}
	for i := range changes {
		if c := &changes[i]; c.After == nil && c.Before.Mode.IsRegular() && c.Before.Size > 0 &&
			c.Before.Object != env.NoFile {
			gone[c.Before.Object] = append(gone[c.Before.Object], c)
		}
	}
	pairs := map[string]*Change{}
	for i := range changes {
		c := &changes[i]
		if c.Before != nil || c.After == nil || !c.After.Mode.IsRegular() || len(gone[c.After.Object]) == 0 {
			continue
		}
		old := gone[c.After.Object][0]
		gone[c.After.Object] = gone[c.After.Object][1:]
		pairs[c.Path], pairs[old.Path] = old, c
	}
	return pairs
}

// show writes the text of the diff. A file that became a link, or the other way round, is removed
// and made, as git wants it.
func (f *FileDiff) show(ctx context.Context, s Store, limit int64) error {
	old, now := notDir(f.Before), notDir(f.After)
	if old == nil || now == nil || old.Mode.Type() == now.Mode.Type() {
		return f.showPart(ctx, s, limit)
	}
	gone, made := FileDiff{Change: Change{Path: f.Path, Before: old}},
		FileDiff{Change: Change{Path: f.Path, After: now}}
	if err := errors.Join(gone.showPart(ctx, s, limit), made.showPart(ctx, s, limit)); err != nil {
		return err
	}
	f.Binary, f.Large = gone.Binary || made.Binary, gone.Large || made.Large
	f.Added, f.Removed, f.Text = made.Added, gone.Removed, gone.Text+made.Text
	return nil
}

func (f *FileDiff) showPart(ctx context.Context, s Store, limit int64) error {
	old, now, err := f.texts(ctx, s, limit)
	if err != nil {
		return err
	}
	var b strings.Builder
	f.head(&b)
	switch {
	case f.Binary:
		fmt.Fprintf(&b, "Binary files %s and %s differ\n", f.label("a/", f.Before), f.label("b/", f.After))
	case !f.Before.Recorded() || !f.After.Recorded():
		b.WriteString("The content was not recorded: the file is too large, cannot be read, or is no regular file\n")
	case f.Large:
		fmt.Fprintf(&b, "The content is too large to be shown: %d bytes before, %d bytes now\n", sizeOf(f.Before),
			sizeOf(f.After))
	case !bytes.Equal(old, now):
		_, text, _ := strings.Cut(string(diff.Diff(f.label("a/", f.Before), old, f.label("b/", f.After), now)), "\n")
		f.count(text)
		b.WriteString(text)
	}
	f.Text = b.String()
	return nil
}

// texts returns the contents before and after. They are empty if they cannot be shown.
func (f *FileDiff) texts(ctx context.Context, s Store, limit int64) (old, now []byte, err error) {
	if f.From != "" {
		return nil, nil, nil
	}
	if f.Before.isFile() && f.After.isFile() && f.Before.Object == f.After.Object {
		return nil, nil, nil
	}
	f.Large = sizeOf(f.Before) > limit || sizeOf(f.After) > limit || !f.Before.Recorded() || !f.After.Recorded()
	if f.Large {
		return nil, nil, nil
	}
	if old, err = textOf(ctx, s, f.Before, limit); err != nil {
		return nil, nil, err
	}
	if now, err = textOf(ctx, s, f.After, limit); err != nil {
		return nil, nil, err
	}
	if f.Binary = isBinary(old) || isBinary(now); f.Binary {
		return nil, nil, nil
	}
	return old, now, nil
}

// isFile reports whether there is a regular file.
func (e *Entry) isFile() bool { return e != nil && e.Mode.IsRegular() }

// textOf returns the content of a file, or the target of a link.
func textOf(ctx context.Context, s Store, e *Entry, limit int64) ([]byte, error) {
	switch {
	case e.isFile():
		return content(ctx, s, e.Object, limit)
	case e != nil && e.Mode.Type() == fs.ModeSymlink:
		return []byte(e.Target), nil
	}
	return nil, nil
}

// isBinary reports whether a diff cannot show the data.
func isBinary(data []byte) bool { return bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data) }

func sizeOf(e *Entry) int64 {
	if e.isFile() {
		return e.Size
	}
	return 0
}

// head writes what comes before the content.
func (f *FileDiff) head(b *strings.Builder) {
	was := f.Path
	if f.From != "" {
		was = f.From
	}
	old, now := f.Before, f.After
	if old != nil && old.Mode.IsDir() || now != nil && now.Mode.IsDir() {
		f.headOfDir(b)
		if old, now = notDir(old), notDir(now); old == nil && now == nil {
			return
		}
	}
	fmt.Fprintf(b, "diff --git %s %s\n", texts.Shown("a/"+was), texts.Shown("b/"+f.Path))
	switch {
	case old == nil:
		fmt.Fprintf(b, "new file mode %s\n", gitMode(now))
	case now == nil:
		fmt.Fprintf(b, "deleted file mode %s\n", gitMode(old))
	case old.Mode != now.Mode:
		fmt.Fprintf(b, "old mode %s\nnew mode %s\n", gitMode(old), gitMode(now))
	}
	if f.From != "" {
		fmt.Fprintf(b, "similarity index 100%%\nrename from %s\nrename to %s\n", texts.Shown(f.From),
			texts.Shown(f.Path))
	}
}

// headOfDir tells about a directory, for which git has no form.
func (f *FileDiff) headOfDir(b *strings.Builder) {
	name := texts.Shown(f.Path + "/")
	old, now := f.Before, f.After
	wasDir, isDir := old != nil && old.Mode.IsDir(), now != nil && now.Mode.IsDir()
	switch {
	case wasDir && isDir:
		fmt.Fprintf(b, "directory %s: mode %03o, now %03o\n", name, old.Mode.Perm(), now.Mode.Perm())
	case isDir:
		fmt.Fprintf(b, "new directory %s, mode %03o\n", name, now.Mode.Perm())
	default:
		fmt.Fprintf(b, "deleted directory %s, mode %03o\n", name, old.Mode.Perm())
	}
}

func notDir(e *Entry) *Entry {
	if e != nil && e.Mode.IsDir() {
		return nil
	}
	return e
}

// gitMode returns an entry's mode as git writes it, but with the permissions that it has.
func gitMode(e *Entry) string {
	if e.Mode.Type() == fs.ModeSymlink {
		return "120000"
	}
	return fmt.Sprintf("100%03o", e.Mode.Perm())
}

// label returns a file's name in a diff of contents.
func (f *FileDiff) label(side string, e *Entry) string {
	if notDir(e) == nil {
		return "/dev/null"
	}
	return texts.Shown(side + f.Path)
}

// count counts the lines of a unified diff.
func (f *FileDiff) count(text string) {
	body := false
	for line := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(line, "@@"):
			body = true
		case body && line[0] == '+':
			f.Added++
		case body && line[0] == '-':
			f.Removed++
		}
	}
}

// Text returns the diff of all files.
func (d *Diff) Text() string {
	var b strings.Builder
	for i := range d.Files {
		b.WriteString(d.Files[i].Text)
	}
	switch {
	case d.More == 1:
		b.WriteString("and 1 more changed path, which is not shown\n")
	case d.More > 1:
		fmt.Fprintf(&b, "and %d more changed paths, which are not shown\n", d.More)
	}
	return b.String()
}
