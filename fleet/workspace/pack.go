package workspace

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/attractor-go/attractor/env"
)

// A pack is one object of a [fleet.Objects]: compressed, a line of JSON and then objects, each with
// its length plus one as an unsigned varint, its hash and its content. A zero in the place of a
// length ends it.

// packHeader is the first line of a pack.
type packHeader struct {
	V     int    `json:"v"`
	After string `json:"after,omitempty"` // the pack before this one; a tree is in the chain of its pack
}

const packVersion = 1

// maxPackHeader bounds the first line.
const maxPackHeader = 4 << 10

// errDamaged says that what was stored is not what was recorded.
var errDamaged = errors.New("workspace: a stored checkpoint is damaged")

// packWriter writes a pack.
type packWriter struct {
	out  *zstd.Encoder
	head []byte
}

// The windows of compressors. Most packs are a few directories, for which a large one takes more
// time than all else.
const (
	smallWindow = 64 << 10
	largeWindow = 4 << 20
)

// newPackWriter begins a pack of about size bytes behind another one.
func newPackWriter(to io.Writer, after string, size int64) (*packWriter, error) {
	level, window := zstd.SpeedDefault, largeWindow
	if size <= smallWindow {
		level, window = zstd.SpeedFastest, smallWindow
	}
	out, err := zstd.NewWriter(to, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(window))
	if err != nil {
		return nil, err
	}
	line, err := json.Marshal(packHeader{V: packVersion, After: after})
	if err != nil {
		return nil, err
	}
	_, err = out.Write(append(line, '\n'))
	return &packWriter{out: out}, err
}

// add writes an object.
func (w *packWriter) add(hash env.Hash, size int64, data io.Reader) error {
	w.head = binary.AppendUvarint(w.head[:0], uint64(size)+1)
	sum, err := hex.DecodeString(string(hash))
	if err != nil {
		return err
	}
	w.head = append(w.head, sum...)
	if _, err := w.out.Write(w.head); err != nil {
		return err
	}
	n, err := io.Copy(w.out, data)
	if err == nil && n != size {
		err = fmt.Errorf("workspace: object %s has %d bytes instead of %d", hash, n, size)
	}
	return err
}

// close ends the pack.
func (w *packWriter) close() error {
	_, err := w.out.Write([]byte{0})
	return errors.Join(err, w.out.Close())
}

// readPack calls visit with each object of a pack. Visit reads all of data, whose hash is checked
// afterwards. It returns the pack before it.
func readPack(from io.Reader, visit func(hash env.Hash, size int64, data io.Reader) error) (after string, err error) {
	z, err := zstd.NewReader(from, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8<<20))
	if err != nil {
		return "", err
	}
	defer z.Close()
	r := bufio.NewReaderSize(z, maxPackHeader)
	header, err := readPackHeader(r)
	if err != nil {
		return "", err
	}
	for {
		length, err := binary.ReadUvarint(r)
		if err != nil {
			return "", damaged(err)
		}
		if length == 0 {
			_, err := io.Copy(io.Discard, r) // to the end, where checksums are
			return header.After, damaged(err)
		}
		if err := readObject(r, int64(length-1), visit); err != nil {
			return "", err
		}
	}
}

// readObject reads one object of a pack.
func readObject(r io.Reader, size int64, visit func(hash env.Hash, size int64, data io.Reader) error) error {
	var want [sha256.Size]byte
	if _, err := io.ReadFull(r, want[:]); err != nil {
		return damaged(err)
	}
	if size < 0 {
		return errDamaged
	}
	sum := sha256.New()
	data := &io.LimitedReader{R: io.TeeReader(r, sum), N: size}
	if err := visit(env.Hash(hex.EncodeToString(want[:])), size, data); err != nil {
		return err
	}
	if data.N != 0 || [sha256.Size]byte(sum.Sum(nil)) != want {
		return errDamaged
	}
	return nil
}

func readPackHeader(r *bufio.Reader) (h packHeader, err error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return h, damaged(err)
	}
	if err := json.Unmarshal(line, &h); err != nil {
		return h, damaged(err)
	}
	if h.V != packVersion {
		return h, fmt.Errorf("workspace: a checkpoint has version %d, and this program knows version %d: update it",
			h.V, packVersion)
	}
	return h, nil
}

// damaged returns the error of reading a pack: one that ends too early is damaged.
func damaged(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errDamaged
	}
	return err
}
