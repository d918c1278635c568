package checkpoint

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/env"
)

// Changes returns the paths at which two trees differ, given their roots, sorted by path. It reads
// only the directories that differ. If only one of the trees has a directory, everything below it
// is a change, too. A file that got another name is a deletion and a creation. env.NoFile is the
// root of a tree without files.
func Changes(ctx context.Context, store Store, a, b env.Hash) ([]Change, error) {
	changes, err := compare(ctx, store, "", a, b)
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return changes, err
}

// compare returns the changes between two directories whose path is a prefix. A missing one is
// env.NoFile.
func compare(ctx context.Context, store Store, prefix string, a, b env.Hash) (changes []Change, err error) {
	if a == b {
		return nil, nil
	}
	pairs := map[Name][2]*Entry{}
	for i, dir := range []env.Hash{a, b} {
		if dir == env.NoFile {
			continue
		}
		entries, err := ReadDirObject(ctx, store, dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			pair := pairs[e.Name]
			pair[i] = &e
			pairs[e.Name] = pair
		}
	}
	for name, pair := range pairs {
		old, now := pair[0], pair[1]
		if old.Same(now) {
			continue
		}
		path := prefix + string(name)
		// A directory whose entries differ is not a change by itself.
		if !old.isTree() || !now.isTree() || old.Mode != now.Mode {
			changes = append(changes, Change{Path: path, Before: old, After: now})
		}
		below, err := compare(ctx, store, path+"/", old.tree(), now.tree())
		if err != nil {
			return nil, err
		}
		changes = append(changes, below...)
	}
	return changes, nil
}

// Compose returns what the session has changed over several of its points, in the order in which
// they were noted, path by path: what was there before the session's first change and what its last
// one left. A path that ends as it began is not among them. Differences between the end of one
// point and the beginning of the next are somebody else's, and only make a path Mixed.
//
// A point without After belongs to a call that was ended by a kill, or that another point describes
// as well. What differs between it and the next point is Unknown. For the last point, now is the
// root of the tree as it is; if now is [env.NoFile], nothing is said about it.
func Compose(ctx context.Context, s Store, points []Point, now env.Hash) ([]Change, error) {
	c := composition{}
	var left env.Hash // the tree that the previous point left
	for i, p := range points {
		// without a beginning, all files would look like the session's
		if p.Before == env.NoFile || i > 0 && p.again(&points[i-1]) {
			continue
		}
		if left != env.NoFile && left != p.Before {
			others, err := Changes(ctx, s, left, p.Before)
			if err != nil {
				return nil, err
			}
			c.others(others)
		}
		left = p.end(points[i+1:], now)
		if left == p.Before {
			continue
		}
		own, err := Changes(ctx, s, p.Before, left)
		if err != nil {
			return nil, err
		}
		c.own(own, p.After == env.NoFile)
	}
	return c.list(), nil
}

// again reports whether a point is the one before, of an undo that was killed after it had noted
// it.
func (p *Point) again(before *Point) bool {
	return p.Undo && before.Undo && p.Before == before.Before && p.After == before.After
}

// end returns the tree at the end of a point: its After, or else the beginning of the next point,
// or else the tree as it is now. It returns Before if nothing is known.
func (p *Point) end(next []Point, now env.Hash) env.Hash {
	switch {
	case p.After != env.NoFile:
		return p.After
	case len(next) > 0:
		return next[0].Before
	case now != env.NoFile:
		return now
	}
	return p.Before
}

// composition holds the changes so far.
type composition map[string]*composed

type composed struct {
	Change
	others bool // somebody else has changed the path since the session did
}

// others adds the changes of somebody else.
func (c composition) others(changes []Change) {
	for i := range changes {
		if old := c[changes[i].Path]; old != nil && !alike(changes[i].Before, changes[i].After) {
			old.others = true
		}
	}
}

// own adds changes of the session.
func (c composition) own(changes []Change, unknown bool) {
	for _, change := range changes {
		if alike(change.Before, change.After) {
			continue
		}
		old := c[change.Path]
		if old == nil {
			change.Unknown = unknown
			c[change.Path] = &composed{Change: change}
			continue
		}
		old.After = change.After
		old.Mixed = old.Mixed || old.others
		old.Unknown = old.Unknown || unknown
		old.others = false
	}
}

// list returns what is left of the changes, in the order of their paths.
func (c composition) list() []Change {
	var list []Change
	for _, path := range slices.Sorted(maps.Keys(c)) {
		if change := c[path].Change; !alike(change.Before, change.After) {
			list = append(list, change)
		}
	}
	return list
}

// alike reports whether two entries are the same by themselves: for directories, whatever they
// hold.
func alike(a, b *Entry) bool {
	if a.isDir() && b.isDir() {
		return a.Mode == b.Mode
	}
	return a.Same(b)
}
