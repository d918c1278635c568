package checkpoint

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

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/search"
)

// folder is a directory of a recording.
type folder struct {
	*recording
	dir    env.Dir
	prefix string // its absolute path, with a slash at the end
	base   int    // the first bytes of prefix are the top's
	rules  search.Rules
	within bool // in an ignored directory that has something that is included
	old    *knownDir
}

func (f *folder) rel(name Name) string { return f.prefix[f.base:] + string(name) }

// record records the directory and closes it. Reason says why it cannot be read.
func (f *folder) record(ctx context.Context) (now *knownDir, reason, err error) {
	defer func() { err = errors.Join(err, f.dir.Close()) }()
	found, err := f.dir.List(ctx)
	if err != nil {
		return nil, err, nil
	}
	if top, rules := listed(found, ".git"), listed(found, ".gitignore"); !f.within && (top || rules) {
		if f.rules, err = f.rules.Enter(ctx, f.env, path.Clean(f.prefix), top); err != nil {
			return nil, nil, err
		}
	}
	now = &knownDir{Entries: make([]known, len(found))}
	var rest []task
	old := f.old.Entries
	for i, e := range found {
		for len(old) > 0 && string(old[0].Name) < e.Name {
			old = old[1:]
		}
		t := task{entry: &now.Entries[i]}
		if len(old) > 0 && string(old[0].Name) == e.Name {
			t.old = &old[0]
		}
		if more, err := f.look(ctx, e, &t); err != nil {
			return nil, nil, err
		} else if more {
			rest = append(rest, t)
		}
	}
	if err := f.each(ctx, len(rest), func(i int) error { return f.do(ctx, rest[i]) }); err != nil {
		return nil, nil, err
	}
	now, err = f.finish(ctx, now)
	return now, nil, err
}

// listed reports whether sorted entries have a name.
func listed(found []env.Entry, name string) bool {
	_, ok := slices.BinarySearchFunc(found, name,
		func(e env.Entry, name string) int { return strings.Compare(e.Name, name) })
	return ok
}

// task is an entry that has to be opened.
type task struct {
	entry       *known
	old         *known // nil if nothing is known
	within      bool   // of a directory
	placeholder bool   // it is one of a sandbox, if it is empty
}

// look looks at an entry that was found. It reports whether it has to be opened.
func (f *folder) look(ctx context.Context, e env.Entry, t *task) (more bool, err error) {
	isDir := e.Type.IsDir()
	if f.skips(f.rel(Name(e.Name)), e.Name, isDir) {
		return false, nil
	}
	var ignored bool
	if t.within, ignored = f.verdict(e.Name, isDir); ignored {
		f.leave(&f.left.Ignored, shownAs(f.rel(Name(e.Name)), isDir))
		return false, nil
	}
	node, err := f.dir.Lstat(ctx, e.Name)
	switch {
	case gone(err):
		return false, nil
	case err != nil && fatal(ctx, err):
		return false, err
	case err != nil:
		*t.entry = f.unreadable(known{Entry: Entry{Name: Name(e.Name), Mode: entryMode(e.Type)}}, err)
		return false, nil
	}
	k := knownFrom(&node)
	if !f.direct {
		f.saw(&k)
	}
	t.placeholder = node.Mode&^0o200 == fs.ModeDir|env.PlaceholderDir
	switch {
	case node.Mode == env.PlaceholderFile && node.Size <= env.PlaceholderSize:
		return false, nil
	case k.Mode.IsDir() && len(f.rel(k.Name)) > maxPath:
		*t.entry = f.unreadable(k, errTooDeep)
		return false, nil
	case !k.Mode.IsDir() && !f.readable(&k):
		*t.entry = f.leftOut(k)
		return false, nil
	case t.old != nil && !k.Mode.IsDir() && t.old.sameFile(&k) && !t.old.Young &&
		(k.Mode.Type() == fs.ModeSymlink || f.stored(t.old.Object)):
		*t.entry = *t.old
		return false, f.count(k.State.Size)
	}
	*t.entry = k
	return true, f.count(k.State.Size)
}

// maxPath bounds the path of a directory that is recorded, in bytes, as systems do. Directories
// within each other would take memory with the square of their number.
const maxPath = 4096

var errTooDeep = fmt.Errorf("its path has more than %d bytes", maxPath)

// shownAs returns a name for Left.
func shownAs(rel string, isDir bool) string {
	if isDir {
		rel += "/"
	}
	return texts.Shown(rel)
}

// verdict reports whether an entry is ignored, and whether only what is included counts below.
func (f *folder) verdict(name string, isDir bool) (within, ignored bool) {
	if !f.within && !f.rules.Exclude(f.prefix, name, isDir) {
		return false, false
	}
	within = f.include.covers(f.rel(Name(name)), isDir) || isDir && f.include.leads(f.prefix, name)
	return within, !within
}

// readable reports whether something is a link or a file that is not too large.
func (f *folder) readable(k *known) bool {
	return k.Mode == fs.ModeSymlink || k.Mode.IsRegular() && k.State.Size <= f.o.MaxFile
}

// leftOut takes notice of something that is not readable.
func (f *folder) leftOut(k known) known {
	list := &f.left.Special
	if k.Mode.IsRegular() {
		list = &f.left.Large
	}
	f.leave(list, texts.Shown(f.rel(k.Name)))
	return k.unrecorded()
}

// unreadable takes notice of something that cannot be read.
func (f *folder) unreadable(k known, reason error) known {
	if in, ok := errors.AsType[*fs.PathError](reason); ok {
		reason = in.Err
	}
	f.leave(&f.left.Unreadable, shownAs(f.rel(k.Name), k.Mode.IsDir())+": "+texts.Error(reason))
	return k.unrecorded()
}

// steadyTries limits the looks at something that changes while it is read.
const steadyTries = 4

// do opens an entry until it is the same before and after, so that its content is of one moment. It
// may have become something else, or nothing: then its name is empty.
func (f *folder) do(ctx context.Context, t task) error {
	k := *t.entry
	*t.entry = known{}
	seen := t.old != nil && t.old.sameFile(&k)
	var last *known // what was read while the file changed
	var reason, err error
	for range steadyTries {
		if !k.Mode.IsDir() && !f.readable(&k) {
			*t.entry = f.leftOut(k)
			return nil
		}
		k.Young = !k.Mode.IsDir() && !f.settled(&k, seen)
		if reason, err = f.open(ctx, &k, t); err != nil {
			return err
		}
		if reason == nil && k.Mode.IsDir() {
			if !t.placeholder || len(k.Dir.Entries) > 0 {
				*t.entry = k
			}
			return nil
		}
		node, err := f.lstat(ctx, string(k.Name))
		now := knownFrom(&node)
		switch {
		case gone(err):
			return nil
		case err != nil && fatal(ctx, err):
			return err
		case err != nil:
			*t.entry = f.unreadable(k, err)
			return nil
		case !k.sameFile(&now):
		case reason == nil:
			*t.entry = k
			return nil
		default:
			*t.entry = f.unreadable(k, reason)
			return nil
		}
		if reason == nil {
			last = new(k)
		}
		k, seen = now, false
	}
	if last == nil {
		*t.entry = f.unreadable(k, reason)
		return nil
	}
	*t.entry = *last
	f.leave(&f.left.Unsteady, texts.Shown(f.rel(last.Name)))
	return nil
}

// lstat looks at an entry again.
func (f *folder) lstat(ctx context.Context, name string) (env.Node, error) {
	if f.direct {
		return f.dir.Lstat(ctx, name)
	}
	return env.TreeOf(f.env).Lstat(ctx, f.prefix+name)
}

// open reads the content of a file, the target of a link or the tree of a directory. Reason says
// why it could not be read.
func (f *folder) open(ctx context.Context, k *known, t task) (reason, err error) {
	switch {
	case k.Mode.IsDir():
		reason, err = f.openDir(ctx, k, t)
	case k.Mode == fs.ModeSymlink:
		f.read.Add(1)
		var target string
		target, reason = f.dir.Readlink(ctx, string(k.Name))
		k.Target = Name(target)
	default:
		f.read.Add(1)
		reason, err = f.put(ctx, k)
	}
	if err == nil && reason != nil && fatal(ctx, reason) {
		return nil, reason
	}
	return reason, err
}

// openDir records a directory below.
func (f *folder) openDir(ctx context.Context, k *known, t task) (reason, err error) {
	below := &folder{recording: f.recording, prefix: f.prefix + string(k.Name) + "/", base: f.base, rules: f.rules,
		within: t.within, old: new(knownDir)}
	if t.old != nil && t.old.Dir != nil {
		below.old = t.old.Dir
	}
	if below.dir, err = f.dir.OpenDir(ctx, string(k.Name)); err != nil {
		return err, nil
	}
	if k.Dir, reason, err = below.record(ctx); reason == nil && err == nil {
		k.Object = k.Dir.Object
	}
	return reason, err
}

// put stores the content of a file.
func (f *folder) put(ctx context.Context, k *known) (reason, err error) {
	r, err := f.dir.Open(ctx, string(k.Name))
	if err != nil {
		return err, nil
	}
	from := &failing{from: io.LimitReader(r, f.o.MaxFile+1)}
	k.Object, k.Size, err = f.batch.Put(ctx, from)
	if reason := errors.Join(from.err, r.Close()); reason != nil {
		return reason, nil
	}
	if k.Size > f.o.MaxFile {
		return errGrown, nil
	}
	return nil, err
}

// errGrown reports that a file has grown above the limit.
var errGrown = errors.New("it has grown above the limit while it was read")

// finish makes the object of the directory, unless the store has it.
func (f *folder) finish(ctx context.Context, now *knownDir) (*knownDir, error) {
	now.Entries = slices.DeleteFunc(now.Entries, func(k known) bool { return k.Name == "" })
	if slices.Equal(now.Entries, f.old.Entries) && f.old.Object != "" && f.stored(f.old.Object) {
		return f.old, nil
	}
	entries := make([]Entry, len(now.Entries))
	for i, k := range now.Entries {
		entries[i] = k.Entry
		if k.Dir != nil {
			now.Files += k.Dir.Files
			now.Bytes += k.Dir.Bytes
		}
		if k.Recorded() {
			now.Files++
			now.Bytes += k.Size
		}
	}
	data, err := EncodeDir(entries)
	if err != nil {
		return nil, err
	}
	if now.Object = env.HashOf(data); !f.batch.Has(now.Object) {
		_, _, err = f.batch.Put(ctx, bytes.NewReader(data))
	}
	return now, err
}
