package render

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/seed"
	"github.com/attractor-go/attractor/sanitize"
)

// Shorten reads no more of a text than it shows, and returns what it would return if it read all.
func TestK5_Shorten(t *testing.T) {
	units := []string{"a", "é", "😀", "👩\u200d💻", " ", "\n", "\t\r\n", "\u00a0", "\u2028", "\xff", "\xe2\x82", "\ufffd",
		"\x1b", "\u200b", "\x00", "word "}
	seed.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(units), 0, 40).Draw(rt, "text"), "")
		limit := rapid.IntRange(0, 20).Draw(rt, "limit")
		want := sanitize.Text(strings.Join(strings.Fields(text), " "))
		if utf8.RuneCountInString(want) > limit {
			want = string([]rune(want)[:limit]) + "…"
		}
		if got := Shorten(text, limit); got != want {
			rt.Fatalf("Shorten(%q, %d) = %q, want %q", text, limit, got, want)
		}
	})
	if got := beginning(strings.Repeat("a b\n", 1000), 60); len(got) > 2*61 {
		t.Errorf("%d bytes are read for 60 characters", len(got))
	}
}
