package search

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/seed"
)

// TestC8_GramsFindWhatIndexFinds compares the search by grams with bytes.Index.
func TestC8_GramsFindWhatIndexFinds(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		set := literalSet{fold: rapid.Bool().Draw(t, "fold")}
		for _, s := range rapid.SliceOfN(rapid.StringMatching(`[a-cx ]{2,9}`), 1, 9).Draw(t, "texts") {
			set.texts = append(set.texts, []byte(s))
		}
		pieces := []string{"\n", "a", "cx", " ", "A B", "\nbc", "XX"}
		for _, s := range set.texts { // whole, in another case, cut off, and with a byte that does not fit
			pieces = append(pieces, string(s), strings.ToUpper(string(s)), string(s[:len(s)/2]), string(s[1:])+"q")
		}
		text := []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 100).Draw(t, "text"), ""))
		if rapid.Bool().Draw(t, "single") {
			set = literalSet{texts: [][]byte{[]byte("x")}}
		}
		g := newGrams(set)
		if g == nil {
			t.Fatalf("%q: no grams", set.texts)
		}
		// a long line is searched in pieces, so this may be within one
		pos := rapid.IntRange(0, min(len(text), 20)).Draw(t, "from")
		for pos < len(text) {
			hay := text
			if set.fold {
				hay = bytes.ToLower(text)
			}
			want := len(text)
			for _, s := range set.texts {
				if i := bytes.Index(hay[pos:], s); i >= 0 {
					want = min(want, pos+i)
				}
			}
			got := g.find(text, pos)
			if want == len(text) {
				if got != -1 {
					t.Fatalf("%q at %d of %q: found at %d, and is not there", set.texts, pos, text, got)
				}
				return
			}
			line, end := lineAround(text, want)
			if got < max(line, pos) || got >= end {
				t.Fatalf("%q at %d of %q: found at %d, and is at %d first", set.texts, pos, text, got, want)
			}
			pos = end
		}
	})
}

// TestC8_GramsBeginWithinALiteral checks that a search that begins within a literal, as in a long
// line that is searched in pieces, does not return that literal, although a sample lies in it.
func TestC8_GramsBeginWithinALiteral(t *testing.T) {
	for _, literal := range []string{"ab", "abc", "abcd", "abcdefgh", "abcdefghijklmnop"} {
		g := newGrams(literalSet{texts: [][]byte{[]byte(literal), []byte("qqqqqqqqqqqqqqqqqqqq")}})
		if g == nil {
			t.Fatalf("%q: no grams", literal)
		}
		for before := range 9 {
			text := []byte(strings.Repeat(".", before) + literal + strings.Repeat(".", 40))
			for pos := range text {
				want := -1
				if pos <= before {
					want = before
				}
				if got := g.find(text, pos); got != want {
					t.Errorf("%q from %d on: found at %d, want %d", text, pos, got, want)
				}
			}
		}
	}
}
