package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/attractor-go/attractor/internal/atomicfile"
	"github.com/attractor-go/attractor/internal/filelock"
)

// Collect removes the objects that no owner's tree reaches. If the store has more bytes than it may
// have, it drops the trees of owners first: those that were not used for the longest time, but none
// of an owner that uses or has claimed a workspace. It waits until no batch is open, at most a
// minute, and Begin waits for it. After an error it can be called again; nothing that is kept is
// ever missing.
func (d *Dir) Collect(ctx context.Context) error {
	return d.collect(ctx, d.max, lockWait)
}

// roomWait limits how long a batch waits for a collection that makes room for it.
const roomWait = 10 * time.Second

// makeRoom collects if the store is nearly full, so that a batch has some room. If others have
// batches open for long, the batch goes on without.
func (d *Dir) makeRoom(ctx context.Context) error {
	room := d.room.Load()
	if d.max-d.size() >= room {
		return nil
	}
	if err := d.collect(ctx, d.max-max(room, d.max/4), roomWait); err != nil {
		return ignore(err, filelock.ErrLocked)
	}
	// a store that is full of what is in use is collected again only when it has grown
	d.room.Store(min(d.max/10, d.max-d.size()-d.max/50))
	return nil
}

// collect is Collect with the bytes that are kept.
func (d *Dir) collect(ctx context.Context, goal int64, wait time.Duration) (err error) {
	lock, err := hold(ctx, d.file(lockName), filelock.Exclusive, wait)
	if err != nil {
		return fmt.Errorf("checkpoint: cannot lock the store: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	c := &collection{dir: d, goal: goal, live: map[digest]int64{}}
	if err = d.refresh(); err == nil {
		err = c.marks(ctx)
	}
	for _, owner := range slices.Backward(c.evicted) {
		d.evicted(owner)
	}
	if err == nil {
		err = c.sweep(ctx)
	}
	if err != nil {
		err = fmt.Errorf("checkpoint: cannot collect: %w", err)
	}
	return err
}

// collection is one run of Collect.
type collection struct {
	dir     *Dir
	goal    int64            // bytes that kept objects may have
	live    map[digest]int64 // the bytes of each object that is kept
	kept    int64            // bytes
	trail   []digest         // what the last owner has added
	evicted []string         // owners, the one that was not used for longest last
}

// marks finds what is kept, beginning with the owners that must stay.
func (c *collection) marks(ctx context.Context) error {
	owners, err := c.dir.owners()
	if err != nil {
		return err
	}
	inUse, err := c.dir.usedBy(ctx)
	if err != nil {
		return err
	}
	slices.SortStableFunc(owners, func(a, b owned) int {
		switch {
		case inUse[a.name] == inUse[b.name]:
			return b.used.Compare(a.used)
		case inUse[a.name]:
			return -1
		}
		return 1
	})
	over := false
	for _, o := range owners {
		c.trail = c.trail[:0]
		for _, root := range o.roots {
			if err := c.markDir(ctx, root); err != nil {
				return err
			}
		}
		over = over || c.kept > c.goal
		if !over || inUse[o.name] {
			continue
		}
		for _, object := range c.trail {
			c.kept -= c.live[object]
			delete(c.live, object)
		}
		if err := c.dir.Release(ctx, o.name); err != nil {
			return err
		}
		c.evicted = append(c.evicted, o.name)
	}
	return nil
}

// markDir marks a directory and what is in it, unless it is marked. A root that is not a directory
// is an object by itself.
func (c *collection) markDir(ctx context.Context, object digest) error {
	if !c.mark(object) {
		return nil
	}
	entries, err := ReadDirObject(ctx, c.dir, object.hash())
	if err != nil {
		return notLost(err)
	}
	for _, e := range entries {
		below, ok := digestOf(e.Object)
		if !ok {
			continue
		}
		if e.Mode.IsDir() {
			err = c.markDir(ctx, below)
		} else {
			c.mark(below)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// notLost returns nil for the errors of objects whose parts nobody can find any more. After other
// errors a collection would remove what somebody needs.
func notLost(err error) error {
	if errors.Is(err, errNoDirectory) || errors.Is(err, errDamaged) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// mark reports whether an object is there and was not marked yet.
func (c *collection) mark(object digest) bool {
	if _, marked := c.live[object]; marked {
		return false
	}
	p, f := c.dir.find(object)
	if p == nil {
		return false
	}
	c.live[object] = f.length + entrySize
	c.kept += c.live[object]
	c.trail = append(c.trail, object)
	return true
}

// sweep removes packs that nobody needs, and rewrites those of which a part is dead. An object that
// several packs have is kept in one of them.
func (c *collection) sweep(ctx context.Context) error {
	for _, p := range c.dir.list() {
		live := &pack{path: p.path, size: p.size}
		for _, f := range p.objects {
			if _, ok := c.live[f.object]; ok {
				delete(c.live, f.object)
				live.objects = append(live.objects, f)
			}
		}
		if len(live.objects) == len(p.objects) && len(live.objects) > 0 {
			continue
		}
		if err := c.dir.rewrite(ctx, live); err != nil {
			return err
		}
	}
	return c.tidy()
}

// tidy removes the unfinished files of killed processes.
func (c *collection) tidy() error {
	names, err := fs.Glob(os.DirFS(c.dir.file(packsName)), "*"+tempExt)
	for _, name := range names {
		err = errors.Join(err, ignore(os.Remove(c.dir.file(packsName, name)), fs.ErrNotExist))
	}
	return err
}

// list returns all packs, the largest first.
func (d *Dir) list() []*pack {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return slices.SortedFunc(maps.Values(d.packs), func(a, b *pack) int { return cmp.Compare(b.size, a.size) })
}

// drop removes a pack.
func (d *Dir) drop(p *pack) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := ignore(os.Remove(p.path), fs.ErrNotExist); err != nil {
		return err
	}
	delete(d.packs, filepath.Base(p.path))
	return nil
}

// From smallPacks on, packs that have at most mergedSize bytes together are made one.
const (
	smallPacks = 32
	mergedSize = 64 << 20
)

// mergeSmall makes one pack of those that are small, if there are many and nobody else uses the
// store. If it fails, as on a full disk, a later batch does it.
func (d *Dir) mergeSmall(ctx context.Context) {
	if len(d.small()) < smallPacks {
		return
	}
	lock, err := tryHold(d.file(lockName), filelock.Exclusive)
	if err != nil {
		return
	}
	defer lock.Close() // the lock ends also with an error
	if d.refresh() != nil {
		return
	}
	_ = d.rewrite(ctx, d.small()...)
}

// small returns the smallest packs.
func (d *Dir) small() (packs []*pack) {
	var size int64
	for _, p := range slices.Backward(d.list()) {
		if size += p.size; size > mergedSize {
			break
		}
		packs = append(packs, p)
	}
	return packs
}

// rewrite copies the objects of packs to a new one, and removes the old ones when that is durable.
// The caller has the store alone.
func (d *Dir) rewrite(ctx context.Context, packs ...*pack) (err error) {
	out, err := d.newWriter()
	if err != nil {
		return full(err)
	}
	defer func() { err = errors.Join(err, out.abandon()) }()
	seen := map[digest]bool{} // several packs may have an object
	for _, p := range packs {
		if err := d.copy(ctx, out, p, seen); err != nil {
			return err
		}
	}
	if len(out.objects) > 0 {
		made, err := out.finish()
		if err == nil {
			err = atomicfile.SyncDir(d.file(packsName))
		}
		if err != nil {
			return full(err)
		}
		d.learn(made)
	}
	for _, p := range packs {
		if err := d.drop(p); err != nil {
			return err
		}
	}
	return nil
}

// copy copies objects of a pack. Damaged ones are left out, so that they can be recorded again.
func (d *Dir) copy(ctx context.Context, to *packWriter, p *pack, seen map[digest]bool) error {
	for _, f := range p.objects {
		if err := ctx.Err(); err != nil {
			return err
		}
		if seen[f.object] {
			continue
		}
		_, frame, err := d.read(p, f)
		switch {
		case errors.Is(err, errDamaged):
			continue
		case err != nil:
			return err
		}
		if err := to.add(f.object, frame); err != nil {
			return full(err)
		}
		seen[f.object] = true
	}
	return nil
}
