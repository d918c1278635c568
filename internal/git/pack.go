package git

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"path"
	"sort"
	"strings"
)

const (
	maxPacks  = 500
	maxWhole  = 32 << 20 // bytes of a file that is read completely because its environment has no io.ReaderAt
	maxDeltas = 4096     // in a chain; git's default limit is 50
)

// pack reads a pack file and its index. Both are opened when they are needed.
type pack struct {
	name        string // without its suffix
	idLen       int
	index, data file
	count       int64 // objects, once the index is open
}

// file is a file with random access.
type file interface {
	io.ReaderAt
	io.Closer
}

func (p *pack) close() {
	for _, f := range []file{p.index, p.data} {
		if f != nil {
			f.Close() // it was only read
		}
	}
}

// packed returns the content of an object in a pack.
func (r *repository) packed(ctx context.Context, id string, kind int) ([]byte, error) {
	if err := r.findPacks(ctx); err != nil {
		return nil, err
	}
	for _, p := range r.packs {
		at, err := r.offset(ctx, p, id)
		if errors.Is(err, errMissing) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return r.unpack(ctx, p, at, kind)
	}
	return nil, errMissing
}

func (r *repository) findPacks(ctx context.Context) error {
	if r.packsRead {
		return nil
	}
	dir := path.Join(r.commonDir, "objects", "pack")
	list, err := r.env.ReadDir(ctx, dir)
	if err != nil {
		return errMissing
	}
	for _, info := range list {
		if name, ok := strings.CutSuffix(info.Name, ".idx"); ok {
			r.packs = append(r.packs, &pack{name: path.Join(dir, name), idLen: r.idLen()})
		}
	}
	if len(r.packs) > maxPacks {
		r.packs = nil
		return errBudget
	}
	r.packsRead = true
	return nil
}

// openAt opens a file for random access. If the environment does not support that, it reads the whole file, unless that is too large.
func (r *repository) openAt(ctx context.Context, name string) (file, error) {
	f, err := r.env.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	if at, ok := f.(file); ok {
		return at, nil
	}
	data, err := io.ReadAll(io.LimitReader(f, maxWhole+1))
	if err = errors.Join(err, f.Close(), r.spend(int64(len(data)))); err != nil {
		return nil, err
	}
	if len(data) > maxWhole {
		return nil, errBudget
	}
	return inMemory{bytes.NewReader(data)}, nil
}

type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }

// An index of version 2 has a head, 256 counts, then ids, checksums, offsets and long offsets.
const (
	fanOutAt = 8
	idsAt    = fanOutAt + 256*4
)

// offset returns the offset of an object in a pack.
func (r *repository) offset(ctx context.Context, p *pack, id string) (int64, error) {
	if p.index == nil {
		index, err := r.openAt(ctx, p.name+".idx")
		if err != nil {
			return 0, err
		}
		p.index = index
		head := make([]byte, fanOutAt)
		if _, err := index.ReadAt(head, 0); err != nil || string(head) != "\xfftOc\x00\x00\x00\x02" {
			return 0, errUnknown
		}
		if p.count, err = p.number(fanOutAt+255*4, 4); err != nil {
			return 0, err
		}
	}
	i, err := p.find(id)
	if err != nil {
		return 0, err
	}
	offsets := idsAt + p.count*int64(p.idLen+4)
	at, err := p.number(offsets+i*4, 4)
	if err == nil && at&(1<<31) != 0 {
		at, err = p.number(offsets+p.count*4+(at&^(1<<31))*8, 8)
	}
	if err == nil && at < 0 {
		err = errUnknown
	}
	return at, err
}

// number returns a number of 4 or 8 bytes in the index.
func (p *pack) number(at int64, size int) (int64, error) {
	var b [8]byte
	if _, err := p.index.ReadAt(b[8-size:], at); err != nil {
		return 0, err
	}
	return int64(binary.BigEndian.Uint64(b[:])), nil
}

// find returns the position of an object in the index.
func (p *pack) find(id string) (int64, error) {
	from, to, first := int64(0), int64(0), int64(id[0])
	var err error
	if first > 0 {
		from, err = p.number(fanOutAt+(first-1)*4, 4)
	}
	if err == nil {
		to, err = p.number(fanOutAt+first*4, 4)
	}
	if err != nil || from > to || to > p.count {
		return 0, errors.Join(errUnknown, err)
	}
	found := make([]byte, p.idLen)
	i := from + int64(sort.Search(int(to-from), func(n int) bool {
		if _, readErr := p.index.ReadAt(found, idsAt+(from+int64(n))*int64(p.idLen)); readErr != nil {
			err = readErr
		}
		return string(found) >= id
	}))
	if err == nil && i < to {
		_, err = p.index.ReadAt(found, idsAt+i*int64(p.idLen))
	}
	switch {
	case err != nil:
		return 0, err
	case i == to || string(found) != id:
		return 0, errMissing
	}
	return i, nil
}

// unpack returns the content of the object at an offset in a pack: the base object with its deltas applied in order.
func (r *repository) unpack(ctx context.Context, p *pack, at int64, want int) ([]byte, error) {
	if p.data == nil {
		data, err := r.openAt(ctx, p.name+".pack")
		if err != nil {
			return nil, err
		}
		p.data = data
	}
	var deltas [][]byte
	for {
		kind, base, data, err := r.entry(ctx, p, at)
		if err != nil {
			return nil, err
		}
		if kind != offsetDelta && kind != idDelta {
			if kind != want {
				return nil, errUnknown
			}
			for i := len(deltas) - 1; i >= 0; i-- {
				if data, err = r.patch(data, deltas[i]); err != nil {
					return nil, err
				}
			}
			return data, nil
		}
		if deltas = append(deltas, data); len(deltas) > maxDeltas || ctx.Err() != nil {
			return nil, errBudget
		}
		at = base
	}
}

// entry reads one entry of a pack. For a delta it also returns the offset of its base.
func (r *repository) entry(ctx context.Context, p *pack, at int64) (kind int, base int64, data []byte, err error) {
	in := bufio.NewReader(io.NewSectionReader(p.data, at, 1<<62-at))
	b, err := in.ReadByte()
	if err != nil {
		return 0, 0, nil, err
	}
	kind = int(b >> 4 & 7)
	size := int(b & 15)
	for shift := 4; b&0x80 != 0; shift += 7 {
		if b, err = in.ReadByte(); err != nil || shift > 32 {
			return 0, 0, nil, errors.Join(errUnknown, err)
		}
		size |= int(b&0x7f) << shift
	}
	switch kind {
	case offsetDelta:
		back, err := offsetNumber(in)
		if base = at - back; err != nil || back <= 0 || base < 0 {
			return 0, 0, nil, errors.Join(errUnknown, err)
		}
	case idDelta: // the base is in the same pack
		id := make([]byte, p.idLen)
		if _, err = io.ReadFull(in, id); err == nil {
			base, err = r.offset(ctx, p, string(id))
		}
		if err != nil {
			return 0, 0, nil, err
		}
	}
	z, err := r.inflate(in)
	if err != nil {
		return 0, 0, nil, err
	}
	data, err = r.readFull(z, size)
	return kind, base, data, err
}

// offsetNumber reads a number in the encoding of deltas' offsets and of indexes of version 4.
func offsetNumber(in io.ByteReader) (int64, error) {
	b, err := in.ReadByte()
	n := int64(b & 0x7f)
	for err == nil && b&0x80 != 0 {
		if n > 1<<48 {
			return 0, errUnknown
		}
		b, err = in.ReadByte()
		n = (n+1)<<7 | int64(b&0x7f)
	}
	return n, err
}

// patch applies a delta to a base. Its instructions copy from the base or insert their own data.
func (r *repository) patch(base, delta []byte) ([]byte, error) {
	from, delta, ok1 := deltaNumber(delta)
	to, delta, ok2 := deltaNumber(delta)
	if !ok1 || !ok2 || from != len(base) || to > maxObject {
		return nil, errUnknown
	}
	if err := r.spend(int64(to)); err != nil {
		return nil, err
	}
	out := make([]byte, 0, min(to, 2*(len(base)+len(delta))))
	for len(delta) > 0 {
		op := delta[0]
		delta = delta[1:]
		piece, n := delta, int(op)
		if op&0x80 != 0 {
			at, size := 0, 0
			for i := range 7 {
				if op>>i&1 == 0 {
					continue
				}
				if len(delta) == 0 {
					return nil, errUnknown
				}
				if i < 4 {
					at |= int(delta[0]) << (8 * i)
				} else {
					size |= int(delta[0]) << (8 * (i - 4))
				}
				delta = delta[1:]
			}
			if size == 0 {
				size = 0x10000
			}
			if at > len(base) {
				return nil, errUnknown
			}
			piece, n = base[at:], size
		} else {
			delta = delta[min(n, len(delta)):]
		}
		if n == 0 || n > len(piece) || len(out)+n > to {
			return nil, errUnknown
		}
		out = append(out, piece[:n]...)
	}
	if len(out) != to {
		return nil, errUnknown
	}
	return out, nil
}

// deltaNumber reads a size at the beginning of a delta.
func deltaNumber(delta []byte) (n int, rest []byte, ok bool) {
	for i := 0; i < len(delta) && i < 5; i++ {
		n |= int(delta[i]&0x7f) << (7 * i)
		if delta[i]&0x80 == 0 {
			return n, delta[i+1:], true
		}
	}
	return 0, nil, false
}
