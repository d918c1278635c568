package checkpoint

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/env"
	"github.com/klauspost/compress/zstd"
)

// Dir is a [Store] in a directory of this machine, which the sessions of a user share. Objects are
// compressed and lie in packs, files that only grow. The directory and its files are only for the
// user. A Dir holds no file open between its calls, so it is not closed.
//
// A batch that was committed survives a crash of the machine. What a killed process leaves is
// ignored, and removed by a later batch or [Dir.Collect].
type Dir struct {
	path    string
	max     int64
	evicted func(owner string)
	encoder func() *zstd.Encoder
	decoder func() *zstd.Decoder
	buffers sync.Pool // of *[]byte, for contents of at most smallObject bytes

	mu     sync.RWMutex
	packs  map[string]*packFile // by name
	wanted int64                // the bytes for which a batch had no room
	packed int64                // what was left when room was made last, and little could be dropped; else 0
}

// DirOptions are the options of [OpenDir].
type DirOptions struct {
	// Max bounds the bytes of all packs. Above it the trees of the owners that were not used for
	// the longest time are dropped. The default is 4 GiB.
	Max int64
	// Evicted is called with each owner whose trees were dropped because the store was full.
	Evicted func(owner string)
}

// The names in a store's directory.
const (
	packsName  = "packs"
	ownersName = "owners"
	usesName   = "uses"
	lockName   = "lock" // shared by batches; a collection has it alone
)

// OpenDir opens the store in a directory, which is made if it is missing.
func OpenDir(path string, o DirOptions) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	for _, name := range []string{packsName, ownersName, usesName} {
		if err := os.MkdirAll(filepath.Join(path, name), 0o700); err != nil {
			return nil, fmt.Errorf("checkpoint: cannot make the store: %w", err)
		}
	}
	if err := os.Chmod(path, 0o700); err != nil {
		return nil, fmt.Errorf("checkpoint: cannot keep others out of the store: %w", err)
	}
	d := &Dir{path: path, max: o.Max, evicted: o.Evicted, packs: map[string]*packFile{}}
	if d.max <= 0 {
		d.max = 4 << 30
	}
	d.encoder = sync.OnceValue(func() *zstd.Encoder { return must(zstd.NewWriter(nil, zstd.WithEncoderLevel(level))) })
	d.decoder = sync.OnceValue(func() *zstd.Decoder {
		return must(zstd.NewReader(nil,
			zstd.WithDecoderMaxMemory(smallObject)))
	})
	d.buffers.New = func() any { return new(make([]byte, smallObject+1)) }
	return d, nil
}

// level is how much work compression does.
const level = zstd.SpeedFastest

// must returns a coder of valid options, whose constructors return no error then.
func must[T any](coder T, err error) T {
	if err != nil {
		panic(err)
	}
	return coder
}

func (d *Dir) file(names ...string) string { return filepath.Join(d.path, filepath.Join(names...)) }

// newPack returns the path of a new pack.
func (d *Dir) newPack() string { return d.file(packsName, rand.Text()+packExt) }

// refresh updates the list of packs and what is known of each. The caller holds the lock of the
// store, or looks again if a pack is gone.
func (d *Dir) refresh() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	entries, err := os.ReadDir(d.file(packsName))
	if err != nil {
		return err
	}
	there := make(map[string]*packFile, len(entries))
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), packExt) {
			continue
		}
		p, err := d.look(e)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if p != nil {
			there[e.Name()] = p
		}
	}
	d.packs = there
	return nil
}

// look returns an up-to-date pack, or nil if there is none any more.
func (d *Dir) look(e fs.DirEntry) (*packFile, error) {
	info, err := e.Info()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil
	}
	p, size := d.packs[e.Name()], info.Size()
	switch {
	case p == nil, size < p.end:
		return openPack(d.file(packsName, e.Name()), size)
	case size == p.size && size == p.end:
		return p, nil
	}
	return p, p.follow(size)
}

// preview looks for objects in the packs that somebody is writing to.
func (d *Dir) preview() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.packs {
		if p.busy {
			if err := p.preview(); err != nil {
				return err
			}
		}
	}
	return nil
}

// find returns the pack that has an object, or nil. Others can rely on the object.
func (d *Dir) find(object digest) (*packFile, place) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, p := range d.packs {
		if at, ok := p.find(object); ok {
			return p, at
		}
	}
	return nil, place{}
}

// findEarly returns the pack from which an object can only be read, or nil.
func (d *Dir) findEarly(object digest) (*packFile, place) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, p := range d.packs {
		if at, ok := p.early[object]; ok {
			return p, at
		}
	}
	return nil, place{}
}

// size returns the bytes of all packs.
func (d *Dir) size() (total int64) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, p := range d.packs {
		total += p.size
	}
	return total
}

// growing returns the packs that may get further batches, the largest first.
func (d *Dir) growing() []*packFile {
	d.mu.RLock()
	defer d.mu.RUnlock()
	var packs []*packFile
	for _, p := range d.packs {
		if !p.damaged && p.end < packMax {
			packs = append(packs, p)
		}
	}
	slices.SortFunc(packs, func(a, b *packFile) int { return int(b.end - a.end) })
	return packs
}

// Open implements Store.
func (d *Dir) Open(ctx context.Context, hash env.Hash) (io.ReadCloser, error) {
	object, ok := digestOf(hash)
	if !ok {
		return nil, fmt.Errorf("checkpoint: %q is not a hash: %w", hash, fs.ErrInvalid)
	}
	for again := range 3 { // a collection may move an object to another pack while it is looked for
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		pack, at := d.find(object)
		if pack == nil {
			pack, at = d.findEarly(object)
		}
		if pack != nil {
			r, err := d.open(pack.path, object, at)
			if !errors.Is(err, fs.ErrNotExist) {
				return r, err
			}
		}
		if pack == nil && again > 0 {
			break
		}
		err := d.refresh()
		if err == nil {
			err = d.preview()
		}
		if err != nil {
			return nil, fmt.Errorf("checkpoint: %w", err)
		}
	}
	return nil, fmt.Errorf("checkpoint: object %s: %w", hash, fs.ErrNotExist)
}
