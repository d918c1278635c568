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

	"github.com/klauspost/compress/zstd"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/atomicfile"
	"github.com/attractor-go/attractor/internal/filelock"
)

// smallObject bounds the content of an object that is held in memory. A larger one is written as a
// stream.
const smallObject = 1 << 20

// dirBatch is a batch of a [Dir]. It holds the lock of the store, so that no collection removes
// what it has found.
type dirBatch struct {
	dir  *Dir
	lock heldFile
	room int64 // bytes that the store may get

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
	defer b.dir.buffers.Put(buf)
	buf.Reset()
	_, err := buf.ReadFrom(io.LimitReader(data, smallObject+1))
	if err = errors.Join(err, ctx.Err()); err != nil {
		return "", 0, err
	}
	content := buf.Bytes()
	if len(content) > smallObject {
		return b.putLarge(io.MultiReader(bytes.NewReader(content), data))
	}
	object := digest(sha256.Sum256(content))
	if b.Has(object.hash()) {
		return object.hash(), int64(len(content)), nil
	}
	frame := b.dir.buffers.Get().(*bytes.Buffer)
	defer b.dir.buffers.Put(frame)
	frame.Reset()
	frame.Grow(len(content))
	return object.hash(), int64(len(content)), b.write(object, b.dir.encoder.EncodeAll(content, frame.AvailableBuffer()))
}

// write adds a frame, unless another goroutine has added the object meanwhile.
func (b *dirBatch) write(object digest, frame []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.open(); err != nil || b.has(object) {
		return err
	}
	offset := b.out.at
	if _, err := b.out.Write(frame); err != nil {
		b.err = full(err)
		return b.err
	}
	return b.end(object, offset)
}

// putLarge adds a large object. If the store has it already, its frame lies in the pack for
// nothing.
func (b *dirBatch) putLarge(content io.Reader) (hash env.Hash, size int64, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.open(); err != nil {
		return "", 0, err
	}
	offset := b.out.at
	encoder, err := zstd.NewWriter(b.out, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(4<<20))
	if err != nil {
		return "", 0, err
	}
	sum := sha256.New()
	size, err = io.Copy(encoder, io.TeeReader(content, sum))
	if err = errors.Join(err, encoder.Close()); err != nil {
		return "", 0, full(err)
	}
	object := digest(sum.Sum(nil))
	if !b.has(object) {
		err = b.end(object, offset)
	}
	return object.hash(), size, err
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

// end takes an object into the batch whose frame was written from an offset on.
func (b *dirBatch) end(object digest, offset int64) error {
	b.out.end(object, offset)
	b.added[object] = struct{}{}
	if b.out.at <= b.room {
		return nil
	}
	b.dir.want(b.out.at + b.dir.max/4)
	b.err = fmt.Errorf("checkpoint: %w: its packs may have %d bytes", ErrFull, b.dir.max)
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
