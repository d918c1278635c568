package capture

// blockSize is the size of a block in bytes. Most commands print less.
const blockSize = 16 << 10

// blocks holds bytes and grows without moving them. A moved copy would take twice the memory until
// the old one is collected.
type blocks struct {
	list [][]byte // all blocks but the last are full
	size int
}

// add appends p.
func (b *blocks) add(p []byte) {
	for len(p) > 0 {
		at := b.size % blockSize
		if at == 0 {
			b.list = append(b.list, make([]byte, 0, blockSize))
		}
		last := &b.list[len(b.list)-1]
		n := min(len(p), blockSize-at)
		*last = append(*last, p[:n]...)
		b.size += n
		p = p[n:]
	}
}

// at returns the bytes from an offset to the end of their block. The caller may change them.
func (b *blocks) at(offset int) []byte { return b.list[offset/blockSize][offset%blockSize:] }

// appendTo appends the bytes between two offsets to p.
func (b *blocks) appendTo(p []byte, from, to int) []byte {
	for from < to {
		piece := b.at(from)
		piece = piece[:min(len(piece), to-from)]
		p = append(p, piece...)
		from += len(piece)
	}
	return p
}
