package secret

import "encoding/binary"

// filter finds quickly where no secret can begin. It looks at every fourth place of a text: at the pair of bytes there and at the next
// pair. Each pair has a set of buckets, and a secret may begin near the place only if both pairs have a bucket in common.
//
// A secret is described by its first seven bytes, so four bytes of these are at one of the places. A shorter literal beginning has
// unknown bytes before and behind it.
type filter struct{ first, second [1 << 16]uint16 }

// The buckets. Four known bytes have one by their hash. Pairs of which a byte is unknown have their own, because so many texts have
// them that they say little about the other pair.
const (
	bucketUnknown = 0 // + the offset of the pairs in the seven bytes, 0 to 3
	bucketFirst   = 4 // nothing is known of the first pair
	bucketSecond  = 5 // nothing is known of the second pair
	bucketHash    = 6
)

// hashBucket returns the bucket of four known bytes.
func hashBucket(bytes uint32) uint16 { return 1 << (bucketHash + hash4(bytes)%(16-bucketHash)) }

// span counts the bytes of a secret that the filter knows, and reach limits how far before or behind a place a secret can begin.
const span, reach = 7, 3

// newFilter returns a filter for patterns and the heads of formats.
func newFilter(patterns []pattern, heads *[256][]head) *filter {
	f := new(filter)
	for _, list := range heads {
		for _, h := range list {
			f.addHead(h.text)
		}
	}
	for _, p := range patterns {
		for at := range 4 {
			bytes := load4(p.text[at:])
			f.first[bytes&0xffff] |= hashBucket(bytes)
			f.second[bytes>>16] |= hashBucket(bytes)
		}
	}
	return f
}

// addHead adds a literal beginning. Its bytes stand after up to two unknown ones, as far as it is shorter than seven.
func (f *filter) addHead(text string) {
	before := 0
	switch {
	case len(text) < 4:
		before = 2
	case len(text) < span:
		before = 1
	}
	known := func(i int) int { // the byte, or -1
		if i < before || i-before >= len(text) {
			return -1
		}
		return int(text[i-before])
	}
	for at := range 4 {
		a, b, c, d := known(at), known(at+1), known(at+2), known(at+3)
		bucket := uint16(1) << (bucketUnknown + at)
		switch {
		case min(a, b, c, d) >= 0:
			bucket = hashBucket(load4(text[at-before:]))
		case max(a, b) < 0:
			bucket = 1 << bucketFirst
		case max(c, d) < 0:
			bucket = 1 << bucketSecond
		}
		fill(&f.first, a, b, bucket)
		fill(&f.second, c, d, bucket)
	}
}

// fill adds a bucket to the pairs of two bytes, of which -1 stands for any.
func fill(table *[1 << 16]uint16, low, high int, bucket uint16) {
	for a := max(low, 0); a <= low || low < 0 && a < 256; a++ {
		for b := max(high, 0); b <= high || high < 0 && b < 256; b++ {
			table[b<<8|a] |= bucket
		}
	}
}

// next returns the first place from at on, in steps of four, near which a secret may begin. If there is none, it returns an offset in the
// last seven bytes.
func (f *filter) next(text []byte, at int) int {
	for ; at+8 <= len(text); at += 8 {
		x := binary.LittleEndian.Uint64(text[at:])
		low := f.first[uint16(x)] & f.second[uint16(x>>16)]
		high := f.first[uint16(x>>32)] & f.second[x>>48]
		if low|high != 0 {
			if low != 0 {
				return at
			}
			return at + 4
		}
	}
	return at
}
