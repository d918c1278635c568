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
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/fleet"
	"github.com/attractor-go/attractor/journal"
)

// store is a [checkpoint.Store] for one task over the objects of its tenant. Each batch becomes one
// pack. Contents of the cloned commit are not stored. All contents are also in a directory of this
// machine until the workspace is closed.
//
// A pack is never changed, and its objects are named by their contents. So a worker that has lost
// its task does no harm: it adds packs that nobody needs.
type store struct {
	objects fleet.Objects
	prefix  string // of the names of packs
	spool   string // a directory with a file for each object
	base    *base  // nil without a repository
	max     int64  // bytes of all objects

	mu    sync.Mutex
	has   map[env.Hash]bool // the objects in packs
	bytes int64             // of these
}

// newStore returns a store without packs.
func newStore(o fleet.Objects, prefix, spool string, b *base, max int64) *store {
	return &store{objects: o, prefix: prefix, spool: spool, base: b, max: max, has: map[env.Hash]bool{}}
}

// packName begins the names of packs behind the prefix.
const packName = "pack-"

// load reads the packs that there are.
func (s *store) load(ctx context.Context) error {
	for pack, err := range s.objects.List(ctx, s.prefix+packName) {
		if err == nil {
			err = s.loadPack(ctx, pack.Name)
		}
		if err != nil {
			return fmt.Errorf("reading the checkpoint %s: %w", pack.Name, err)
		}
	}
	return nil
}

// loadPack reads one pack.
func (s *store) loadPack(ctx context.Context, name string) (err error) {
	r, err := s.objects.Open(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return readPack(r, func(hash env.Hash, size int64, data io.Reader) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !s.has[hash] {
			s.bytes += size
		}
		if s.bytes > s.max {
			return s.full()
		}
		s.has[hash] = true
		_, err := writeFile(s.file(hash), data)
		return err
	})
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
	return &batch{store: s, added: map[env.Hash]bool{}}, nil
}

// batch collects the objects of the next pack.
type batch struct {
	*store
	added map[env.Hash]bool // guarded by the store's lock, as is what follows
	size  int64             // of what was added, in bytes
}

// Has implements [checkpoint.Batch].
func (b *batch) Has(hash env.Hash) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.added[hash] || b.has[hash] || b.base != nil && b.base.has(hash)
}

// Put implements [checkpoint.Batch].
func (b *batch) Put(ctx context.Context, data io.Reader) (env.Hash, int64, error) {
	sum := sha256.New()
	temp := filepath.Join(b.spool, "new-"+rand.Text())
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
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bytes+b.size+size > b.max {
		return errors.Join(b.full(), os.Remove(temp))
	}
	b.added[hash] = true
	b.size += size
	return os.Rename(temp, b.file(hash))
}

// Commit implements [checkpoint.Batch].
func (b *batch) Commit(ctx context.Context, _ string, root env.Hash) error {
	if !b.Has(root) {
		return fmt.Errorf("workspace: the root %s is not in the store: %w", root, fs.ErrNotExist)
	}
	if len(b.added) == 0 {
		return nil
	}
	if err := b.put(ctx, slices.Collect(maps.Keys(b.added))); err != nil {
		return fmt.Errorf("storing a checkpoint: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bytes += b.size
	maps.Copy(b.has, b.added)
	return nil
}

// put stores a pack of objects that are in the spool.
func (s *store) put(ctx context.Context, objects []env.Hash) error {
	r, w := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := s.writePack(w, objects)
		written <- errors.Join(err, w.CloseWithError(err))
	}()
	_, err := s.objects.Put(ctx, s.prefix+packName+rand.Text(), r)
	// Put may have ended before the pack did.
	errClose := r.CloseWithError(errors.New("workspace: the checkpoint could not be stored"))
	errWrite := <-written
	if err != nil {
		return err
	}
	return errors.Join(errWrite, errClose)
}

// writePack writes a pack of objects.
func (s *store) writePack(to io.Writer, objects []env.Hash) error {
	// Most packs are a few directories, for which a large window takes more time than all else.
	z, err := zstd.NewWriter(to, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(256<<10))
	if err != nil {
		return err
	}
	files := tar.NewWriter(z)
	if err := files.WriteHeader(&tar.Header{Name: packVersion}); err != nil {
		return err
	}
	for _, hash := range objects {
		if err := s.writeObject(files, hash); err != nil {
			return err
		}
	}
	return errors.Join(files.Close(), z.Close())
}

// writeObject adds an object to a pack.
func (s *store) writeObject(files *tar.Writer, hash env.Hash) (err error) {
	f, err := os.Open(s.file(hash))
	if err != nil {
		return err
	}
	defer f.Close() // it was only read
	info, err := f.Stat()
	if err == nil {
		err = files.WriteHeader(&tar.Header{Name: string(hash), Size: info.Size()})
	}
	if err == nil {
		_, err = io.Copy(files, f)
	}
	return err
}

// Close implements [checkpoint.Batch].
func (b *batch) Close() error { return nil }

// writeFile writes a file, without a sync, and returns its size.
func writeFile(name string, data io.Reader) (int64, error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(f, data)
	return n, errors.Join(err, f.Close())
}

// packVersion is the beginning of the name of a pack's first file, which is empty. A pack is one
// object in a [fleet.Objects]: a tar file, compressed by zstd, whose other files are the objects of
// a batch, named by their hashes.
const packVersion = "attractor-tree-2:"

// errDamaged says that stored data is not what was recorded.
var errDamaged = errors.New("workspace: a stored checkpoint is damaged")

// readPack calls visit with each object of a pack. Visit has to read all of data, whose hash is
// checked afterwards.
func readPack(from io.Reader, visit func(hash env.Hash, size int64, data io.Reader) error) error {
	z, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20))
	if err != nil {
		return err
	}
	defer z.Close()
	files := tar.NewReader(z)
	first, err := files.Next()
	if err != nil {
		return damaged(err)
	}
	if !strings.HasPrefix(first.Name, packVersion) {
		return fmt.Errorf("workspace: a checkpoint is of another version, %.40q: update this program", first.Name)
	}
	for {
		file, err := files.Next()
		if errors.Is(err, io.EOF) {
			_, err := io.Copy(io.Discard, z) // to the end, where checksums are
			return damaged(err)
		}
		if err != nil {
			return damaged(err)
		}
		hash, sum := env.Hash(file.Name), sha256.New()
		if !journal.IsHash(string(hash)) {
			return errDamaged
		}
		if err := visit(hash, file.Size, io.TeeReader(files, sum)); err != nil {
			return damaged(err)
		}
		if hex.EncodeToString(sum.Sum(nil)) != string(hash) {
			return errDamaged
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
