package coding

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/seed"
)

// An exact text is found with either line ending.
func TestC5_ExactIsWhateverTheLineEndings(t *testing.T) {
	pieces := []string{"a", "b", "ab", "\n", "\r\n", "\r", "\r\r\n", "\n\n"}
	seed.Check(t, func(t *rapid.T) {
		text := func(label string, least int) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), least, 12).Draw(t, label), "")
		}
		content := text("content", 0)
		e := edit{old: text("old", 1), new: "x", all: rapid.Bool().Draw(t, "all")}
		if lf := toLF(content); lf != "" && rapid.Bool().Draw(t, "from the content") {
			start := rapid.IntRange(0, len(lf)-1).Draw(t, "start")
			e.old = lf[start:rapid.IntRange(start+1, len(lf)).Draw(t, "end")]
		}
		got := e.match(content)
		if want := everyPlace(e, content); got.how == "" && !slices.Equal(got.places, want) ||
			got.how != "" && want != nil {
			t.Fatalf("%q in %q: %v, want %v", e.old, content, got, want)
		}
	})
}

// everyPlace returns the parts of a content that are the old text but for line endings, none of
// which begins or ends inside of a \r\n. It tries all parts.
func everyPlace(e edit, content string) (places []place) {
	inside := func(at int) bool {
		return at > 0 && at < len(content) && content[at-1] == '\r' && content[at] == '\n'
	}
	last := 0
	for start := range len(content) {
		for end := start + 1; end <= len(content); end++ {
			if !inside(start) && !inside(end) && toLF(content[start:end]) == toLF(e.old) && (!e.all || start >= last) {
				places, last = append(places, place{span{start, end}, e.new}), end
			}
		}
	}
	return places
}

// The snippet shows the edited place with whole lines around it.
func TestC5_Snippet(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "", "bb", "ccc\r"}), 1, 70).Draw(t, "lines")
		content := strings.Join(lines, "\n")
		s := span{start: rapid.IntRange(0, len(content)).Draw(t, "start")}
		s.end = rapid.IntRange(s.start, len(content)).Draw(t, "end")
		all := strings.Split(strings.TrimSuffix(toLF(content), "\n"), "\n")
		at := func(offset int) int { return 1 + strings.Count(content[:offset], "\n") }
		first, last := max(at(s.start)-snippetContext, 1), min(at(s.end)+snippetContext, len(all))
		want := Dialect{}.number(all[first-1:max(last, first-1)], first)
		if last-first >= maxSnippetLines {
			want = Dialect{}.number(all[first-1:first+19], first) + "...\n" + Dialect{}.number(all[last-20:last],
				last-19)
		}
		if got := (Dialect{}).snippet([]byte(content), s); got != want {
			t.Fatalf("%q, %v:\n%swant\n%s", content, s, got, want)
		}
	})
}

// Overlapping occurrences count as one if all are replaced, and as ambiguous if one is.
func TestC5_OverlappingOccurrences(t *testing.T) {
	for _, tt := range []struct {
		old, content string
		one, all     int
	}{
		{"b\naa\nb", "b\naa\nb\naa\nb", 2, 1},
		{"b\naa\nb", "b\r\naa\r\nb\naa\nb", 2, 1},
		{"aa", "aaaa", 3, 2},
		{"\n\n", "\n\r\n\n", 2, 1},
	} {
		if got := len(edit{old: tt.old}.match(tt.content).places); got != tt.one {
			t.Errorf("%q in %q: %d, want %d", tt.old, tt.content, got, tt.one)
		}
		if got := len(edit{old: tt.old, all: true}.match(tt.content).places); got != tt.all {
			t.Errorf("all %q in %q: %d, want %d", tt.old, tt.content, got, tt.all)
		}
	}
}
