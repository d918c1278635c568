package journal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// blobs is the directory of a journal's blobs.
func (v *view) blobs() string { return v.dir.file(v.id, blobsExt) }

// blob reads a blob and checks that it is what was stored.
func (v *view) blob(ctx context.Context, hash string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !isHash(hash) {
		return nil, fmt.Errorf("journal: blob %s: %w", hash, fs.ErrNotExist)
	}
	data, err := readAll(v.dir.sys, filepath.Join(v.blobs(), hash))
	if err != nil {
		return nil, v.errorf("blob: %w", err)
	}
	if hashOf(data) != hash {
		return nil, fmt.Errorf("%w: session %s: blob %s is not what was stored", ErrCorrupt, v.id, hash)
	}
	return data, nil
}

// Blob implements [Log].
func (f *File) Blob(ctx context.Context, hash string) ([]byte, error) {
	if _, err := f.extent(); err != nil {
		return nil, err
	}
	return f.blob(ctx, hash)
}

// PutBlob implements [Log].
func (f *File) PutBlob(ctx context.Context, data []byte) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	f.slow.Lock()
	defer f.slow.Unlock()
	if _, err := f.extent(); err != nil {
		return "", err
	}
	hash := hashOf(data)
	if err := f.blobDir(); err != nil {
		return "", err
	}
	path := filepath.Join(f.blobs(), hash)
	if old, err := readAll(f.dir.sys, path); err != nil || !bytes.Equal(old, data) {
		if err := f.writeBlob(path, data); err != nil {
			return "", f.errorf("cannot store a blob: %w", err)
		}
	}
	if err := f.dir.sys.syncDir(f.blobs()); err != nil {
		return "", f.unsynced(err)
	}
	return hash, nil
}

// blobDir makes the directory of blobs, durably.
func (f *File) blobDir() error {
	if f.blobbed {
		return nil
	}
	if err := f.dir.sys.mkdir(f.blobs()); err != nil && !errors.Is(err, fs.ErrExist) {
		return f.errorf("cannot store a blob: %w", err)
	}
	if err := f.dir.sys.syncDir(f.dir.path); err != nil {
		return f.unsynced(err)
	}
	f.blobbed = true
	return nil
}

// writeBlob makes a blob appear whole. What a crash leaves of it has no hash for a name and is overwritten by the next one.
func (f *File) writeBlob(path string, data []byte) error {
	temp := filepath.Join(f.blobs(), "new"+tempExt)
	if err := writeFile(f.dir.sys, temp, data); err != nil {
		return errors.Join(err, f.dir.discard(temp))
	}
	if err := f.dir.sys.rename(temp, path); err != nil {
		return errors.Join(err, f.dir.discard(temp))
	}
	return nil
}

// writeFile writes a file anew and syncs it.
func writeFile(sys system, path string, data []byte) (err error) {
	h, err := sys.open(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	if _, err := h.WriteAt(data, 0); err != nil {
		return err
	}
	return h.sync()
}

// hashOf is the name of a blob.
func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// isHash keeps everything else out of file names.
func isHash(name string) bool {
	if len(name) != hex.EncodedLen(sha256.Size) {
		return false
	}
	for _, c := range name {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
