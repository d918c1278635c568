package workspace

import (
	"archive/tar"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/journal"
)

// store is a [checkpoint.Store] for one task over the objects of its tenant. Each batch becomes one
// pack, which names the one before it. Contents of the cloned commit are not stored. All contents
// are also in a directory of this machine until the workspace is closed.
//
// A pack is never changed, and a point of a session needs only packs that existed when it was
// noted. So a worker that has lost its task does no harm: the packs that it adds are in no chain.
type store struct {
	objects fleet.Objects
	prefix  string // of the names of packs
	spool   string // a directory with a file for each object
	base    *base  // nil without a repository
	max     int64  // bytes of all objects

	mu    sync.Mutex
	has   map[env.Hash]int64 // the sizes of the objects in the chain
	bytes int64              // of the objects in the chain
	last  string             // the newest pack of the chain
	chain int                // the number of packs
}

// newStore returns a store without packs.
func newStore(o fleet.Objects, prefix, spool string, b *base, max int64) *store {
	return &store{objects: o, prefix: prefix, spool: spool, base: b, max: max, has: map[env.Hash]int64{}}
}

// load reads the chain of a pack.
func (s *store) load(ctx context.Context, last string) error {
	in := map[string]bool{}
	for name := last; name != "" || len(in) == 0; {
		if !strings.HasPrefix(name, s.prefix) {
			return fmt.Errorf("workspace: %q is not the name of a checkpoint", name)
		}
		if in[name] {
			return errDamaged
		}
		in[name] = true
		after, err := s.loadPack(ctx, name)
		if err != nil {
			return fmt.Errorf("reading the checkpoint %s: %w", name, err)
		}
		name = after
	}
	s.last, s.chain = last, len(in)
	return nil
}

// loadPack reads one pack.
func (s *store) loadPack(ctx context.Context, name string) (after string, err error) {
	r, err := s.objects.Open(ctx, name)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return readPack(r, func(hash env.Hash, size int64, data io.Reader) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if size > s.max-s.bytes {
			return s.full()
		}
		s.bytes += size
		if _, err := writeFile(s.file(hash), data); err != nil {
			return err
		}
		s.has[hash] = size
		return nil
	})
}

// maxChain is the number of packs after which a new chain is begun, which is quicker to read.
const maxChain = 256

// restart begins a new chain: the next batch stores everything that its tree needs. Recorders that
// have used the store must not be used any more.
func (s *store) restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.has, s.bytes, s.last, s.chain = map[env.Hash]int64{}, 0, "", 0
}

// long reports whether a new chain should be begun.
func (s *store) long() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.chain >= maxChain
}

// pack returns the name of the newest pack.
func (s *store) pack() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

func (s *store) file(hash env.Hash) string { return filepath.Join(s.spool, string(hash)) }

func (s *store) full() error {
	return fmt.Errorf("workspace: %w: the checkpoints of a task may have %d bytes; add files that need not survive "+
		"to .gitignore", checkpoint.ErrFull, s.max)
}

// Open implements [checkpoint.Store].
func (s *store) Open(ctx context.Context, hash env.Hash) (io.ReadCloser, error) {
	if !journal.IsHash(string(hash)) {
		return nil, fmt.Errorf("workspace: object %.80q: %w", hash, fs.ErrNotExist)
	}
	f, err := os.Open(s.file(hash))
	if err == nil {
		return f, nil
	}
	if s.base != nil && s.base.has(hash) {
		return s.base.open(ctx, hash)
	}
	return nil, err
}

// Begin implements [checkpoint.Store].
func (s *store) Begin(context.Context) (checkpoint.Batch, error) {
	return &batch{store: s, added: map[env.Hash]int64{}}, nil
}

// batch collects the objects of the next pack.
type batch struct {
	store *store

	mu    sync.Mutex
	added map[env.Hash]int64
	order []env.Hash
	bytes int64
	ended bool
}

// Has implements [checkpoint.Batch].
func (b *batch) Has(hash env.Hash) bool {
	b.mu.Lock()
	_, ok := b.added[hash]
	b.mu.Unlock()
	return ok || b.store.contains(hash)
}

// contains reports whether an object is in the chain or in the cloned commit.
func (s *store) contains(hash env.Hash) bool {
	s.mu.Lock()
	_, ok := s.has[hash]
	s.mu.Unlock()
	return ok || s.base != nil && s.base.has(hash)
}

// Put implements [checkpoint.Batch].
func (b *batch) Put(ctx context.Context, data io.Reader) (env.Hash, int64, error) {
	sum := sha256.New()
	temp := filepath.Join(b.store.spool, "new-"+rand.Text())
	size, err := writeFile(temp, io.TeeReader(data, sum))
	if err = errors.Join(err, ctx.Err()); err != nil {
		return "", 0, errors.Join(err, os.Remove(temp))
	}
	hash := env.Hash(hex.EncodeToString(sum.Sum(nil)))
	return hash, size, b.add(hash, size, temp)
}

// add makes the file temp an object of the batch, or removes it if the object exists.
func (b *batch) add(hash env.Hash, size int64, temp string) error {
	if b.Has(hash) {
		return os.Remove(temp)
	}
	b.store.mu.Lock()
	stored := b.store.bytes
	b.store.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.added[hash]; ok {
		return os.Remove(temp)
	}
	if b.bytes+size+stored > b.store.max {
		return errors.Join(b.store.full(), os.Remove(temp))
	}
	b.added[hash] = size
	b.order = append(b.order, hash)
	b.bytes += size
	return os.Rename(temp, b.store.file(hash))
}

// Commit implements [checkpoint.Batch].
func (b *batch) Commit(ctx context.Context, _ string, root env.Hash) error {
	if b.ended {
		return errors.New("workspace: the batch has ended")
	}
	b.ended = true
	if !b.Has(root) {
		return fmt.Errorf("workspace: the root %s is not in the store: %w", root, fs.ErrNotExist)
	}
	if len(b.order) == 0 {
		return nil
	}
	s := b.store
	name := s.prefix + "pack-" + rand.Text()
	if err := s.put(ctx, name, s.pack(), b.order, b.added); err != nil {
		return fmt.Errorf("storing a checkpoint: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = name
	s.chain++
	s.bytes += b.bytes
	for hash, size := range b.added {
		s.has[hash] = size
	}
	return nil
}

// put stores a pack of objects that are in the spool.
func (s *store) put(ctx context.Context, name, after string, objects []env.Hash, sizes map[env.Hash]int64) error {
	r, w := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := s.writePack(w, after, objects, sizes)
		written <- errors.Join(err, w.CloseWithError(err))
	}()
	_, err := s.objects.Put(ctx, name, r)
	// Put may have ended before the pack did.
	errClose := r.CloseWithError(errors.New("workspace: the checkpoint could not be stored"))
	errWrite := <-written
	if err != nil {
		return err
	}
	return errors.Join(errWrite, errClose)
}

func (s *store) writePack(to io.Writer, after string, objects []env.Hash, sizes map[env.Hash]int64) error {
	w, err := newPackWriter(to, after)
	if err != nil {
		return err
	}
	for _, hash := range objects {
		f, err := os.Open(s.file(hash))
		if err != nil {
			return err
		}
		if err := errors.Join(w.add(hash, sizes[hash], f), f.Close()); err != nil {
			return err
		}
	}
	return w.close()
}

// Close implements [checkpoint.Batch].
func (b *batch) Close() error {
	b.ended = true
	return nil
}

// writeFile writes a file, without a sync, and returns its size.
func writeFile(name string, data io.Reader) (int64, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(f, data)
	return n, errors.Join(err, f.Close())
}

// A pack is one object in a [fleet.Objects]: a tar file, compressed by zstd, whose files are the
// objects of a batch, named by their hashes. The first file is empty; its name has the version of
// the format and the name of the pack before this one.

// packVersion begins the name of a pack's first file.
const packVersion = "attractor-tree-2:"

// errDamaged says that stored data is not what was recorded.
var errDamaged = errors.New("workspace: a stored checkpoint is damaged")

// packWriter writes a pack.
type packWriter struct {
	zstd *zstd.Encoder
	tar  *tar.Writer
}

// newPackWriter begins a pack that names the one before it.
func newPackWriter(to io.Writer, after string) (*packWriter, error) {
	// Most packs are a few directories, for which a large window takes more time than all else.
	z, err := zstd.NewWriter(to, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(256<<10))
	if err != nil {
		return nil, err
	}
	w := &packWriter{z, tar.NewWriter(z)}
	return w, w.tar.WriteHeader(&tar.Header{Name: packVersion + after})
}

// add writes an object.
func (w *packWriter) add(hash env.Hash, size int64, data io.Reader) error {
	if err := w.tar.WriteHeader(&tar.Header{Name: string(hash), Size: size}); err != nil {
		return err
	}
	_, err := io.Copy(w.tar, data)
	return err
}

// close ends the pack.
func (w *packWriter) close() error { return errors.Join(w.tar.Close(), w.zstd.Close()) }

// readPack calls visit with each object of a pack, and returns the name of the pack before it.
// Visit has to read all of data, whose hash is checked afterwards.
func readPack(from io.Reader, visit func(hash env.Hash, size int64, data io.Reader) error) (after string, err error) {
	z, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20))
	if err != nil {
		return "", err
	}
	defer z.Close()
	files := tar.NewReader(z)
	first, err := files.Next()
	if err != nil {
		return "", damaged(err)
	}
	after, ok := strings.CutPrefix(first.Name, packVersion)
	if !ok {
		return "", fmt.Errorf("workspace: a checkpoint is of another version, %.40q: update this program", first.Name)
	}
	for {
		file, err := files.Next()
		if errors.Is(err, io.EOF) {
			_, err := io.Copy(io.Discard, z) // to the end, where checksums are
			return after, damaged(err)
		}
		if err != nil {
			return "", damaged(err)
		}
		hash, sum := env.Hash(file.Name), sha256.New()
		if !journal.IsHash(string(hash)) {
			return "", errDamaged
		}
		if err := visit(hash, file.Size, io.TeeReader(files, sum)); err != nil {
			return "", damaged(err)
		}
		if hex.EncodeToString(sum.Sum(nil)) != string(hash) {
			return "", errDamaged
		}
	}
}

// damaged returns errDamaged for errors of a pack that ends too early or is no tar file, and other
// errors as they are.
func damaged(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, tar.ErrHeader) {
		return errDamaged
	}
	return err
}
