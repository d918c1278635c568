package trust

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/seed"
)

// No two lists of files have the same hash, however their names, links and contents could be
// joined.
func TestL10_HashIsUnambiguous(t *testing.T) {
	text := rapid.StringOfN(rapid.SampledFrom([]rune("a\x00\x01")), 0, 3, -1)
	draw := func(t *rapid.T, label string) (files []File) {
		for range rapid.IntRange(0, 2).Draw(t, label) {
			files = append(files, File{Name: text.Draw(t, label), Link: text.Draw(t, label),
				Data: []byte(text.Draw(t, label)), Executable: rapid.Bool().Draw(t, label)})
		}
		return files
	}
	seed.Check(t, func(t *rapid.T) {
		one, two := draw(t, "one"), draw(t, "two")
		same := len(one) == len(two)
		for i := 0; same && i < len(one); i++ {
			a, b := one[i], two[i]
			same = a.Name == b.Name && a.Link == b.Link && string(a.Data) == string(b.Data) &&
				a.Executable == b.Executable
		}
		if h := (&Snapshot{Files: one}).Hash() == (&Snapshot{Files: two}).Hash(); h != same {
			t.Fatalf("same hash: %v, same files: %v", h, same)
		}
	})
}

// Joining that needs lengths: each pair differs only in where one part ends and the next begins.
func TestL10_HashHasLengths(t *testing.T) {
	for _, c := range [][2][]File{
		{{{Name: "ab"}}, {{Name: "a", Link: "b"}}},
		{{{Name: "a", Link: "bc"}}, {{Name: "a", Link: "b", Data: []byte("c")}}},
		{{{Name: "a", Data: []byte("b\x00\x00c")}}, {{Name: "a", Data: []byte("b")}, {Name: "c"}}},
		{{{Name: "a", Data: []byte("b\x00\x00")}}, {{Name: "a", Data: []byte("b")}, {}}},
	} {
		if (&Snapshot{Files: c[0]}).Hash() == (&Snapshot{Files: c[1]}).Hash() {
			t.Errorf("%+v and %+v have the same hash", c[0], c[1])
		}
	}
}
