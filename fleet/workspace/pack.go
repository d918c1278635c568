package workspace

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/journal"
)

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
