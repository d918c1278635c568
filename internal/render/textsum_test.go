package render

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/seed"
)

// TestK11_TextSum compares the sums of two texts that come in different pieces with the texts themselves.
func TestK11_TextSum(t *testing.T) {
	piece := rapid.SliceOf(rapid.StringOfN(rapid.SampledFrom([]rune("ab \n\u00a0\u2003")), 0, 4, -1))
	seed.Check(t, func(rt *rapid.T) {
		one, other := piece.Draw(rt, "one"), piece.Draw(rt, "other")
		if rapid.Bool().Draw(rt, "same") { // but for the white space around it, and the pieces
			other = []string{" ", strings.TrimSpace(strings.Join(one, "")), "\n", " "}
		}
		var a, b textSum
		for _, p := range one {
			a.add(p)
		}
		for _, p := range other {
			b.add(p)
		}
		same := strings.TrimSpace(strings.Join(one, "")) == strings.TrimSpace(strings.Join(other, ""))
		if got := a.sum() == b.sum(); got != same {
			rt.Fatalf("%q and %q: equal sums %v", one, other, got)
		}
	})
}
