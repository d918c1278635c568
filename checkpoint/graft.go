package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/env"
)

// pointOf returns the point of an undo: from the tree before it to that tree with the restored
// paths as they were wanted. It does not look at the files, because what somebody else has changed
// meanwhile is not part of the undo: taking it back must leave that alone.
func (w Workspace) pointOf(ctx context.Context, p *Plan, restored []Name) (_ Point, err error) {
	batch, err := w.Store.Begin(ctx)
	if err != nil {
		return Point{}, err
	}
	defer func() { err = errors.Join(err, batch.Close()) }()
	paths := slices.DeleteFunc(slices.Clone(p.Paths), func(r Reversal) bool {
		_, is := slices.BinarySearch(restored, r.Path)
		return !is
	})
	g := grafting{store: w.Store, batch: batch}
	root, err := g.onto(ctx, p.Now, "", paths)
	if err != nil {
		return Point{}, err
	}
	return Point{Before: p.Now, After: root, Undo: true, Redo: p.Redo}, batch.Commit(ctx, w.Owner, root)
}

// grafting makes trees that differ from others at some paths.
type grafting struct {
	store Store
	batch Batch
}

// onto returns the object of a directory with what is wanted at paths in it, which are sorted and
// begin with a prefix. The directory may be env.NoFile, for an empty one.
func (g *grafting) onto(ctx context.Context, dir env.Hash, prefix string, paths []Reversal) (env.Hash, error) {
	var entries []Entry
	if dir != env.NoFile {
		var err error
		if entries, err = ReadDirObject(ctx, g.store, dir); err != nil {
			return env.NoFile, err
		}
	}
	for name, below := range byName(prefix, paths) {
		at, found := searchEntry(entries, name)
		var was *Entry
		if found {
			was = &entries[at]
		}
		now, err := g.entry(ctx, was, prefix, name, below)
		switch {
		case err != nil:
			return env.NoFile, err
		case found && now == nil:
			entries = slices.Delete(entries, at, at+1)
		case found:
			entries[at] = *now
		case now != nil:
			entries = slices.Insert(entries, at, *now)
		}
	}
	data, err := EncodeDir(entries)
	if err != nil {
		return env.NoFile, err
	}
	hash, _, err := g.batch.Put(ctx, bytes.NewReader(data))
	return hash, err
}

// byName returns paths by the name of the entry that they are, or are below.
func byName(prefix string, paths []Reversal) map[Name][]Reversal {
	groups := map[Name][]Reversal{}
	for _, r := range paths {
		name, _, _ := strings.Cut(string(r.Path[len(prefix):]), "/")
		groups[Name(name)] = append(groups[Name(name)], r)
	}
	return groups
}

// entry returns what becomes of an entry, nil for nothing, given the paths that are it, or below.
func (g *grafting) entry(ctx context.Context, was *Entry, prefix string, name Name, paths []Reversal) (*Entry, error) {
	now := was
	if prefix+string(name) == string(paths[0].Path) {
		now, paths = paths[0].Want, paths[1:]
		if now == nil {
			return nil, nil
		}
	} else if now == nil {
		// a directory is made if something belongs in it
		if !slices.ContainsFunc(paths, func(r Reversal) bool { return r.Want != nil }) {
			return nil, nil
		}
		now = &Entry{Mode: fs.ModeDir | 0o755}
	}
	made := *now
	made.Name = name
	if !made.Mode.IsDir() {
		return &made, nil
	}
	made.Object = was.tree()
	if len(paths) == 0 && made.Object != env.NoFile {
		return &made, nil
	}
	var err error
	made.Object, err = g.onto(ctx, made.Object, prefix+string(name)+"/", paths)
	return &made, err
}
