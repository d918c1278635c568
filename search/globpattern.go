package search

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// globPattern holds a valid glob pattern. The frequent ones, **, **/*.go and *.go, need no
// backtracking and no whole path.
type globPattern struct {
	text   string
	all    bool   // it matches everything
	byName bool   // it matches at any depth
	suffix string // of the names, if simple
	simple bool   // the name's part is a star and the suffix
}

// maxAlternatives limits the combinations of the alternatives of a pattern, all of which a match
// may try for each file: {a,b}{c,d} has four.
const maxAlternatives = 1000

// validGlob reports whether a pattern is valid and matched in reasonable time.
func validGlob(pattern string) bool {
	return doublestar.ValidatePattern(pattern) && combinations(pattern) <= maxAlternatives
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

// newGlobPattern prepares a valid pattern.
func newGlobPattern(text string) globPattern {
	p := globPattern{text: text, all: text == "**"}
	name, anywhere := strings.CutPrefix(text, "**/")
	if strings.ContainsAny(name, `/{\`) || strings.Contains(name, "**") {
		return p
	}
	if anywhere {
		p.byName, p.text = true, name
	}
	if suffix, ok := strings.CutPrefix(name, "*"); ok && !strings.ContainsAny(suffix, "*?[") {
		p.simple, p.suffix = true, suffix
	}
	return p
}

// match reports whether the pattern matches a path that is given as its directory, with a slash at
// the end unless it is empty, and its name.
func (p *globPattern) match(dir, name string) bool {
	switch {
	case p.all:
		return true
	case p.simple:
		return (p.byName || dir == "") && strings.HasSuffix(name, p.suffix)
	case p.byName:
		return doublestar.MatchUnvalidated(p.text, name)
	}
	return doublestar.MatchUnvalidated(p.text, dir+name)
}
