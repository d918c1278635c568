package pieces

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/seed"
)

// TestK11_Text compares a text of pieces with a string to which the same pieces are added.
func TestK11_Text(t *testing.T) {
	seed.Check(t, func(rt *rapid.T) {
		var text Text
		plain := ""
		for i := range rapid.IntRange(0, 30).Draw(rt, "steps") {
			switch rapid.IntRange(0, 5).Draw(rt, "step") {
			case 0:
				if got := text.String(); got != plain {
					rt.Fatalf("String has %d bytes, want %d", len(got), len(plain))
				}
			case 1:
				n := rapid.IntRange(0, len(plain)).Draw(rt, "from")
				if got := text.From(n); got != plain[n:] {
					rt.Fatalf("From(%d) has %d bytes of %d", n, len(got), len(plain))
				}
			case 2:
				whole := plain[:rapid.IntRange(0, len(plain)).Draw(rt, "same")] + strings.Repeat("?",
					rapid.IntRange(0, 3).Draw(rt, "more"))
				rest, ok := text.Before(whole)
				if wantRest, wantOK := strings.CutPrefix(whole, plain); ok != wantOK || ok && rest != wantRest {
					rt.Fatalf("Before = %q, %v, want %q, %v", rest, ok, wantRest, wantOK)
				}
			default:
				size := rapid.OneOf(rapid.IntRange(0, 40), rapid.IntRange(0, 3*chunk),
					rapid.SampledFrom([]int{chunk - 1, chunk, chunk + 1, chunk / 4})).Draw(rt, "size")
				piece := strings.Repeat(string(rune('a'+i%26)), size)
				text.Add(piece)
				plain += piece
			}
			if text.Len() != len(plain) {
				rt.Fatalf("Len = %d, want %d", text.Len(), len(plain))
			}
		}
	})
}
