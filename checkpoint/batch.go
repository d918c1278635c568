package checkpoint

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/atomicfile"
	"github.com/attractor-go/attractor/internal/filelock"
)

// smallObject bounds the objects that several goroutines may hold in memory at the same time. Of
// larger ones a batch holds one.
const smallObject = 1 << 20

// dirBatch is a batch of a [Dir]. It holds the lock of the store, so that no collection removes
// what it has found.
type dirBatch struct {
	dir  *Dir
	lock heldFile
	room int64 // bytes that the store may get

	large sync.Mutex // held while an object above smallObject is in memory
	mu    sync.Mutex
	out   *packWriter // nil before the first object
	added map[digest]struct{}
	err   error // the first one of writing: a batch with a hole is not committed
	ended bool
}

// Begin implements Store. If the store is nearly full, or had no room for the last batch, it first
// drops the trees of owners that were not used for the longest time. So a batch that fails with
// ErrFull may succeed when it is tried again.
func (d *Dir) Begin(ctx context.Context) (Batch, error) {
	err := d.refresh()
	if err == nil {
		err = d.makeRoom(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("checkpoint: cannot read the store: %w", err)
	}
	lock, err := hold(ctx, d.file(lockName), filelock.Shared, lockWait)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: cannot lock the store: %w", err)
	}
	if err := d.refresh(); err != nil {
		return nil, errors.Join(fmt.Errorf("checkpoint: cannot read the store: %w", err), lock.Close())
	}
	return &dirBatch{dir: d, lock: lock, room: d.max - d.size(), added: map[digest]struct{}{}}, nil
}

// Has implements Batch.
func (b *dirBatch) Has(hash env.Hash) bool {
	object, ok := digestOf(hash)
	if !ok {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.has(object)
}

func (b *dirBatch) has(object digest) bool {
	if _, ok := b.added[object]; ok {
		return true
	}
	p, _ := b.dir.find(object)
	return p != nil
}

// Put implements Batch.
func (b *dirBatch) Put(ctx context.Context, data io.Reader) (env.Hash, int64, error) {
	buf := b.dir.buffers.Get().(*bytes.Buffer)
	defer b.dir.giveBack(buf)
	_, err := buf.ReadFrom(io.LimitReader(data, smallObject+1))
	if err == nil && buf.Len() > smallObject {
		b.large.Lock()
		defer b.large.Unlock()
		_, err = buf.ReadFrom(data)
	}
	if err = errors.Join(err, ctx.Err()); err != nil {
		return "", 0, err
	}
	size := int64(buf.Len())
	object := digest(sha256.Sum256(buf.Bytes()))
	if b.Has(object.hash()) {
		return object.hash(), size, nil
	}
	frame := b.dir.buffers.Get().(*bytes.Buffer)
	defer b.dir.giveBack(frame)
	frame.Grow(buf.Len())
	return object.hash(), size, b.write(object, b.dir.encoder.EncodeAll(buf.Bytes(), frame.AvailableBuffer()))
}

// write adds a frame, unless another goroutine has added the object meanwhile.
func (b *dirBatch) write(object digest, frame []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.open(); err != nil || b.has(object) {
		return err
	}
	if err := b.out.add(object, frame); err != nil {
		b.err = full(err)
		return b.err
	}
	b.added[object] = struct{}{}
	if b.out.at > b.room {
		b.dir.room.Store(b.out.at + b.dir.max/4)
		b.err = fmt.Errorf("checkpoint: %w: its packs may have %d bytes", ErrFull, b.dir.max)
	}
	return b.err
}

// open makes the batch's pack if there is none. It returns an error if the batch cannot take
// another object.
func (b *dirBatch) open() error {
	switch {
	case b.ended:
		return errors.New("checkpoint: the batch has ended")
	case b.err == nil && b.out == nil:
		b.out, b.err = b.dir.newWriter()
		b.err = full(b.err)
	}
	return b.err
}

// full wraps ErrFull if the disk is full.
func full(err error) error {
	if err != nil && noSpace(err) {
		return fmt.Errorf("checkpoint: %w: %w", ErrFull, err)
	}
	return err
}

// Commit implements Batch.
func (b *dirBatch) Commit(ctx context.Context, owner string, root env.Hash) (err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended || b.err != nil {
		return b.open()
	}
	defer func() {
		if err = errors.Join(err, b.close()); err == nil {
			b.dir.mergeSmall(ctx)
		}
	}()
	object, ok := digestOf(root)
	if !ok {
		return fmt.Errorf("checkpoint: the root %q is not a hash: %w", root, fs.ErrInvalid)
	}
	if !b.has(object) {
		return fmt.Errorf("checkpoint: the root %s is not in the store: %w", root, fs.ErrNotExist)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := b.finish(); err != nil {
		return full(fmt.Errorf("checkpoint: %w", err))
	}
	return full(b.dir.keep(owner, object))
}

// finish makes the batch's objects durable and known.
func (b *dirBatch) finish() error {
	if len(b.added) > 0 {
		p, err := b.out.finish()
		if err != nil {
			return err
		}
		b.dir.learn(p)
	}
	// also for the names of packs that another process has made, on which this batch may rely
	return atomicfile.SyncDir(b.dir.file(packsName))
}

// Close implements Batch.
func (b *dirBatch) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return nil
	}
	return b.close()
}

// close removes what was not committed, and releases the lock.
func (b *dirBatch) close() error {
	b.ended = true
	var err error
	if b.out != nil {
		err = b.out.abandon()
	}
	return errors.Join(err, b.lock.Close())
}
