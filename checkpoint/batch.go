package checkpoint

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/atomicfile"
	"github.com/attractor-go/attractor/internal/filelock"
)

// dirBatch is a batch of a [Dir]. It holds the lock of the store, so that no collection removes
// what it has found.
type dirBatch struct {
	dir         *Dir
	lock        heldFile
	given, room int64 // bytes that the store might get at the beginning, and may get now

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
	lock, err := d.lockShared(ctx)
	if err != nil {
		return nil, err
	}
	if d.tight() {
		if err = errors.Join(lock.Close(), d.makeRoom(ctx)); err != nil {
			return nil, err
		}
		if lock, err = d.lockShared(ctx); err != nil {
			return nil, err
		}
	}
	room := d.max - d.size()
	return &dirBatch{dir: d, lock: lock, given: room, room: room, added: map[digest]struct{}{}}, nil
}

// lockShared takes the lock for a batch, and looks at the packs.
func (d *Dir) lockShared(ctx context.Context) (heldFile, error) {
	lock, err := hold(ctx, d.file(lockName), filelock.Shared, lockWait)
	if err != nil {
		return heldFile{}, fmt.Errorf("checkpoint: cannot lock the store: %w", err)
	}
	if err := d.refresh(); err != nil {
		return heldFile{}, errors.Join(fmt.Errorf("checkpoint: cannot read the store: %w", err), lock.Close())
	}
	return lock, nil
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
	pack, _ := b.dir.find(object)
	return pack != nil
}

// Put implements Batch.
func (b *dirBatch) Put(ctx context.Context, data io.Reader) (env.Hash, int64, error) {
	buf := b.dir.buffers.Get().(*[]byte)
	defer b.dir.buffers.Put(buf)
	data = contextReader{ctx, data}
	n, err := io.ReadFull(data, *buf)
	switch {
	case err == nil:
		return b.putLarge(*buf, data)
	case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return "", 0, err
	}
	content := (*buf)[:n]
	object := digest(sha256.Sum256(content))
	if b.Has(object.hash()) {
		return object.hash(), int64(n), nil
	}
	out := b.dir.buffers.Get().(*[]byte)
	defer b.dir.buffers.Put(out)
	h, payload := b.dir.record((*out)[:0], object, content)
	return object.hash(), int64(n), b.write(h, bytes.NewReader(payload))
}

// record returns a header and a payload for a small object.
func (d *Dir) record(to []byte, object digest, content []byte) (header, []byte) {
	h := header{kind: recordObject, coding: codingZstd, object: object, size: int64(len(content))}
	payload := d.encoder().EncodeAll(content, to)
	if len(payload) >= len(content) {
		h.coding, payload = codingRaw, content
	}
	h.length, h.sum = int64(len(payload)), checksum(payload)
	return h, payload
}

// write adds a record to the batch's pack, unless another goroutine has added the object meanwhile.
func (b *dirBatch) write(h header, payload io.Reader) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.open(); err != nil || b.has(h.object) {
		return err
	}
	if b.out == nil {
		b.out, b.err = b.dir.openWriter()
	}
	if b.err == nil {
		b.err = b.spend(headerSize + h.length)
	}
	if b.err == nil {
		b.err = full(b.out.add(h, payload))
	}
	if b.err == nil {
		b.added[h.object] = struct{}{}
	}
	return b.err
}

// open returns an error if the batch cannot take another object.
func (b *dirBatch) open() error {
	if b.ended {
		return errors.New("checkpoint: the batch has ended")
	}
	return b.err
}

// spend takes bytes of the room that the store has.
func (b *dirBatch) spend(n int64) error {
	if b.room -= n; b.room >= 0 {
		return nil
	}
	b.dir.want(b.given - b.room + b.dir.max/4)
	return fmt.Errorf("checkpoint: %w: its packs may have %d bytes", ErrFull, b.dir.max)
}

// full wraps ErrFull if the disk is full.
func full(err error) error {
	if err != nil && noSpace(err) {
		return fmt.Errorf("checkpoint: %w: %w", ErrFull, err)
	}
	return err
}

// putLarge adds an object that begins with head. Its payload goes to a file first, because nobody
// else can write to the pack meanwhile and the header needs its length.
func (b *dirBatch) putLarge(head []byte, rest io.Reader) (hash env.Hash, size int64, err error) {
	temp, err := os.CreateTemp(b.dir.file(packsName), "*"+tempExt)
	if err != nil {
		return "", 0, full(err)
	}
	defer func() { err = errors.Join(err, temp.Close(), os.Remove(temp.Name())) }()
	sum := sha256.New()
	content := &counter{to: sum}
	payload := &counter{to: temp}
	if err := compress(payload, io.TeeReader(io.MultiReader(bytes.NewReader(head), rest), content)); err != nil {
		return "", 0, full(err)
	}
	if _, err := temp.Seek(0, io.SeekStart); err != nil {
		return "", 0, err
	}
	h := header{kind: recordObject, coding: codingZstd, object: digest(sum.Sum(nil)), size: content.n,
		length: payload.n, sum: payload.sum}
	return h.object.hash(), h.size, b.write(h, temp)
}

// compress streams a content.
func compress(to io.Writer, content io.Reader) error {
	encoder, err := zstd.NewWriter(to, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(4<<20))
	if err != nil {
		return err
	}
	_, err = io.Copy(encoder, content)
	return errors.Join(err, encoder.Close())
}

// counter counts and sums what it writes.
type counter struct {
	to  io.Writer
	n   int64
	sum uint32
}

func (c *counter) Write(data []byte) (int, error) {
	n, err := c.to.Write(data)
	c.n += int64(n)
	c.sum = crc32.Update(c.sum, crc32.MakeTable(crc32.Castagnoli), data[:n])
	return n, err
}

// Commit implements Batch.
func (b *dirBatch) Commit(ctx context.Context, owner string, root env.Hash) (err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.open(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.end()) }()
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
	if b.err = b.sync(); b.err != nil {
		return full(b.err)
	}
	return full(b.dir.keep(ctx, owner, object))
}

// sync makes the batch's objects durable and known.
func (b *dirBatch) sync() error {
	if b.out == nil {
		return nil
	}
	err := b.out.sync()
	if err == nil && b.out.fresh {
		err = atomicfile.SyncDir(b.dir.file(packsName))
	}
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	b.out.done = true
	if err := b.dir.learn(b.out); err != nil {
		return fmt.Errorf("checkpoint: cannot write an index: %w", err)
	}
	return nil
}

// Close implements Batch.
func (b *dirBatch) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return nil
	}
	return b.end()
}

// end takes back what was not committed, and releases the locks.
func (b *dirBatch) end() error {
	b.ended = true
	var err error
	if b.out != nil {
		err = b.out.close()
	}
	return errors.Join(err, b.lock.Close())
}

// learn adds what a writer has written to what the Dir knows.
func (d *Dir) learn(w *packWriter) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	name := w.name()
	p := d.packs[name]
	if p == nil {
		p = &packFile{path: w.file.Name()}
		d.packs[name] = p
	}
	p.add(w.objects, w.at)
	if len(p.tail) < indexFrom {
		return nil
	}
	return p.writeIndex()
}

// contextReader ends with the error of its context.
type contextReader struct {
	ctx  context.Context
	from io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(p)
}
