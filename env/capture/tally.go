package capture

import (
	"bytes"
	"unicode/utf8"
)

// tally counts a text that comes in pieces, which may be cut inside a character. A character is a
// code point of valid UTF-8, or a run of invalid bytes, as strings.ToValidUTF8 replaces it. The
// zero value has counted nothing.
type tally struct {
	bytes, lines int64
	decided      int64  // characters
	part         string // an incomplete character, not counted yet
	invalid      bool   // the last byte before it belongs to an invalid run that has been counted
}

// add counts a piece of text.
func (t *tally) add(p []byte) {
	t.bytes += int64(len(p))
	t.lines += int64(bytes.Count(p, []byte("\n")))
	for ; t.part != "" && len(p) > 0; p = p[1:] {
		t.part = t.decide(append([]byte(t.part), p[0]))
	}
	if len(p) > 0 {
		t.part = t.decide(p)
	}
}

// decide counts the characters of p but for an incomplete one at its end, which it returns.
func (t *tally) decide(p []byte) (rest string) {
	for len(p) > 0 {
		ascii := 0
		for ascii < len(p) && p[ascii] < utf8.RuneSelf {
			ascii++
		}
		if ascii > 0 {
			t.decided += int64(ascii)
			t.invalid = false
			p = p[ascii:]
			continue
		}
		if !utf8.FullRune(p) {
			return string(p)
		}
		r, size := utf8.DecodeRune(p)
		wrong := r == utf8.RuneError && size == 1
		if !wrong || !t.invalid {
			t.decided++
		}
		t.invalid = wrong
		p = p[size:]
	}
	return ""
}

// chars returns the number of characters if the text ends here.
func (t tally) chars() int64 {
	if t.part != "" && !t.invalid {
		return t.decided + 1
	}
	return t.decided
}
