package checkpoint

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/attractor-go/attractor/env"
)

// A pack is a file that holds the objects of a batch and never changes. It has another name until
// it is complete and durable. It consists of the zstd frame of each object, a table with an entry
// for each object, sorted by digests, and a trailer: the number of entries, the CRC-32C of the
// table, and packMagic. All numbers are little-endian.
const (
	packMagic   = "attractor pack 2"
	packExt     = ".pack"
	entrySize   = sha256.Size + 8 + 8 // an object's digest, and the offset and length of its frame
	trailerSize = 8 + 4 + len(packMagic)

	// tempExt is the extension of files that are being written. Those of killed processes are
	// removed by a collection.
	tempExt = ".tmp"
)

// digest is the SHA-256 of an object's content.
type digest [sha256.Size]byte

// digestOf returns the digest that a hash stands for, or zero and false if it is not one.
func digestOf(h env.Hash) (d digest, ok bool) {
	if len(h) != 2*len(d) {
		return d, false
	}
	if _, err := hex.Decode(d[:], []byte(h)); err != nil {
		return digest{}, false
	}
	return d, true
}

func (d digest) hash() env.Hash { return env.Hash(hex.EncodeToString(d[:])) }

// errDamaged reports that a part of a pack is not what was written.
var errDamaged = errors.New("the store is damaged there")

// checksum returns the CRC-32C of data.
func checksum(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

// found is an object of a pack, and where its frame is.
type found struct {
	object         digest
	offset, length int64
}

// pack knows where the objects of a pack are.
type pack struct {
	path    string
	size    int64
	objects []found // sorted by digests
}

// openPack reads the table of a pack. A pack that is damaged there has no objects.
func openPack(path string) (_ *pack, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	p := &pack{path: path, size: info.Size()}
	var trailer [trailerSize]byte
	at := p.size - int64(trailerSize)
	if at < 0 {
		return p, nil
	}
	if _, err := file.ReadAt(trailer[:], at); err != nil {
		return nil, err
	}
	entries := binary.LittleEndian.Uint64(trailer[:])
	if string(trailer[12:]) != packMagic || entries > uint64(at)/uint64(entrySize) {
		return p, nil
	}
	table := make([]byte, int(entries)*entrySize)
	if _, err := file.ReadAt(table, at-int64(len(table))); err != nil {
		return nil, err
	}
	if checksum(table) != binary.LittleEndian.Uint32(trailer[8:]) {
		return p, nil
	}
	p.objects = make([]found, 0, entries)
	for entry := range slices.Chunk(table, entrySize) {
		p.objects = append(p.objects, found{
			object: digest(entry[:sha256.Size]),
			offset: int64(binary.LittleEndian.Uint64(entry[sha256.Size:])),
			length: int64(binary.LittleEndian.Uint64(entry[sha256.Size+8:])),
		})
	}
	return p, nil
}

// compare orders an object and a digest.
func (f found) compare(object digest) int { return bytes.Compare(f.object[:], object[:]) }

// find returns where an object is.
func (p *pack) find(object digest) (_ found, ok bool) {
	i, ok := slices.BinarySearchFunc(p.objects, object, found.compare)
	if !ok {
		return found{}, false
	}
	return p.objects[i], true
}

// packWriter writes a pack.
type packWriter struct {
	file    *os.File
	buf     *bufio.Writer
	at      int64
	objects []found
}

// writeBuffer is the size of a writer's buffer.
const writeBuffer = 256 << 10

// newWriter begins a pack.
func (d *Dir) newWriter() (*packWriter, error) {
	file, err := os.CreateTemp(d.file(packsName), "*"+tempExt)
	if err != nil {
		return nil, err
	}
	return &packWriter{file: file, buf: bufio.NewWriterSize(file, writeBuffer)}, nil
}

// add adds the frame of an object.
func (w *packWriter) add(object digest, frame []byte) error {
	n, err := w.buf.Write(frame)
	w.objects = append(w.objects, found{object, w.at, int64(n)})
	w.at += int64(n)
	return err
}

// finish makes the pack durable, except for its name, and gives it that.
func (w *packWriter) finish() (*pack, error) {
	slices.SortFunc(w.objects, func(a, b found) int { return a.compare(b.object) })
	table := make([]byte, 0, len(w.objects)*entrySize)
	for _, f := range w.objects {
		table = append(table, f.object[:]...)
		table = binary.LittleEndian.AppendUint64(table, uint64(f.offset))
		table = binary.LittleEndian.AppendUint64(table, uint64(f.length))
	}
	trailer := binary.LittleEndian.AppendUint64(nil, uint64(len(w.objects)))
	trailer = binary.LittleEndian.AppendUint32(trailer, checksum(table))
	trailer = append(trailer, packMagic...)
	end := slices.Concat(table, trailer)
	_, err := w.buf.Write(end)
	if err := errors.Join(err, w.buf.Flush(), w.file.Sync(), w.file.Close()); err != nil {
		return nil, err
	}
	path := filepath.Join(filepath.Dir(w.file.Name()), rand.Text()+packExt)
	if err := os.Rename(w.file.Name(), path); err != nil {
		return nil, err
	}
	return &pack{path: path, size: w.at + int64(len(end)), objects: w.objects}, nil
}

// abandon removes a pack that was not finished.
func (w *packWriter) abandon() error {
	return errors.Join(ignore(w.file.Close(), os.ErrClosed), ignore(os.Remove(w.file.Name()), os.ErrNotExist))
}

// ignore returns nil instead of an expected error.
func ignore(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}

// read returns the content of an object of a pack, and its frame. The error wraps errDamaged if the
// frame is not that of the object: other errors may go away.
func (d *Dir) read(p *pack, f found) (content, frame []byte, err error) {
	file, err := os.Open(p.path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if f.offset < 0 || f.length < 0 || f.length > p.size-f.offset {
		return nil, nil, damaged(f.object, nil)
	}
	frame = make([]byte, f.length)
	if _, err := file.ReadAt(frame, f.offset); err != nil {
		return nil, nil, fmt.Errorf("checkpoint: object %s: %w", f.object.hash(), err)
	}
	if content, err = d.decoder.DecodeAll(frame, nil); err != nil {
		return nil, nil, damaged(f.object, err)
	}
	if sha256.Sum256(content) != f.object {
		return nil, nil, damaged(f.object, nil)
	}
	return content, frame, nil
}

// damaged returns the error for an object whose frame is not what was written.
func damaged(object digest, err error) error {
	return fmt.Errorf("checkpoint: object %s: %w", object.hash(), errors.Join(errDamaged, err))
}

// failing keeps the error of a reader.
type failing struct {
	from io.Reader
	err  error
}

func (r *failing) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}
