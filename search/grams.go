package search

import (
	"bytes"
	"encoding/binary"
)

const (
	gramSlots = 1 << 13 // of the table, which fits into a processor's first cache
	maxStride = 4
	gramHash  = 0x9E3779B1 // spreads grams over the table's slots
	gramShift = 32 - 13
)

// grams finds literals in one pass, however many there are. At every few bytes of the text it looks
// up the next two or three bytes, the gram, in a table, and compares the text with the literals
// that have it. Of each literal the table has as many grams in a row as bytes are between two
// samples, so that one of them is sampled wherever the literal is. A single byte is left to package
// bytes.
type grams struct {
	set    literalSet
	single bool
	size   int    // bytes of a gram
	mask   uint32 // of size bytes
	fold   uint32 // 0x20 in each byte if case is ignored
	stride int
	// behind is the greatest offset in a literal at which a sample may hit it.
	behind int
	// table has the number of a list of hits for each hash of a gram, or 0.
	table [gramSlots]uint8
	hits  [][]gramHit
}

// gramHit says that a gram is in a literal.
type gramHit struct {
	literal []byte
	offset  int // of the gram in the literal
}

// newGrams returns nil if there are no literals, or if they are too short or too many.
func newGrams(set literalSet) *grams {
	if set.empty() {
		return nil
	}
	shortest := len(set.texts[0])
	for _, t := range set.texts {
		shortest = min(shortest, len(t))
	}
	switch {
	case shortest == 1 && len(set.texts) == 1 && !set.fold:
		return &grams{set: set, single: true}
	case shortest == 1:
		return nil
	}
	g := &grams{set: set, size: min(3, shortest), hits: make([][]gramHit, 1)}
	g.stride = min(maxStride, shortest-g.size+1)
	g.mask = 1<<(8*g.size) - 1
	if set.fold {
		g.fold = 0x20202020
	}
	for _, t := range set.texts {
		if !g.add(t) {
			return nil
		}
	}
	return g
}

// add adds the grams of a literal's window, the rarest one. It reports whether there was room for
// them.
func (g *grams) add(literal []byte) bool {
	length := g.size + g.stride - 1
	window, best := 0, -1
	for at := 0; at+length <= len(literal); at++ {
		sum := 0
		for _, c := range literal[at : at+length] {
			sum += g.rarity(c)
		}
		if sum > best {
			window, best = at, sum
		}
	}
	for at := window; at < window+g.stride; at++ {
		var gram uint32
		for i, c := range literal[at : at+g.size] {
			gram |= uint32(c) << (8 * i)
		}
		slot := &g.table[g.hash(gram)]
		if *slot == 0 {
			if len(g.hits) > 255 {
				return false
			}
			*slot = uint8(len(g.hits))
			g.hits = append(g.hits, nil)
		}
		g.hits[*slot] = append(g.hits[*slot], gramHit{literal, at})
		g.behind = max(g.behind, at)
	}
	return true
}

// rarity returns that of a byte which is searched for, in both cases if case is ignored.
func (g *grams) rarity(c byte) int {
	if g.set.fold {
		return min(byteRarity(c), byteRarity(upper(c)))
	}
	return byteRarity(c)
}

// hash returns the slot of the gram in the first bytes of x.
func (g *grams) hash(x uint32) uint32 { return (x | g.fold) & g.mask * gramHash >> gramShift }

// find returns an offset in the first line at or after pos that has a literal, or -1.
func (g *grams) find(text []byte, pos int) int {
	if g.single {
		at := bytes.IndexByte(text[pos:], g.set.texts[0][0])
		if at < 0 {
			return -1
		}
		return pos + at
	}
	// Both samples of a step are in 8 bytes.
	i, shift := pos+g.stride-1, 8*uint(g.stride)&63
	fold, mask := g.fold, g.mask
	for ; i+8 <= len(text); i += 2 * g.stride {
		x := binary.LittleEndian.Uint64(text[i : i+8])
		a, b := g.table[(uint32(x)|fold)&mask*gramHash>>gramShift],
			g.table[(uint32(x>>shift)|fold)&mask*gramHash>>gramShift]
		if a|b == 0 {
			continue
		}
		if at := g.check(text, pos, i, a); at >= 0 {
			return at
		}
		if at := g.check(text, pos, i+g.stride, b); at >= 0 {
			return at
		}
	}
	// No sample is left that has enough bytes behind it: try the literals that none of the samples
	// so far could have hit.
	for at := max(pos, i-g.stride+1-g.behind); at < len(text); at++ {
		for _, t := range g.set.texts {
			if g.set.at(text[at:], t) {
				return at
			}
		}
	}
	return -1
}

// check returns the offset of a literal that has a gram at offset i of the text, or -1.
func (g *grams) check(text []byte, pos, i int, list uint8) int {
	for _, h := range g.hits[list] {
		if start := i - h.offset; start >= pos && g.set.at(text[start:], h.literal) {
			return start
		}
	}
	return -1
}
