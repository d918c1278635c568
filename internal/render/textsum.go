package render

import (
	"hash/maphash"
	"strings"
	"unicode"
)

// textSum is a hash of a text that comes in pieces, without the white space around it. The zero value is the hash of an empty text.
type textSum struct {
	hash  maphash.Hash
	begun bool
	space strings.Builder // white space that is part of the text only if something follows
}

// textSeed makes the hashes of a process comparable.
var textSeed = maphash.MakeSeed()

func (t *textSum) add(piece string) {
	if !t.begun {
		t.hash.SetSeed(textSeed)
		piece = strings.TrimLeftFunc(piece, unicode.IsSpace)
	}
	text := strings.TrimRightFunc(piece, unicode.IsSpace)
	if text != "" {
		t.begun = true
		t.hash.WriteString(t.space.String())
		t.hash.WriteString(text)
		t.space.Reset()
	}
	t.space.WriteString(piece[len(text):])
}

func (t *textSum) sum() uint64 {
	if !t.begun {
		return 0
	}
	return t.hash.Sum64()
}
