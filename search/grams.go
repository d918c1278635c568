package search

import "encoding/binary"

const (
	gramSlots = 1 << 13 // of the table, which fits into a processor's first cache
	maxStride = 4
	gramHash  = 0x9E3779B1 // spreads grams over the table's slots
	gramShift = 32 - 13
)

// grams finds needles in one pass, however many there are. At every few bytes of the text it looks
// up the next two or three bytes, the gram, in a table, and compares the text with the needles that
// have it. Of each needle the table has as many grams in a row as bytes are between two samples, so
// that one of them is sampled wherever the needle is.
type grams struct {
	needles []needle
	size    int    // bytes of a gram
	mask    uint32 // of size bytes
	fold    uint32 // 0x20 in each byte if case is ignored
	stride  int
	// behind is the greatest offset in a needle at which a sample may hit it.
	behind int
	// table has the number of a list of hits for each hash of a gram, or 0.
	table [gramSlots]uint8
	hits  [][]gramHit
}

// gramHit says that a gram is in a needle.
type gramHit struct {
	needle *needle
	offset int // of the gram in the needle
}

// newGrams returns nil if the needles are too short or too many.
func newGrams(all []needle) *grams {
	shortest := len(all[0].text)
	for _, n := range all {
		shortest = min(shortest, len(n.text))
	}
	if shortest < 2 {
		return nil
	}
	g := &grams{needles: all, size: min(3, shortest), hits: make([][]gramHit, 1)}
	g.stride = min(maxStride, shortest-g.size+1)
	g.mask = 1<<(8*g.size) - 1
	if all[0].fold {
		g.fold = 0x20202020
	}
	for i := range all {
		if !g.add(&all[i]) {
			return nil
		}
	}
	return g
}

// Estimates of processor time per byte of text, in nanoseconds: of a sample, and of a pass for one
// byte by what it costs to find none and to check one candidate. They decide which way is taken,
// and nothing else.
const (
	sampleCost    = 0.8
	emptyCost     = 0.05
	candidateCost = 14
)

// passCost estimates the cost of a pass for one byte, whose frequency follows roughly from its
// rank.
func passCost(c byte) float64 {
	return emptyCost + candidateCost*0.3/float64(8+byteRarity(c))
}

// faster reports whether grams are faster than a pass for each group of needles.
func (g *grams) faster(groups []group) bool {
	passes := 0.0
	for _, group := range groups {
		passes += passCost(group.a)
		if group.b != group.a {
			passes += passCost(group.b)
		}
	}
	return passes > sampleCost/float64(g.stride)
}

// add adds the grams of a needle's window, the rarest one. It reports whether there was room for
// them.
func (g *grams) add(n *needle) bool {
	length := g.size + g.stride - 1
	window, best := 0, -1
	for at := 0; at+length <= len(n.text); at++ {
		sum := 0
		for i := at; i < at+length; i++ {
			sum += n.rarity(i)
		}
		if sum > best {
			window, best = at, sum
		}
	}
	for at := window; at < window+g.stride; at++ {
		var gram uint32
		for i, c := range n.text[at : at+g.size] {
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
		g.hits[*slot] = append(g.hits[*slot], gramHit{n, at})
		g.behind = max(g.behind, at)
	}
	return true
}

// hash returns the slot of the gram in the first bytes of x.
func (g *grams) hash(x uint32) uint32 { return (x | g.fold) & g.mask * gramHash >> gramShift }

// find returns the offset of a needle in the first line at or after pos that has one, or -1.
func (g *grams) find(text []byte, pos int) int {
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
	// No sample is left that has enough bytes behind it: try the needles that none of the samples
	// so far could have hit.
	for at := max(pos, i-g.stride+1-g.behind); at < len(text); at++ {
		for k := range g.needles {
			if g.needles[k].at(text[at:]) {
				return at
			}
		}
	}
	return -1
}

// check returns the offset of a needle that has a gram at offset i of the text, or -1.
func (g *grams) check(text []byte, pos, i int, list uint8) int {
	for _, h := range g.hits[list] {
		if start := i - h.offset; start >= pos && h.needle.at(text[start:]) {
			return start
		}
	}
	return -1
}
