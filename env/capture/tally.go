package capture

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// tally counts a text that comes in pieces, which may be cut inside a character. A character is a code point of valid UTF-8, or a run
// of invalid bytes, as strings.ToValidUTF8 replaces it. The zero value has counted nothing.
//
// It looks at 64 bytes at once, with one bit of a machine word for each byte, and has no branches that depend on the text. A gigabyte
// of any text or of random data takes half a second, where decoding random data rune by rune takes ten. ASCII, which most output is,
// takes a twentieth of a second.
type tally struct {
	bytes, lines int64
	decided      int64 // characters

	part    [utf8.UTFMax - 1]byte // an incomplete character, not counted yet
	partLen int
	ended   uint64 // bit i: the next byte i belongs to a character that has been counted
	invalid uint64 // 1 if the last byte belongs to an invalid run that has been counted
}

const (
	windowSize = 64
	// windowStep is the number of bytes of a full window that can be decided. The last ones may begin a character.
	windowStep = windowSize - (utf8.UTFMax - 1)
)

// add counts a piece of text.
func (t *tally) add(p []byte) {
	t.bytes += int64(len(p))
	t.lines += int64(bytes.Count(p, []byte("\n")))
	if t.partLen > 0 && len(p) > 0 {
		p = t.addToPart(p)
	}
	for {
		if n := asciiBlocks(p); n > 0 {
			t.decided += int64(n)
			t.invalid = 0
			p = p[n:]
		}
		if len(p) < windowSize {
			break
		}
		t.decide((*[windowSize]byte)(p), windowStep)
		p = p[windowStep:]
	}
	if len(p) == 0 {
		return
	}
	var w [windowSize]byte
	t.last(&w, copy(w[:], p))
}

// addToPart counts what is left of the last piece together with the beginning of p, and returns the rest of p.
func (t *tally) addToPart(p []byte) []byte {
	var w [windowSize]byte
	had := copy(w[:], t.part[:t.partLen])
	t.partLen = 0
	n := had + copy(w[had:], p)
	if n < windowSize {
		t.last(&w, n)
		return nil
	}
	t.decide(&w, windowStep)
	return p[windowStep-had:]
}

// last counts the n bytes of the last window of a piece. Anything may follow them, so an incomplete character waits in part.
func (t *tally) last(w *[windowSize]byte, n int) {
	for i := max(n-len(t.part), 0); i < n; i++ {
		if w[i] >= 0xC0 { // it may begin a character that goes on
			t.partLen = copy(t.part[:], w[i:n])
			n = i
			break
		}
	}
	for n > 0 {
		step := min(n, windowStep)
		t.decide(w, step)
		copy(w[:], w[step:])
		n -= step
	}
}

// chars returns the number of characters if the text ends here.
func (t tally) chars() int64 {
	var w [windowSize]byte
	if n := copy(w[:], t.part[:t.partLen]); n > 0 {
		t.decide(&w, n)
	}
	return t.decided
}

// decide counts the characters and invalid runs that begin in the first n bytes of a window, at most windowStep. It looks at the bytes
// after them only to see whether they complete a character.
func (t *tally) decide(w *[windowSize]byte, n int) {
	b0, b1, b2, b3, b4, b5, b6, b7 := planes(w)
	// Table 3-7 of the Unicode Standard. A bit of next1 says that the next byte continues a character, and so on.
	tail := b7 &^ b6
	next1, next2, next3 := tail>>1, tail>>2, tail>>3
	next32, next16 := b5>>1, b4>>1 // bits of the next byte: A0 and up set the first, 90 to 9F the second

	two := b7 & b6 &^ b5 & (b4 | b3 | b2 | b1) // from C2
	three := b7 & b6 & b5 &^ b4
	e0 := three &^ (b3 | b2 | b1 | b0)
	ed := three & b3 & b2 &^ b1 & b0
	four := b7 & b6 & b5 & b4 &^ b3 &^ (b2 & (b1 | b0)) // to F4
	f0 := four &^ (b2 | b1 | b0)
	f4 := four & b2

	two &= next1
	three &= next1 & next2 &^ (e0 &^ next32) &^ (ed & next32)
	four &= next1 & next2 & next3 &^ (f0 &^ (next32 | next16)) &^ (f4 & (next32 | next16))

	decided := uint64(1)<<n - 1
	two, three, four = two&decided, three&decided, four&decided
	begin := ^b7&decided | two | three | four
	valid := t.ended | begin | (two|three|four)<<1 | (three|four)<<2 | four<<3
	wrong := ^valid & decided
	t.decided += int64(bits.OnesCount64(begin) + bits.OnesCount64(wrong&^(wrong<<1|t.invalid)))
	t.ended = valid >> n
	t.invalid = wrong >> (n - 1)
}

// planes transposes a window: bit i of b7 is the highest bit of byte i, and so on.
func planes(w *[windowSize]byte) (b0, b1, b2, b3, b4, b5, b6, b7 uint64) {
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(w[8*i:]) }
	b0, b1, b2, b3, b4, b5, b6, b7 = word(0), word(1), word(2), word(3), word(4), word(5), word(6), word(7)
	// First the bytes: byte i of word k becomes byte 8i+k of the window, which was byte k of word i.
	b0, b4 = exchange(b0, b4, 32, 0x00000000FFFFFFFF)
	b1, b5 = exchange(b1, b5, 32, 0x00000000FFFFFFFF)
	b2, b6 = exchange(b2, b6, 32, 0x00000000FFFFFFFF)
	b3, b7 = exchange(b3, b7, 32, 0x00000000FFFFFFFF)
	b0, b2 = exchange(b0, b2, 16, 0x0000FFFF0000FFFF)
	b1, b3 = exchange(b1, b3, 16, 0x0000FFFF0000FFFF)
	b4, b6 = exchange(b4, b6, 16, 0x0000FFFF0000FFFF)
	b5, b7 = exchange(b5, b7, 16, 0x0000FFFF0000FFFF)
	b0, b1 = exchange(b0, b1, 8, 0x00FF00FF00FF00FF)
	b2, b3 = exchange(b2, b3, 8, 0x00FF00FF00FF00FF)
	b4, b5 = exchange(b4, b5, 8, 0x00FF00FF00FF00FF)
	b6, b7 = exchange(b6, b7, 8, 0x00FF00FF00FF00FF)
	// Then the bits: bit j of each byte of word k becomes bit k of that byte of word j.
	b0, b4 = exchange(b0, b4, 4, 0x0F0F0F0F0F0F0F0F)
	b1, b5 = exchange(b1, b5, 4, 0x0F0F0F0F0F0F0F0F)
	b2, b6 = exchange(b2, b6, 4, 0x0F0F0F0F0F0F0F0F)
	b3, b7 = exchange(b3, b7, 4, 0x0F0F0F0F0F0F0F0F)
	b0, b2 = exchange(b0, b2, 2, 0x3333333333333333)
	b1, b3 = exchange(b1, b3, 2, 0x3333333333333333)
	b4, b6 = exchange(b4, b6, 2, 0x3333333333333333)
	b5, b7 = exchange(b5, b7, 2, 0x3333333333333333)
	b0, b1 = exchange(b0, b1, 1, 0x5555555555555555)
	b2, b3 = exchange(b2, b3, 1, 0x5555555555555555)
	b4, b5 = exchange(b4, b5, 1, 0x5555555555555555)
	b6, b7 = exchange(b6, b7, 1, 0x5555555555555555)
	return b0, b1, b2, b3, b4, b5, b6, b7
}

// exchange swaps the masked bits of b with those bits of a that are a distance above the mask.
func exchange(a, b uint64, distance uint, mask uint64) (uint64, uint64) {
	x := (a>>distance ^ b) & mask
	return a ^ x<<distance, b ^ x
}

// highest masks the highest bit of each byte.
const highest = 0x8080808080808080

// asciiBlocks returns how many bytes at the beginning are ASCII, in whole windows.
func asciiBlocks(p []byte) int {
	n := 0
	for ; len(p)-n >= windowSize; n += windowSize {
		q := p[n:][:windowSize]
		all := binary.LittleEndian.Uint64(q) | binary.LittleEndian.Uint64(q[8:]) |
			binary.LittleEndian.Uint64(q[16:]) | binary.LittleEndian.Uint64(q[24:]) |
			binary.LittleEndian.Uint64(q[32:]) | binary.LittleEndian.Uint64(q[40:]) |
			binary.LittleEndian.Uint64(q[48:]) | binary.LittleEndian.Uint64(q[56:])
		if all&highest != 0 {
			break
		}
	}
	return n
}
