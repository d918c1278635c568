package checkpoint

import (
	"context"
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
	before, err := c.entries(ctx, a)
	if err != nil {
		return err
	}
	after, err := c.entries(ctx, b)
	if err != nil {
		return err
	}
	for len(before) > 0 || len(after) > 0 {
		var old, now *Entry
		if len(after) == 0 || len(before) > 0 && before[0].Name <= after[0].Name {
			old = &before[0]
		}
		if len(before) == 0 || len(after) > 0 && after[0].Name <= before[0].Name {
			now = &after[0]
		}
		if old != nil {
			before = before[1:]
		}
		if now != nil {
			after = after[1:]
		}
		if err := c.add(ctx, prefix, old, now); err != nil {
			return err
		}
	}
	return nil
}

// entries returns the entries of a directory, none for env.NoFile.
func (c *comparison) entries(ctx context.Context, dir env.Hash) ([]Entry, error) {
	if dir == env.NoFile {
		return nil, ctx.Err()
	}
	return ReadDirObject(ctx, c.store, dir)
}

// add compares two entries of the same name, of which one may be nil.
func (c *comparison) add(ctx context.Context, prefix string, old, now *Entry) error {
	if old.Same(now) {
		return nil
	}
	dirs := [2]env.Hash{}
	name := ""
	for i, e := range []*Entry{old, now} {
		if e == nil {
			continue
		}
		name = prefix + e.Name
		if e.kind() == kindDir {
			dirs[i] = e.Object
		}
	}
	// A directory whose entries differ is not a change by itself.
	if old == nil || now == nil || dirs[0] == "" || dirs[1] == "" || old.Mode != now.Mode {
		c.changes = append(c.changes, Change{Path: name, Before: old, After: now})
	}
	return c.compare(ctx, name+"/", dirs[0], dirs[1])
}
