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
	c := &comparison{store: store}
	if err := c.compare(ctx, "", a, b); err != nil {
		return nil, err
	}
	slices.SortFunc(c.changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return c.changes, nil
}

// comparison collects the changes between two trees.
type comparison struct {
	store   Store
	changes []Change
}

// compare compares two directories. A missing one is env.NoFile.
func (c *comparison) compare(ctx context.Context, prefix string, a, b env.Hash) error {
	if a == b {
		return nil
	}
	pairs := map[Name]*[2]*Entry{}
	for i, dir := range []env.Hash{a, b} {
		if dir == env.NoFile {
			continue
		}
		entries, err := ReadDirObject(ctx, c.store, dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if pairs[e.Name] == nil {
				pairs[e.Name] = new([2]*Entry)
			}
			pairs[e.Name][i] = &e
		}
	}
	for name, pair := range pairs {
		if err := c.add(ctx, prefix+string(name), pair[0], pair[1]); err != nil {
			return err
		}
	}
	return nil
}

// add compares two entries of the same path, of which one may be nil.
func (c *comparison) add(ctx context.Context, name string, old, now *Entry) error {
	if old.Same(now) {
		return nil
	}
	// A directory whose entries differ is not a change by itself.
	if !old.isTree() || !now.isTree() || old.Mode != now.Mode {
		c.changes = append(c.changes, Change{Path: name, Before: old, After: now})
	}
	return c.compare(ctx, name+"/", old.tree(), now.tree())
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
	c := composition{changes: map[string]*composed{}}
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
type composition struct{ changes map[string]*composed }

type composed struct {
	Change
	others bool // somebody else has changed the path since the session did
}

// others adds the changes of somebody else.
func (c *composition) others(changes []Change) {
	for i := range changes {
		if old := c.changes[changes[i].Path]; old != nil && !alike(changes[i].Before, changes[i].After) {
			old.others = true
		}
	}
}

// own adds changes of the session.
func (c *composition) own(changes []Change, unknown bool) {
	for _, change := range changes {
		if alike(change.Before, change.After) {
			continue
		}
		old := c.changes[change.Path]
		if old == nil {
			change.Unknown = unknown
			c.changes[change.Path] = &composed{Change: change}
			continue
		}
		old.After = change.After
		old.Mixed = old.Mixed || old.others
		old.Unknown = old.Unknown || unknown
		old.others = false
	}
}

// list returns what is left of the changes, in the order of their paths.
func (c *composition) list() []Change {
	var list []Change
	for _, path := range slices.Sorted(maps.Keys(c.changes)) {
		if change := c.changes[path].Change; !alike(change.Before, change.After) {
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
