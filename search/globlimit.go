package search

import "github.com/bmatcuk/doublestar/v4"

// maxAlternatives limits the combinations of the alternatives of a pattern, all of which a match
// may try for each file: {a,b}{c,d} has four.
const maxAlternatives = 1000

// validGlob reports whether a pattern is valid and matched in reasonable time.
func validGlob(pattern string) bool { return Alternatives(pattern) > 0 }

// Alternatives returns how many patterns without braces a glob pattern stands for, which says how
// much work a match is. It returns 0 for a pattern that is not valid or stands for too many.
func Alternatives(pattern string) int {
	if !doublestar.ValidatePattern(pattern) {
		return 0
	}
	if n := combinations(pattern); n <= maxAlternatives {
		return n
	}
	return 0
}

// combinations counts the combinations of the alternatives of a valid pattern, at most one more
// than maxAlternatives.
func combinations(pattern string) int {
	type group struct{ earlier, now int } // the combinations of the alternatives before, and of this one
	open := []group{{now: 1}}
	for i := 0; i < len(pattern); i++ {
		g := &open[len(open)-1]
		switch pattern[i] {
		case '\\':
			i++
		case '{':
			open = append(open, group{now: 1})
		case ',':
			if len(open) > 1 {
				g.earlier, g.now = min(g.earlier+g.now, maxAlternatives+1), 1
			}
		case '}':
			if len(open) > 1 {
				open = open[:len(open)-1]
				around := &open[len(open)-1]
				around.now = min(around.now*(g.earlier+g.now), maxAlternatives+1)
			}
		}
	}
	return open[0].now
}
