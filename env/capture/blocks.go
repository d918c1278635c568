package capture

const (
	// blockSize is the size of a block: large enough that there are few of them.
	blockSize = 64 << 10
	// minBlock is the first size of the first one; most commands print less.
	minBlock = 4 << 10
)

// blocks are bytes that grow without being moved, since what they move away from would be memory too until it is collected.
type blocks struct {
	list [][]byte // all but the last are full
	size int
}

// add appends to the bytes.
func (b *blocks) add(p []byte) {
	for len(p) > 0 {
		at := b.size % blockSize
		if at == 0 {
			b.list = append(b.list, nil)
		}
		last := &b.list[len(b.list)-1]
		n := min(len(p), blockSize-at)
		if at+n > cap(*last) {
			room := blockSize
			if len(b.list) == 1 {
				room = min(max(at+n, 2*at, minBlock), blockSize)
			}
			*last = append(make([]byte, 0, room), *last...)
		}
		*last = append(*last, p[:n]...)
		b.size += n
		p = p[n:]
	}
}

// at returns the bytes from an offset on, as far as they lie together. They may be changed.
func (b *blocks) at(offset int) []byte { return b.list[offset/blockSize][offset%blockSize:] }

// appendTo appends the bytes from an offset up to another one to a slice.
func (b *blocks) appendTo(p []byte, from, to int) []byte {
	for from < to {
		piece := b.at(from)
		piece = piece[:min(len(piece), to-from)]
		p = append(p, piece...)
		from += len(piece)
	}
	return p
}
