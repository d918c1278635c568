package git

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/attractor-go/attractor/env"
)

const (
	maxFiles  = 500_000  // of a work tree; larger ones are not counted
	maxHashed = 32 << 20 // bytes of files that are read because their times are not conclusive
)

// counts holds the paths in which the work tree, the index and the last commit differ, in order.
type counts struct{ modified, untracked []string }

// first returns the first n of the paths.
func (c *counts) first(n int) (changes []Change) {
	for _, name := range c.modified[:min(n, len(c.modified))] {
		changes = append(changes, Change{Path: name})
	}
	for _, name := range c.untracked[:min(n-len(changes), len(c.untracked))] {
		changes = append(changes, Change{Path: name, Untracked: true})
	}
	return changes
}

// counting holds the state of count.
type counting struct {
	*repository
	index   *index
	changed map[string]bool
	seen    []bool                // by index entry, whether the walk has met it
	lists   map[string][]env.Info // by directory
	hashed  atomic.Int64
	modes   bool

	slots chan struct{} // of the walk's goroutines
	stop  context.CancelCauseFunc
	files atomic.Int64 // that the walk has met

	mu        sync.Mutex // of what the walk finds
	different []int      // index entries
	counts
}

// count compares the last commit with the index by ids, and the index with the work tree by lstat. It reads a file only if its times are
// not conclusive. It never runs the filters that a repository may name, so a filtered file may count as modified if only its time has
// changed.
func (r *repository) count(ctx context.Context, head string) (counts, error) {
	x, err := r.readIndex(ctx)
	if err != nil {
		return counts{}, err
	}
	c := &counting{repository: r, index: x, changed: map[string]bool{}, seen: make([]bool, len(x.entries)),
		lists: map[string][]env.Info{}, modes: !r.noModes && r.env.Platform().OS != "windows"}
	if err := r.compare(ctx, head, x, c.changed); err != nil {
		return counts{}, err
	}
	if err := c.walk(ctx); err != nil {
		return counts{}, err
	}
	if err := c.unseen(ctx); err != nil {
		return counts{}, err
	}
	c.modified = slices.Sorted(maps.Keys(c.changed))
	slices.Sort(c.untracked)
	return c.counts, context.Cause(ctx)
}

func (c *counting) find(name string) (int, bool) {
	return slices.BinarySearchFunc(c.index.entries, name, func(e indexEntry, name string) int { return strings.Compare(e.path, name) })
}

// inSubmodule reports whether a path is in a submodule.
func (c *counting) inSubmodule(name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if i, found := c.find(dir); found && c.index.entries[i].mode&kindMask == kindRepo {
			return true
		}
	}
	return false
}

// unseen compares the entries that the walk has not met: deleted files, links, and tracked files that are ignored.
func (c *counting) unseen(ctx context.Context) error {
	for i, e := range c.index.entries {
		if c.seen[i] || e.unobserved || e.mode&kindMask == kindRepo || e.stage == 0 && c.changed[e.path] {
			continue
		}
		if e.stage != 0 { // a conflict counts as one change
			c.changed[e.path] = true
			continue
		}
		list := c.list(ctx, path.Dir(e.path))
		at, found := inList(list, path.Base(e.path))
		if !found {
			c.changed[e.path] = true
			continue
		}
		differs, err := c.differs(ctx, i, list[at])
		if err != nil {
			return err
		}
		if differs {
			c.changed[e.path] = true
		}
	}
	return context.Cause(ctx)
}

// list returns the files of a directory of the work tree. It returns none for a path through a link, which git does not follow.
func (c *counting) list(ctx context.Context, dir string) []env.Info {
	if list, ok := c.lists[dir]; ok {
		return list
	}
	is := dir == "."
	if !is {
		above := c.list(ctx, path.Dir(dir))
		i, found := inList(above, path.Base(dir))
		is = found && above[i].Mode.IsDir()
	}
	var list []env.Info
	if is {
		list, _ = c.env.ReadDir(ctx, path.Join(c.root, dir)) // like git, take an unreadable directory for empty
	}
	c.lists[dir] = list
	return list
}

func inList(list []env.Info, name string) (int, bool) {
	return slices.BinarySearchFunc(list, name, func(info env.Info, name string) int { return strings.Compare(info.Name, name) })
}

// differs reports whether a file differs from its entry of the index. It returns false for an entry in changed.
func (c *counting) differs(ctx context.Context, i int, info env.Info) (bool, error) {
	e := &c.index.entries[i]
	if e.unobserved || c.changed[e.path] {
		return false, nil
	}
	link, sized := info.Mode.Type() == fs.ModeSymlink, uint32(info.Size) == e.size
	switch {
	case link != (e.mode&kindMask == kindLink) || !link && !info.Mode.IsRegular(),
		!link && c.modes && (info.Mode&0o100 != 0) != (e.mode&0o100 != 0),
		!sized && e.size != 0,        // git writes size 0 if it is not sure
		link && !c.sameTime(e, info): // a link cannot be read through an environment
		return true, nil
	case link || sized && c.sameTime(e, info) && !c.racy(e, info):
		return false, nil
	}
	same, err := c.sameContent(ctx, e, info)
	return err == nil && !same, err
}

// sameTime compares times at the resolution that both sides have.
func (c *counting) sameTime(e *indexEntry, info env.Info) bool {
	nsec := uint32(info.ModTime.Nanosecond())
	return uint32(info.ModTime.Unix()) == e.sec && (nsec == e.nsec || nsec == 0 || e.nsec == 0)
}

// racy reports whether a file may have changed after the index was written without a new time. If the environment's times are whole
// seconds, racy returns false, because every file of a fresh clone would be racy.
func (c *counting) racy(e *indexEntry, info env.Info) bool {
	coarse := info.ModTime.Nanosecond() == 0 && e.nsec != 0
	return !coarse && !info.ModTime.Before(c.index.written)
}

// sameContent reports whether the content of a file has the id of its entry.
func (c *counting) sameContent(ctx context.Context, e *indexEntry, info env.Info) (same bool, err error) {
	if c.hashed.Add(info.Size) > maxHashed {
		return false, errBudget
	}
	f, err := c.env.Open(ctx, path.Join(c.root, e.path))
	if err != nil {
		return false, nil // it was removed or may not be read
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var sum hash.Hash = sha1.New()
	if c.sha256 {
		sum = sha256.New()
	}
	fmt.Fprintf(sum, "blob %d\x00", info.Size)
	if _, err := io.Copy(sum, io.LimitReader(f, info.Size+1)); err != nil {
		return false, nil
	}
	return string(sum.Sum(nil)) == e.id, nil
}
