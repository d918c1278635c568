package capture

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/seed"
)

// bounds holds the first and last bytes of the classes in Unicode's table of valid UTF-8.
const bounds = "\x00\n\x7f\x80\x8f\x90\x9f\xa0\xbf\xc0\xc1" +
	"\xc2\xdf\xe0\xe1\xec\xed\xee\xef\xf0\xf1\xf3\xf4\xf5\xf7\xf8\xff"

func naiveChars(p []byte) int64 {
	return int64(utf8.RuneCountInString(strings.ToValidUTF8(string(p), "\uFFFD")))
}

// Every sequence of up to four bytes at the bounds, whole and byte by byte.
func TestD5_TallyOfEverySequence(t *testing.T) {
	for size := range 4 {
		seq := make([]byte, size+1)
		var each func(at int)
		each = func(at int) {
			if at < len(seq) {
				for _, b := range []byte(bounds) {
					seq[at] = b
					each(at + 1)
				}
				return
			}
			var whole, bytewise tally
			whole.add(seq)
			for i := range seq {
				bytewise.add(seq[i : i+1])
			}
			if want := naiveChars(seq); whole.chars() != want || bytewise.chars() != want {
				t.Fatalf("%x: %d and %d characters, want %d", seq, whole.chars(), bytewise.chars(), want)
			}
		}
		each(0)
	}
}

// Text of all kinds in pieces of all sizes.
func TestD5_TallyOfPieces(t *testing.T) {
	stretch := rapid.Custom(func(t *rapid.T) string {
		n := rapid.IntRange(1, 40).Draw(t, "times")
		return strings.Repeat(rapid.SampledFrom([]string{
			"a", "line\n", "ä", "€", "😀", "ä€", "😀a", "\x80", "\xff", "\xe2", "\xf0\x9f\x98", "\xe2\x82", "\xff€",
			"\xc3",
		}).Draw(t, "of"), n)
	})
	seed.Check(t, func(t *rapid.T) {
		all := []byte(strings.Join(rapid.SliceOfN(stretch, 1, 20).Draw(t, "text"), ""))
		cuts := rapid.SliceOfN(rapid.IntRange(1, 200), 1, 5).Draw(t, "pieces")
		var c tally
		for at, i := 0, 0; at < len(all); i++ {
			n := min(cuts[i%len(cuts)], len(all)-at)
			c.add(all[at : at+n])
			at += n
			if got, want := c.chars(), naiveChars(all[:at]); got != want {
				t.Fatalf("%d bytes: %d characters, want %d", at, got, want)
			}
		}
		if c.bytes != int64(len(all)) || c.lines != int64(bytes.Count(all, []byte("\n"))) {
			t.Fatalf("%d bytes, %d lines", c.bytes, c.lines)
		}
	})
}

// A run of invalid bytes is one character however it is split, and two with ASCII between them.
func TestD5_TallyOfRuns(t *testing.T) {
	ascii := strings.Repeat("a", 64)
	for want, pieces := range map[int64][]string{
		1:  {"\x80", "\x80\xff", "\xe2", "\x82"},
		66: {"\x80", ascii, "\x80"},
		65: {"\xe2", "\x82", ascii},
	} {
		var c tally
		for _, piece := range pieces {
			c.add([]byte(piece))
		}
		if got := c.chars(); got != want {
			t.Errorf("%q: %d characters, want %d", pieces, got, want)
		}
	}
}
