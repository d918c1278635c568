package search

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// TestC8_FinderFindsWhatIndexFinds compares the finder with bytes.Index.
func TestC8_FinderFindsWhatIndexFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := literalSet{fold: rapid.Bool().Draw(t, "fold")}
		for _, s := range rapid.SliceOfN(rapid.StringMatching(`[a-cx ]{1,5}`), 1, 4).Draw(t, "texts") {
			set.texts = append(set.texts, []byte(s))
		}
		text := []byte(rapid.StringMatching(`[a-cx A-CX\n]{0,80}`).Draw(t, "text"))
		ns := newNeedles(set)
		var f finder
		f.reset(&ns, text)
		pos := rapid.IntRange(0, len(text)).Draw(t, "from") // a long line is searched in pieces, so this may be within one
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
			got := f.find(pos)
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
