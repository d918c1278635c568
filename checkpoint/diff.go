package checkpoint

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
)

// The limits of a diff.
const (
	maxDiffFile  = 1 << 20 // bytes of a file above which only its sizes are shown
	maxDiffBytes = 8 << 20 // of the text of all files, unless another limit is given
	maxDiffFiles = 10_000
)

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
	Text string `json:"text,omitempty"`
}

// NewDiff returns the diff of changes, in their order. The path of a file that only got another
// path comes once, where it is now. MaxBytes bounds the text of all files, except that the first
// one is always shown. Zero means 8 MiB.
func NewDiff(ctx context.Context, s Store, changes []Change, maxBytes int) (*Diff, error) {
	d, room := new(Diff), cmp.Or(maxBytes, maxDiffBytes)
	from := renames(changes)
	for i := range changes {
		c := &changes[i]
		if c.After == nil && from[c.Path] != nil {
			continue // shown at its new path
		}
		if len(d.Files) == maxDiffFiles || room <= 0 {
			d.More++
			continue
		}
		f := FileDiff{Change: *c}
		if old := from[c.Path]; old != nil {
			f.From, f.Before = old.Path, old.Before
		}
		if err := f.show(ctx, s); err != nil {
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
		if c := &changes[i]; c.After == nil && c.Before.isFile() && c.Before.Size > 0 && c.Before.Recorded() {
			gone[c.Before.Object] = append(gone[c.Before.Object], c)
		}
	}
	pairs := map[string]*Change{}
	for i := range changes {
		c := &changes[i]
		if c.Before != nil || !c.After.isFile() || len(gone[c.After.Object]) == 0 {
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
func (f *FileDiff) show(ctx context.Context, s Store) error {
	var b strings.Builder
	if f.Before.isDir() || f.After.isDir() {
		f.showDir(&b)
	}
	old, now := notDir(f.Before), notDir(f.After)
	var err error
	switch {
	case old == nil && now == nil:
	case old != nil && now != nil && old.Mode.Type() != now.Mode.Type():
		err = errors.Join(f.showFile(ctx, s, &b, old, nil), f.showFile(ctx, s, &b, nil, now))
	default:
		err = f.showFile(ctx, s, &b, old, now)
	}
	f.Text = b.String()
	return err
}

// showDir tells about a directory, for which git has no form.
func (f *FileDiff) showDir(b *strings.Builder) {
	name := texts.Shown(f.Path + "/")
	switch {
	case f.Before.isDir() && f.After.isDir():
		fmt.Fprintf(b, "directory %s: mode %03o, now %03o\n", name, f.Before.Mode.Perm(), f.After.Mode.Perm())
	case f.After.isDir():
		fmt.Fprintf(b, "new directory %s, mode %03o\n", name, f.After.Mode.Perm())
	default:
		fmt.Fprintf(b, "deleted directory %s, mode %03o\n", name, f.Before.Mode.Perm())
	}
}

func notDir(e *Entry) *Entry {
	if e.isDir() {
		return nil
	}
	return e
}

// showFile writes how a file or link has changed, of which one may be missing.
func (f *FileDiff) showFile(ctx context.Context, s Store, b *strings.Builder, old, now *Entry) error {
	was := cmp.Or(f.From, f.Path)
	fmt.Fprintf(b, "diff --git %s %s\n", texts.Shown("a/"+was), texts.Shown("b/"+f.Path))
	switch {
	case old == nil:
		fmt.Fprintf(b, "new file mode %s\n", gitMode(now))
	case now == nil:
		fmt.Fprintf(b, "deleted file mode %s\n", gitMode(old))
	case old.Mode != now.Mode:
		fmt.Fprintf(b, "old mode %s\nnew mode %s\n", gitMode(old), gitMode(now))
	}
	switch {
	case f.From != "":
		fmt.Fprintf(b, "similarity index 100%%\nrename from %s\nrename to %s\n", texts.Shown(was), texts.Shown(f.Path))
	case old.isFile() && now.isFile() && old.Object == now.Object && old.Recorded():
	case !old.Recorded() || !now.Recorded():
		f.Large = true
		b.WriteString("The content was not recorded: the file is too large, cannot be read, or is no regular file\n")
	case sizeOf(old) > maxDiffFile || sizeOf(now) > maxDiffFile:
		f.Large = true
		fmt.Fprintf(b, "The content is too large to be shown: %d bytes before, %d bytes now\n", sizeOf(old),
			sizeOf(now))
	default:
		return f.showContent(ctx, s, b, old, now)
	}
	return nil
}

// showContent writes how a content has changed.
func (f *FileDiff) showContent(ctx context.Context, s Store, b *strings.Builder, old, now *Entry) error {
	before, err := textOf(ctx, s, old)
	if err != nil {
		return err
	}
	after, err := textOf(ctx, s, now)
	if err != nil {
		return err
	}
	was, is := "/dev/null", "/dev/null"
	if old != nil {
		was = texts.Shown("a/" + f.Path)
	}
	if now != nil {
		is = texts.Shown("b/" + f.Path)
	}
	if isBinary(before) || isBinary(after) {
		f.Binary = true
		fmt.Fprintf(b, "Binary files %s and %s differ\n", was, is)
		return nil
	}
	_, text, _ := strings.Cut(string(diff.Diff(was, before, is, after)), "\n")
	f.Added, f.Removed = texts.ChangedLines(text)
	b.WriteString(text)
	return nil
}

// textOf returns the content of a file, or the target of a link.
func textOf(ctx context.Context, s Store, e *Entry) ([]byte, error) {
	if e.isFile() {
		return content(ctx, s, e.Object, maxDiffFile)
	}
	if e.isLink() {
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

// gitMode returns an entry's mode as git writes it, but with the permissions that it has.
func gitMode(e *Entry) string {
	if e.isLink() {
		return "120000"
	}
	return fmt.Sprintf("100%03o", e.Mode.Perm())
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
