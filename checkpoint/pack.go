package checkpoint

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/attractor-go/attractor/env"
)

// A pack is a file that only grows. It begins with packMagic, and holds records: the objects of a
// batch, and behind them a record that says that the batch is complete. What follows the last such
// record is of a batch that is under way or was broken off, and does not count. All numbers are
// little-endian.
const (
	packMagic = "attractor pack 1"
	packExt   = ".pack"
	packMax   = 64 << 20 // bytes from which on a pack gets no further batch
)

// The kinds of records.
const (
	recordObject = 1
	recordEnd    = 2 // of a batch
)

// The codings of a payload.
const (
	codingRaw  = 0
	codingZstd = 1
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

// header describes the payload that follows it in a pack.
type header struct {
	kind, coding byte
	object       digest
	size         int64 // of the content, in bytes
	length       int64 // of the payload
	sum          uint32
}

// headerSize is the length of an encoded header: the fields in order, and their checksum.
const headerSize = 2 + sha256.Size + 8 + 8 + 4 + 4

func (h header) append(to []byte) []byte {
	begin := len(to)
	to = append(to, h.kind, h.coding)
	to = append(to, h.object[:]...)
	to = binary.LittleEndian.AppendUint64(to, uint64(h.size))
	to = binary.LittleEndian.AppendUint64(to, uint64(h.length))
	to = binary.LittleEndian.AppendUint32(to, h.sum)
	return binary.LittleEndian.AppendUint32(to, checksum(to[begin:]))
}

// errDamaged reports that a part of a pack is not what was written.
var errDamaged = errors.New("the store is damaged there")

// cutShort returns errDamaged instead of the error for a pack that has ended too early. An error of
// the disk may go away: it does not say that anything is damaged.
func cutShort(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errDamaged
	}
	return err
}

func parseHeader(data []byte) (h header, err error) {
	rest := headerSize - 4
	if len(data) < headerSize || binary.LittleEndian.Uint32(data[rest:]) != checksum(data[:rest]) {
		return h, errDamaged
	}
	h.kind, h.coding = data[0], data[1]
	data = data[2+copy(h.object[:], data[2:]):]
	h.size = int64(binary.LittleEndian.Uint64(data))
	h.length = int64(binary.LittleEndian.Uint64(data[8:]))
	h.sum = binary.LittleEndian.Uint32(data[16:])
	if h.size < 0 || h.length < 0 {
		return h, errDamaged
	}
	return h, nil
}

// checksum returns the CRC-32C of data. It tells what a crash has torn; the digest tells what was
// changed.
func checksum(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

// place says where a record is in a pack.
type place struct {
	offset int64
	length int64 // with the header
}

// found is an object of a pack.
type found struct {
	object digest
	place
}

// scanPack returns the objects of the complete batches of a pack from an offset on, where a record
// begins, and the end of the last of these batches. Objects whose payload is damaged are left out.
// A damaged header ends the scan, and the error wraps errDamaged.
func scanPack(file io.ReaderAt, from, size int64) (objects []found, end int64, err error) {
	if from == 0 {
		from = int64(len(packMagic)) // not compared: it is for people, and every header has a checksum
	}
	r := bufio.NewReaderSize(io.NewSectionReader(file, from, size-from), 64<<10)
	end = from
	complete := 0
	for at := from; ; {
		h, whole, err := scanRecord(r, size-at)
		if err != nil {
			return objects[:complete], end, notTorn(err)
		}
		length := headerSize + h.length
		switch {
		case h.kind == recordEnd:
			complete, end = len(objects), at+length
		case h.kind == recordObject && whole:
			objects = append(objects, found{h.object, place{at, length}})
		}
		at += length
	}
}

// scanRecord reads a record and reports whether its payload is whole.
func scanRecord(r *bufio.Reader, rest int64) (h header, whole bool, err error) {
	var buf [headerSize]byte
	if _, err := io.ReadFull(r, buf[:]); err != nil {
		return h, false, err
	}
	if h, err = parseHeader(buf[:]); err != nil {
		return h, false, err
	}
	if h.length > rest-headerSize {
		return h, false, io.ErrUnexpectedEOF
	}
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	if _, err := io.CopyN(sum, r, h.length); err != nil {
		return h, false, err
	}
	return h, sum.Sum32() == h.sum, nil
}

// notTorn returns nil for the errors that the end of a pack gives while it is being written, or if
// that was broken off.
func notTorn(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// readHeader reads the header of an object at a place.
func readHeader(file io.ReaderAt, object digest, at place) (header, error) {
	var buf [headerSize]byte
	if _, err := file.ReadAt(buf[:], at.offset); err != nil {
		return header{}, cutShort(err)
	}
	h, err := parseHeader(buf[:])
	if err == nil && (h.object != object || h.kind != recordObject || h.length != at.length-headerSize) {
		err = errDamaged
	}
	return h, err
}

// damaged returns the error for an object that the store has but cannot give.
func damaged(object digest, err error) error {
	return fmt.Errorf("checkpoint: object %s: %w", object.hash(), err)
}
