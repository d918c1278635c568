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
	want := map[Name]*State{}
	for _, step := range p.Steps {
		want[step.Path] = step.Want
	}
	top := &graft{}
	for _, name := range restored {
		top.at(strings.Split(string(name), "/")).set(want[name])
	}
	root, err := top.onto(ctx, w.Store, batch, p.Now)
	if err != nil {
		return Point{}, err
	}
	return Point{Before: p.Now, After: root, Undo: true}, batch.Commit(ctx, w.Owner, root)
}

// graft holds what becomes of a path of a tree, and of what is below it.
type graft struct {
	isSet bool
	state *State // nil if nothing is there
	below map[string]*graft
}

// at returns the graft of a path, given its elements.
func (g *graft) at(elems []string) *graft {
	for _, elem := range elems {
		next := g.below[elem]
		if next == nil {
			next = &graft{}
			if g.below == nil {
				g.below = map[string]*graft{}
			}
			g.below[elem] = next
		}
		g = next
	}
	return g
}

func (g *graft) set(s *State) { g.isSet, g.state = true, s }

// onto returns the object of a directory with what is below changed. The directory may be
// env.NoFile, for an empty one.
func (g *graft) onto(ctx context.Context, s Store, batch Batch, dir env.Hash) (env.Hash, error) {
	var entries []Entry
	if dir != env.NoFile {
		var err error
		if entries, err = ReadDirObject(ctx, s, dir); err != nil {
			return env.NoFile, err
		}
	}
	for name, next := range g.below {
		at, found := searchEntry(entries, name)
		var was *Entry
		if found {
			was = &entries[at]
		}
		now, err := next.entry(ctx, s, batch, name, was)
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
	hash, _, err := batch.Put(ctx, bytes.NewReader(data))
	return hash, err
}

// parentMode is the mode of directories that are made because something belongs in them.
const parentMode = fs.ModeDir | 0o755

// entry returns what becomes of an entry, nil for nothing.
func (g *graft) entry(ctx context.Context, s Store, batch Batch, name string, was *Entry) (*Entry, error) {
	var now Entry
	switch {
	case g.isSet && g.state == nil:
		return nil, nil
	case g.isSet:
		now = Entry{Name: name, Mode: g.state.Mode, Object: g.state.Object, Size: g.state.Size,
			Target: string(g.state.Target)}
	case was != nil:
		now = *was
	case !g.holds():
		return nil, nil
	default:
		now = Entry{Name: name, Mode: parentMode}
	}
	if !now.Mode.IsDir() {
		return &now, nil
	}
	if was != nil && was.Mode.IsDir() {
		now.Object = was.Object
	}
	if len(g.below) == 0 && now.Object != env.NoFile {
		return &now, nil
	}
	var err error
	now.Object, err = g.onto(ctx, s, batch, now.Object)
	return &now, err
}

// holds reports whether something is made at the path or below it.
func (g *graft) holds() bool {
	if g.isSet && g.state != nil {
		return true
	}
	for _, next := range g.below {
		if next.holds() {
			return true
		}
	}
	return false
}
