package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
)

// smallObject bounds the content of an object that is held in memory. A larger one gets a pack of
// its own and is read and written as a stream.
const smallObject = 1 << 20

// open opens an object in a pack.
func (d *Dir) open(path string, object digest, at place) (io.ReadCloser, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	h, err := readHeader(file, object, at)
	if err != nil {
		return nil, damaged(object, errors.Join(err, file.Close()))
	}
	payload := io.NewSectionReader(file, at.offset+headerSize, h.length)
	if h.size <= smallObject && h.length <= smallObject {
		content, err := d.content(h, payload)
		if err = errors.Join(err, file.Close()); err != nil {
			return nil, damaged(object, err)
		}
		return io.NopCloser(bytes.NewReader(content)), nil
	}
	disk := &failing{from: payload}
	large := &largeObject{file: file, from: disk, disk: disk, object: object, sum: sha256.New()}
	if h.coding == codingZstd {
		if large.decoder, err = zstd.NewReader(disk, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxWindow(8<<20)); err != nil {
			return nil, damaged(object, errors.Join(err, file.Close()))
		}
		large.from = large.decoder
	}
	return large, nil
}

// content reads the payload of a small object and returns its content.
func (d *Dir) content(h header, payload io.Reader) (content []byte, err error) {
	content = make([]byte, h.length)
	if _, err := io.ReadFull(payload, content); err != nil {
		return nil, cutShort(err)
	}
	if h.coding == codingZstd {
		if content, err = d.decoder().DecodeAll(content, make([]byte, 0, h.size)); err != nil {
			return nil, errors.Join(errDamaged, err)
		}
	}
	if sha256.Sum256(content) != h.object {
		return nil, errDamaged
	}
	return content, nil
}

// largeObject reads a large object. It says at the end whether what was read is the object.
type largeObject struct {
	file    *os.File
	from    io.Reader
	disk    *failing
	decoder *zstd.Decoder // nil if the payload is not compressed
	object  digest
	sum     hash.Hash
}

func (l *largeObject) Read(p []byte) (int, error) {
	n, err := l.from.Read(p)
	l.sum.Write(p[:n])
	switch {
	case err == nil:
	case l.disk.err != nil:
		err = damaged(l.object, l.disk.err)
	case !errors.Is(err, io.EOF):
		err = damaged(l.object, errors.Join(errDamaged, err))
	case digest(l.sum.Sum(nil)) != l.object:
		err = damaged(l.object, errDamaged)
	}
	return n, err
}

func (l *largeObject) Close() error {
	if l.decoder != nil {
		l.decoder.Close()
	}
	return l.file.Close()
}
