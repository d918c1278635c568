package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"github.com/attractor-go/attractor/env"
)

// Dir is a [Store] in a directory of this machine, which the sessions of a user share. Objects are
// compressed and lie in packs, files that never change. The directory and its files are only for
// the user. A Dir holds no file open between its calls, so it is not closed.
//
// A batch that was committed survives a crash of the machine. What a killed process leaves is
// ignored, and removed by [Dir.Collect].
type Dir struct {
	path    string
	max     int64
	evicted func(owner string)
	encoder *zstd.Encoder
	decoder *zstd.Decoder
	buffers sync.Pool    // of *bytes.Buffer
	room    atomic.Int64 // the bytes that a batch needs: with less, it makes room first

	mu    sync.RWMutex
	packs map[string]*pack // by file name
}

// DirOptions are the options of [OpenDir].
type DirOptions struct {
	// Max bounds the bytes of all packs. Above it the trees of the owners that were not used for
	// the longest time are dropped. The default is 4 GiB.
	Max int64
	// Evicted is called with each owner whose trees were dropped because the store was full,
	// beginning with the one that was not used for longest.
	Evicted func(owner string)
}

// The names in a store's directory.
const (
	packsName  = "objects"
	ownersName = "trees"
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
	d := &Dir{path: path, max: o.Max, evicted: o.Evicted, packs: map[string]*pack{}}
	if d.evicted == nil {
		d.evicted = func(string) {}
	}
	if d.max <= 0 {
		d.max = 4 << 30
	}
	d.room.Store(d.max / 10)
	d.buffers.New = func() any { return new(bytes.Buffer) }
	if d.encoder, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest)); err != nil {
		return nil, err
	}
	if d.decoder, err = zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxObject)); err != nil {
		return nil, err
	}
	return d, nil
}

// maxObject bounds the content of an object that is read, so that a damaged one takes no more
// memory.
const maxObject = 1 << 30

// giveBack gives a buffer to the pool, which keeps none that is large.
func (d *Dir) giveBack(buf *bytes.Buffer) {
	if buf.Cap() <= 2*smallObject {
		buf.Reset()
		d.buffers.Put(buf)
	}
}

func (d *Dir) file(names ...string) string { return filepath.Join(d.path, filepath.Join(names...)) }

// refresh updates the list of packs.
func (d *Dir) refresh() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	entries, err := os.ReadDir(d.file(packsName))
	if err != nil {
		return err
	}
	there := make(map[string]*pack, len(entries))
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), packExt) || !e.Type().IsRegular() {
			continue
		}
		p := d.packs[e.Name()]
		if p == nil {
			p, err = openPack(d.file(packsName, e.Name()))
			if errors.Is(err, fs.ErrNotExist) {
				continue // what it had is in another one
			}
			if err != nil {
				return err
			}
		}
		there[e.Name()] = p
	}
	d.packs = there
	return nil
}

// find returns the pack that has an object, or nil.
func (d *Dir) find(object digest) (*pack, found) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	for _, p := range d.packs {
		if f, ok := p.find(object); ok {
			return p, f
		}
	}
	return nil, found{}
}

// learn adds a pack that this process has made.
func (d *Dir) learn(p *pack) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.packs[filepath.Base(p.path)] = p
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

// Open implements Store.
func (d *Dir) Open(ctx context.Context, hash env.Hash) (io.ReadCloser, error) {
	object, ok := digestOf(hash)
	if !ok {
		return nil, fmt.Errorf("checkpoint: %q is not a hash: %w", hash, fs.ErrInvalid)
	}
	for range 3 { // another process may move an object to another pack while it is looked for
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if p, f := d.find(object); p != nil {
			data, _, err := d.read(p, f)
			if !errors.Is(err, fs.ErrNotExist) {
				return io.NopCloser(bytes.NewReader(data)), err
			}
		}
		if err := d.refresh(); err != nil {
			return nil, fmt.Errorf("checkpoint: %w", err)
		}
	}
	return nil, fmt.Errorf("checkpoint: object %s: %w", hash, fs.ErrNotExist)
}
