package secret

import "encoding/binary"

// filter finds quickly where no secret can begin. It looks at every fourth place of a text: at the
// pair of bytes there and at the next pair. Each pair has a set of buckets, and a secret may begin
// near the place only if both pairs have a bucket in common.
//
// A secret is described by its first seven bytes, so four bytes of these are at one of the places.
// A shorter literal beginning has unknown bytes before it, and bytes of the format's alphabet
// behind it.
type filter struct {
	first, second [1 << 16]uint16
}

// The buckets. Four known bytes have one by their hash. Pairs with an unknown byte have buckets of
// their own: they are so frequent that they say little about the other pair.
const (
	bucketUnknown = 0 // + the offset of the pairs in the seven bytes, 0 to 3
	bucketFirst   = 4 // nothing is known of the first pair
	bucketSecond  = 5 // nothing is known of the second pair
	bucketHash    = 6
)

// hashBucket returns the bucket of four known bytes.
func hashBucket(bytes uint32) uint16 {
	return 1 << (bucketHash + (bytes*0x9E3779B1>>8)%(16-bucketHash))
}

// addWindow adds four known bytes.
func (f *filter) addWindow(bytes uint32) {
	f.first[bytes&0xffff] |= hashBucket(bytes)
	f.second[bytes>>16] |= hashBucket(bytes)
}

// span counts the bytes of a secret that the filter knows, and reach limits how far before or
// behind a place a secret can begin.
const span, reach = 7, 3

// newFilter returns a filter for patterns and the heads of formats.
func newFilter(patterns []pattern, heads *[256][]head) *filter {
	f := new(filter)
	for _, list := range heads {
		for _, h := range list {
			f.addHead(h)
		}
	}
	for _, p := range patterns {
		if p.lead { // what is behind the lead is a pattern too
			continue
		}
		for at := range 4 {
			f.addWindow(load4(p.text[at:]))
		}
	}
	return f
}

// addHead adds a literal beginning. Its bytes stand after up to two unknown ones, as far as it is
// shorter than seven.
func (f *filter) addHead(h head) {
	before := 0
	switch {
	case len(h.text) < 4:
		before = 2
	case len(h.text) < span:
		before = 1
	}
	var body []byte
	if len(h.text) < span {
		body = bytesThat(h.format.body)
	}
	known := func(i int) []byte { // the bytes that there may be, nil for any
		switch {
		case i < before:
			return nil
		case i-before < len(h.text):
			return []byte{h.text[i-before]}
		}
		return body
	}
	for at := range 4 {
		a, b, c, d := known(at), known(at+1), known(at+2), known(at+3)
		bucket := uint16(1) << (bucketUnknown + at)
		switch {
		case at >= before && at+4-before <= len(h.text):
			f.addWindow(load4(h.text[at-before:]))
			continue
		case a == nil && b == nil:
			bucket = 1 << bucketFirst
		case c == nil && d == nil:
			bucket = 1 << bucketSecond
		}
		fill(&f.first, a, b, bucket)
		fill(&f.second, c, d, bucket)
	}
}

// bytesThat returns the bytes that a function allows, or nil for all of them.
func bytesThat(allowed func(byte) bool) []byte {
	if allowed == nil {
		return nil
	}
	var list []byte
	for c := range 256 {
		if allowed(byte(c)) {
			list = append(list, byte(c))
		}
	}
	return list
}

// fill adds a bucket to the pairs of two bytes, of which nil stands for any.
func fill(table *[1 << 16]uint16, low, high []byte, bucket uint16) {
	// of another head
	if low == nil && high == nil && table[0]&bucket != 0 && bucket&(1<<bucketFirst|1<<bucketSecond) != 0 {
		return
	}
	if low == nil {
		low = bytesThat(func(byte) bool { return true })
	}
	if high == nil {
		high = bytesThat(func(byte) bool { return true })
	}
	for _, a := range low {
		for _, b := range high {
			table[int(b)<<8|int(a)] |= bucket
		}
	}
}

// next returns the first place from at on, in steps of four, near which a secret may begin. If
// there is none, it returns an offset in the last seven bytes.
func (f *filter) next(text []byte, at int) int {
	for ; at+16 <= len(text); at += 16 {
		p := text[at : at+16]
		x, y := binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[8:])
		a := f.first[uint16(x)] & f.second[uint16(x>>16)]
		b := f.first[uint16(x>>32)] & f.second[x>>48]
		c := f.first[uint16(y)] & f.second[uint16(y>>16)]
		d := f.first[uint16(y>>32)] & f.second[y>>48]
		if a|b|c|d == 0 {
			continue
		}
		switch {
		case a != 0:
			return at
		case b != 0:
			return at + 4
		case c != 0:
			return at + 8
		}
		return at + 12
	}
	for ; at+8 <= len(text); at += 4 {
		if f.first[binary.LittleEndian.Uint16(text[at:])]&f.second[binary.LittleEndian.Uint16(text[at+2:])] != 0 {
			return at
		}
	}
	return at
}
