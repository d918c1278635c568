package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/attractor-go/attractor/internal/atomicfile"
	"github.com/attractor-go/attractor/internal/filelock"
)

// Collected says what a collection has found and done.
type Collected struct {
	Owners int // whose trees are kept
	// owners whose trees were dropped because the store was full, beginning with the one that was
	// not used for longest
	Evicted []string
	Objects int   // that are kept
	Removed int   // objects
	Bytes   int64 // of the packs that are left
	Freed   int64 // bytes
}

// Collect removes the objects that no owner's tree reaches. If the store has more bytes than it may
// have, it drops the trees of owners first: those that were not used for the longest time, but none
// of an owner that uses or has claimed a workspace. It waits until no batch is open, at most a
// minute, and Begin waits for it. After an error it can be called again; nothing that is kept is
// ever missing.
func (d *Dir) Collect(ctx context.Context) (Collected, error) {
	return d.collect(ctx, d.max, lockWait)
}

// roomWait limits how long a batch waits for a collection that makes room for it.
const roomWait = 10 * time.Second

// makeRoom collects, so that a batch has some room. If others have batches open for long, the batch
// goes on without.
func (d *Dir) makeRoom(ctx context.Context) error {
	d.mu.Lock()
	goal := d.max - max(d.wanted, d.max/4)
	d.wanted = 0
	d.mu.Unlock()
	c, err := d.collect(ctx, goal, roomWait)
	if err == nil {
		d.mu.Lock()
		d.packed = c.Bytes
		d.mu.Unlock()
	}
	return ignore(err, filelock.ErrLocked)
}

// tight reports whether a batch may have too little room. If what is in use fills the store,
// another collection is worth its time only when the store has grown.
func (d *Dir) tight() bool {
	size := d.size()
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.wanted > 0:
		return size > d.max-max(d.wanted, d.max/10)
	case size <= d.max-d.max/10:
		d.packed = 0
		return false
	}
	return d.packed == 0 || size > d.packed+d.max/50
}

// want notes that a batch would have needed some bytes.
func (d *Dir) want(n int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wanted = min(max(d.wanted, n), d.max)
}

func (d *Dir) collect(ctx context.Context, goal int64, wait time.Duration) (Collected, error) {
	c := &collection{dir: d, goal: goal}
	err := c.run(ctx, wait)
	if d.evicted != nil {
		for _, owner := range c.Evicted {
			d.evicted(owner)
		}
	}
	if err != nil {
		return c.Collected, fmt.Errorf("checkpoint: cannot collect: %w", err)
	}
	return c.Collected, nil
}

// collection is one run of Collect.
type collection struct {
	Collected
	dir   *Dir
	goal  int64 // bytes that kept objects may have
	packs []*packFile
	sizes []int64  // of the packs: readers change those in packs
	live  [][]bool // by pack and entry of its table
	bytes []int64  // of the live records, by pack
	trail []mark   // what the last owner has added
}

// mark names an entry of a pack.
type mark struct{ pack, entry int }

func (c *collection) run(ctx context.Context, wait time.Duration) (err error) {
	lock, err := hold(ctx, c.dir.file(lockName), filelock.Exclusive, wait)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := c.dir.refresh(); err != nil {
		return err
	}
	before := c.dir.size()
	if err = c.begin(); err == nil {
		err = c.marks(ctx)
	}
	if err == nil {
		err = c.sweep(ctx)
	}
	c.Bytes = c.dir.size()
	c.Freed = before - c.Bytes
	return err
}

// begin sorts the entries of all packs. Only this collection uses the store now, besides readers. A
// pack that is locked nevertheless belongs to a process that is being ended and has lost its lock
// of the store first.
func (c *collection) begin() error {
	c.dir.mu.Lock()
	defer c.dir.mu.Unlock()
	for _, p := range c.dir.packs {
		if err := p.update(p.size); err != nil {
			return err
		}
		p.sort()
		c.packs = append(c.packs, p)
	}
	slices.SortFunc(c.packs, func(a, b *packFile) int { return cmp.Compare(b.end, a.end) })
	for _, p := range c.packs {
		c.sizes = append(c.sizes, p.size)
		c.live = append(c.live, make([]bool, len(p.table)/indexEntry))
	}
	c.bytes = make([]int64, len(c.packs))
	return nil
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
		if inUse[a.name] != inUse[b.name] {
			return cmp.Compare(btoi(inUse[b.name]), btoi(inUse[a.name]))
		}
		return b.used.Compare(a.used)
	})
	over := false
	for _, o := range owners {
		if err := c.markOwner(ctx, o); err != nil {
			return err
		}
		over = over || c.kept() > c.goal
		if !over || inUse[o.name] {
			c.Owners++
			continue
		}
		c.takeBack()
		if err := ignore(os.Remove(o.path), fs.ErrNotExist); err != nil {
			return err
		}
		c.Evicted = slices.Insert(c.Evicted, 0, o.name)
	}
	return nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (c *collection) kept() (total int64) {
	for _, n := range c.bytes {
		total += n
	}
	return total
}

// markOwner marks what an owner's trees reach. A root that is not a directory is an object by
// itself.
func (c *collection) markOwner(ctx context.Context, o owned) error {
	c.trail = c.trail[:0]
	for _, root := range o.roots {
		if err := c.markDir(ctx, root); err != nil {
			return err
		}
	}
	return nil
}

// markDir marks a directory and what is in it, unless it is marked.
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
	for i, p := range c.packs {
		entry, ok := p.search(object)
		if !ok {
			continue
		}
		if c.live[i][entry] {
			return false
		}
		c.live[i][entry] = true
		c.bytes[i] += p.at(entry).length
		c.trail = append(c.trail, mark{i, entry})
		return true
	}
	return false
}

// takeBack unmarks what the last owner has added.
func (c *collection) takeBack() {
	for _, m := range c.trail {
		c.live[m.pack][m.entry] = false
		c.bytes[m.pack] -= c.packs[m.pack].at(m.entry).length
	}
	c.trail = c.trail[:0]
}

// smallPacks is the number of packs below a quarter of packMax from which on they are made one.
const smallPacks = 8

// sweep removes packs that nobody needs, and rewrites those that are worth it.
func (c *collection) sweep(ctx context.Context) error {
	var rest []int
	for i, p := range c.packs {
		c.count(i)
		if c.bytes[i] > 0 {
			rest = append(rest, i)
		} else if err := c.drop(p); err != nil {
			return err
		}
	}
	if err := c.rewrite(ctx, c.worthwhile(rest)); err != nil {
		return err
	}
	return c.tidy()
}

// worthwhile returns the packs that are mostly dead, those that are small if there are many, and as
// many others as it takes for the goal.
func (c *collection) worthwhile(packs []int) (list []int) {
	slices.SortFunc(packs, func(a, b int) int { return cmp.Compare(c.dead(b), c.dead(a)) })
	size := c.dir.size()
	var small []int
	for _, i := range packs {
		switch {
		case c.dead(i) > c.bytes[i], size > c.goal && c.dead(i) > headerSize:
			list = append(list, i)
			size -= c.dead(i)
		case c.sizes[i] < packMax/4:
			small = append(small, i)
		}
	}
	if len(small) >= smallPacks {
		list = append(list, small...)
	}
	return list
}

// dead returns the bytes of a pack that nobody needs, with those between the records.
func (c *collection) dead(pack int) int64 { return c.sizes[pack] - c.bytes[pack] }

// count adds a pack's objects to the sums.
func (c *collection) count(pack int) {
	for _, live := range c.live[pack] {
		if live {
			c.Objects++
		} else {
			c.Removed++
		}
	}
}

// drop removes a pack.
func (c *collection) drop(p *packFile) error {
	c.dir.mu.Lock()
	defer c.dir.mu.Unlock()
	if err := ignore(os.Remove(p.indexPath()), fs.ErrNotExist); err != nil {
		return err
	}
	if err := ignore(os.Remove(p.path), fs.ErrNotExist); err != nil {
		return err
	}
	delete(c.dir.packs, p.name())
	return nil
}

// rewrite copies what is live in packs to new ones. It removes the old ones when the new ones are
// durable.
func (c *collection) rewrite(ctx context.Context, packs []int) error {
	r := &rewriting{collection: c}
	for _, i := range packs {
		err := ctx.Err()
		if err == nil {
			err = r.copy(i)
		}
		if err == nil && r.out.at >= packMax {
			err = r.finish()
		}
		if err != nil {
			return errors.Join(err, r.close())
		}
	}
	return errors.Join(r.finish(), r.close())
}

// rewriting copies packs to one new pack after another.
type rewriting struct {
	*collection
	out  *packWriter // nil if there is none
	done []*packFile // what was copied to it
}

// copy copies the live objects of a pack. Damaged ones are left out, so that they can be recorded
// again.
func (r *rewriting) copy(pack int) (err error) {
	p := r.packs[pack]
	if r.out == nil {
		if r.out, err = r.dir.newWriter(); err != nil {
			return full(err)
		}
	}
	file, err := os.Open(p.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	for _, o := range r.liveObjects(pack) {
		h, err := wholeRecord(file, o)
		if errors.Is(err, errDamaged) {
			continue
		}
		if err == nil {
			err = full(r.out.add(h, io.NewSectionReader(file, o.offset+headerSize, h.length)))
		}
		if err != nil {
			return err
		}
	}
	r.done = append(r.done, p)
	return nil
}

// liveObjects returns the live objects of a pack in the order of their offsets.
func (c *collection) liveObjects(pack int) []found {
	var objects []found
	for i, live := range c.live[pack] {
		if live {
			objects = append(objects, c.packs[pack].at(i))
		}
	}
	slices.SortFunc(objects, func(a, b found) int { return cmp.Compare(a.offset, b.offset) })
	return objects
}

// wholeRecord returns the header of an object whose payload has the right checksum.
func wholeRecord(file io.ReaderAt, o found) (header, error) {
	h, err := readHeader(file, o.object, o.place)
	if err != nil {
		return h, err
	}
	sum := &counter{to: io.Discard}
	n, err := io.Copy(sum, io.NewSectionReader(file, o.offset+headerSize, h.length))
	if err == nil && (n < h.length || sum.sum != h.sum) {
		err = errDamaged
	}
	return h, err
}

// finish makes the new pack durable and removes what was copied.
func (r *rewriting) finish() error {
	if r.out == nil {
		return nil
	}
	if err := full(r.out.sync()); err != nil {
		return err
	}
	if err := atomicfile.SyncDir(r.dir.file(packsName)); err != nil {
		return err
	}
	r.out.done = true
	if err := r.dir.learn(r.out); err != nil {
		return full(err)
	}
	for _, p := range r.done {
		if err := r.drop(p); err != nil {
			return err
		}
	}
	r.done = nil
	return r.close()
}

// close ends the new pack, and removes it if it is not durable.
func (r *rewriting) close() error {
	if r.out == nil {
		return nil
	}
	err := r.out.close()
	r.out = nil
	return err
}

// tidy removes what killed processes have left: unfinished files, indexes without a pack, and the
// ends of batches that broke off.
func (c *collection) tidy() error {
	c.dir.mu.Lock()
	defer c.dir.mu.Unlock()
	entries, err := os.ReadDir(c.dir.file(packsName))
	if err != nil {
		return err
	}
	for _, e := range entries {
		stem, isIndex := strings.CutSuffix(e.Name(), indexExt)
		orphan := isIndex && c.dir.packs[stem+packExt] == nil
		if orphan || strings.HasSuffix(e.Name(), tempExt) {
			if err := ignore(os.Remove(c.dir.file(packsName, e.Name())), fs.ErrNotExist); err != nil {
				return err
			}
		}
	}
	for _, p := range c.dir.packs {
		if p.size > p.end && !p.damaged {
			if err := os.Truncate(p.path, p.end); err != nil {
				return err
			}
			p.size = p.end
		}
	}
	return nil
}
