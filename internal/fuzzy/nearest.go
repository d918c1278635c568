package fuzzy

import (
	"regexp"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/internal/texts"
)

const (
	maxNearLines    = 50      // wanted lines that are compared
	maxNearContent  = 4 << 20 // bytes of the largest content that is searched for a similar line
	enoughLikeness  = 0.6     // the least likeness of a line that is worth showing
	maxLikenessLine = 1000    // bytes; longer lines are not compared letter by letter
	maxShownLine    = 500     // bytes shown of a line
)

// numberedLine matches a line as read_file shows it, and one with a tab after the number, as other
// agents show it.
var numberedLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*\d+( \||\t)`)
})

// Numbered reports whether all lines begin with a number as read_file shows it.
func Numbered(lines []string) bool {
	for _, l := range lines {
		if !numberedLine().MatchString(l) {
			return false
		}
	}
	return true
}

// Shortened returns the lines with long ones truncated.
func Shortened(lines []string) []string {
	short := make([]string, len(lines))
	for i, l := range lines {
		short[i] = texts.Cut(l, maxShownLine, " ...")
	}
	return short
}

// Nearest returns the index of the line where the old lines fit best, or -1, and whether they are
// equal there except for white space. It prefers the first place with the most equal lines. If no
// line is equal, it takes the place of the most similar line.
func Nearest(lines, old []string) (at int, equal bool) {
	old = old[:min(len(old), maxNearLines)]
	want, meaning := make([]string, len(old)), 0
	for i, l := range old {
		if want[i] = squeezed(l); want[i] != "" {
			meaning++
		}
	}
	have := make([]string, len(lines))
	for i, l := range lines {
		have[i] = squeezed(l)
	}
	best, most := -1, 0
	for i := range have {
		n := 0
		for j := 0; j < len(want) && i+j < len(have); j++ {
			if want[j] != "" && want[j] == have[i+j] {
				n++
			}
		}
		if n > most {
			best, most = i, n
		}
	}
	if best < 0 {
		return mostSimilar(have, want), false
	}
	return best, most == meaning
}

// squeezed returns a line without white space at its ends and with single spaces between its words.
func squeezed(line string) string { return strings.Join(strings.Fields(line), " ") }

// mostSimilar finds the line that most resembles the longest wanted line. It returns the index of
// the first wanted line there, or -1.
func mostSimilar(have, want []string) int {
	longest, size := 0, 0
	for i, l := range want {
		if len(l) > len(want[longest]) {
			longest = i
		}
	}
	for _, l := range have {
		size += len(l)
	}
	if size > maxNearContent || len(want[longest]) > maxLikenessLine {
		return -1
	}
	best, most := -1, enoughLikeness
	pairs := pairsOf(want[longest])
	for i, l := range have {
		if len(l) > maxLikenessLine {
			continue
		}
		if likeness := pairs.likeness(l); likeness > most {
			best, most = max(0, i-longest), likeness
		}
	}
	return best
}

// pairs counts the pairs of neighbouring bytes in a text.
type pairs map[[2]byte]int

func pairsOf(text string) pairs {
	p := pairs{}
	for i := 0; i+1 < len(text); i++ {
		p[[2]byte{text[i], text[i+1]}]++
	}
	return p
}

// likeness returns the similarity of two texts, from 0 to 1: Dice's coefficient of their pairs.
func (p pairs) likeness(text string) float64 {
	total := len(text) - 1
	for _, n := range p {
		total += n
	}
	if total <= 0 {
		return 0
	}
	shared := 0
	for pair, n := range pairsOf(text) {
		shared += min(n, p[pair])
	}
	return 2 * float64(shared) / float64(total)
}
