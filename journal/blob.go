package journal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// blobs returns the directory of a journal's blobs.
func (v *view) blobs() string { return v.dir.file(v.id, blobsExt) }

// blob opens a blob for reading.
func (v *view) blob(ctx context.Context, hash string) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !IsHash(hash) {
		return nil, fmt.Errorf("journal: blob %s: %w", hash, fs.ErrNotExist)
	}
	r, err := openBlob(v.dir.sys, filepath.Join(v.blobs(), hash))
	if err != nil {
		return nil, v.errorf("blob: %w", err)
	}
	return r, nil
}

// blobReader reads a blob, and checks its hash at the end.
type blobReader struct {
	file handle
	rest *io.SectionReader
	sum  hash.Hash
	path string
}

func openBlob(sys system, path string) (*blobReader, error) {
	h, err := sys.open(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	info, err := h.Stat()
	if err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return &blobReader{file: h, rest: io.NewSectionReader(h, 0, info.Size()), sum: sha256.New(), path: path}, nil
}

func (b *blobReader) Read(p []byte) (int, error) {
	n, err := b.rest.Read(p)
	b.sum.Write(p[:n])
	if err == io.EOF && hex.EncodeToString(b.sum.Sum(nil)) != filepath.Base(b.path) {
		err = fmt.Errorf("%w: blob %s is not what was stored", ErrCorrupt, b.path)
	}
	return n, err
}

func (b *blobReader) Close() error { return b.file.Close() }

// Blob implements [Reader].
func (f *fileLog) Blob(ctx context.Context, hash string) (io.ReadCloser, error) {
	if _, err := f.extent(); err != nil {
		return nil, err
	}
	return f.blob(ctx, hash)
}

// PutBlob implements [Log]. It does not block Append and Sync.
func (f *fileLog) PutBlob(ctx context.Context, data io.Reader) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	f.blobbing.Lock()
	defer f.blobbing.Unlock()
	if _, err := f.extent(); err != nil {
		return "", err
	}
	if err := f.blobDir(); err != nil {
		return "", err
	}
	hash, err := f.writeBlob(ctx, data)
	if err != nil {
		return "", f.errorf("cannot store a blob: %w", err)
	}
	if err := f.syncDir(f.blobs()); err != nil {
		return "", err
	}
	return hash, nil
}

// blobDir makes the directory of blobs and makes its name durable.
func (f *fileLog) blobDir() error {
	if f.blobbed {
		return nil
	}
	if err := f.dir.sys.mkdir(f.blobs()); err != nil && !errors.Is(err, fs.ErrExist) {
		return f.errorf("cannot store a blob: %w", err)
	}
	if err := f.syncDir(f.dir.path); err != nil {
		return err
	}
	f.blobbed = true
	return nil
}

// syncDir makes the names in a directory durable.
func (f *fileLog) syncDir(path string) error {
	err := f.dir.sys.syncDir(path)
	if err == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.unsynced(err)
}

// writeBlob writes a blob to a temporary file and renames it. The next blob overwrites a temporary
// file that a crash has left.
func (f *fileLog) writeBlob(ctx context.Context, data io.Reader) (string, error) {
	sum := sha256.New()
	temp := filepath.Join(f.blobs(), "new"+tempExt)
	err := writeFile(f.dir.sys, temp, io.TeeReader(&contextReader{ctx, data}, sum))
	hash := hex.EncodeToString(sum.Sum(nil))
	if err == nil {
		err = f.dir.sys.rename(temp, filepath.Join(f.blobs(), hash))
	}
	if err != nil {
		return "", errors.Join(err, f.dir.discard(temp))
	}
	return hash, nil
}

// contextReader is a reader that fails once its context has ended.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r *contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// writeFile creates or replaces a file and syncs it.
func writeFile(sys system, path string, data io.Reader) (err error) {
	h, err := sys.open(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	if _, err := io.CopyBuffer(io.NewOffsetWriter(h, 0), data, make([]byte, 64<<10)); err != nil {
		return err
	}
	return h.sync()
}

// hashOf returns the name of a blob.
func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// IsHash reports whether a text can be the name of a blob: a SHA-256 in lower-case hexadecimal
// digits, which is safe as the name of a file.
func IsHash(text string) bool {
	return len(text) == hex.EncodedLen(sha256.Size) && strings.Trim(text, "0123456789abcdef") == ""
}
