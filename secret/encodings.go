package secret

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
)

// pattern is a text to find and the name of its secret.
type pattern struct {
	text, name string
	solid      int  // so many bytes at the beginning are in one line, even if the rest is divided
	lead       bool // the text without its first byte is a pattern too
	tail       tail // of the base64 character behind the text
}

// tail holds the first bits of a character of base64 whose other bits are not known.
type tail struct{ bits, value int }

// matches reports whether c is a character of base64 with these bits.
func (t tail) matches(c byte) bool {
	six := strings.IndexByte(alphabet64, c)
	switch c {
	case '-':
		six = 62
	case '_':
		six = 63
	}
	return six >= 0 && six>>(6-t.bits) == t.value
}

const alphabet64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// encodings returns the patterns by which a value is found: itself, base64 and hexadecimal.
// Percent-encoding and escapes of JSON are undone while text is compared with these.
func encodings(v value) []pattern {
	lower := hex.EncodeToString([]byte(v.text))
	texts := []string{v.text, lower, strings.ToUpper(lower)}
	if strings.Contains(v.text, " ") { // as in forms
		texts = append(texts, strings.ReplaceAll(v.text, " ", "+"))
	}
	var patterns []pattern
	for _, text := range texts {
		patterns = append(patterns, pattern{text: text, name: v.name, solid: span})
	}
	for shift := range 3 {
		patterns = inner64(patterns, base64.RawStdEncoding, v, shift)
		patterns = inner64(patterns, base64.RawURLEncoding, v, shift)
	}
	for _, p := range patterns {
		if len(p.text) >= skipped+wrapAt && !p.lead { // a line may end so early in it that the beginning does not tell
			p.text = p.text[skipped:]
			patterns = append(patterns, p)
		}
	}
	slices.SortStableFunc(patterns, func(a, b pattern) int { return strings.Compare(a.text, b.text) })
	return slices.CompactFunc(patterns, func(a, b pattern) bool { return a.text == b.text })
}

// skipped limits how many bytes of a long text may be before the end of a line without the text
// being found there. It is more than the filter looks at, and few enough to say nothing.
const skipped = span + 1

// inner64 appends the patterns of a value in base64, in a text that has it at an offset of shift
// bytes, modulo 3: the characters that depend on the value alone, and these with each character
// that may stand before them and has bits of the value too.
func inner64(patterns []pattern, enc *base64.Encoding, v value, shift int) []pattern {
	encoded := enc.EncodeToString([]byte("\x00\x00"[:shift] + v.text))
	from, bits := (8*shift+5)/6, 8*(shift+len(v.text))
	p := pattern{text: encoded[from : bits/6], name: v.name, solid: span}
	if rest := bits % 6; rest > 0 {
		last := encoded[bits/6]
		for p.tail.bits = rest; !p.tail.matches(last); {
			p.tail.value++
		}
	}
	patterns = append(patterns, p)
	if shift == 0 {
		return patterns
	}
	p.lead, p.solid = true, span+1
	text, known := p.text, v.text[0]>>(8-(6*from-8*shift)) // the bits of the value in the character before
	for unknown := range 1 << (8*shift - 6*(from-1)) {
		six := byte(unknown)<<(6*from-8*shift) | known
		p.text = enc.EncodeToString([]byte{six << 2})[:1] + text
		patterns = append(patterns, p)
	}
	return patterns
}
