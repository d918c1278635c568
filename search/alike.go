package search

import (
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/text/unicode/norm"

	"github.com/attractor-go/attractor/internal/texts"
)

// globs holds what a glob pattern can mean: its first elements can also be literal names of
// entries, such as [id] in app/[id]/page.tsx, and names that are equal to the eye are equal.
type globs struct {
	patterns []string
	look     func(string) string
	broken   error // of a pattern that is not valid, so that something can only have its name
}

// newGlobs returns what a pattern can mean, or an error if that is nothing.
func newGlobs(pattern string) (g globs, err error) {
	g.look = func(name string) string { return name }
	if texts.HasLook(pattern) {
		g.look = texts.Look
	}
	for _, meaning := range meanings(pattern) {
		if validGlob(meaning) {
			g.patterns = append(g.patterns, g.look(meaning))
		}
	}
	if !validGlob(pattern) {
		g.broken = errBadGlob(pattern)
	}
	if g.patterns == nil {
		return g, g.broken
	}
	return g, nil
}

// match reports whether a path is meant.
func (g *globs) match(name string) bool {
	name = g.look(name)
	return slices.ContainsFunc(g.patterns, func(p string) bool { return doublestar.MatchUnvalidated(p, name) })
}

// mayContain reports whether there may be such paths below a directory.
func (g *globs) mayContain(dir string) bool {
	dir = g.look(dir)
	return slices.ContainsFunc(g.patterns, func(p string) bool { return mayContain(p, dir) })
}

const (
	special   = `\*?[]{},` // has a meaning in patterns; the backslash comes first
	ambiguous = `[{\`      // begins what does not match itself

	maxNames = 8 // elements of a pattern that are taken for names, too
)

// meanings returns a pattern, and those in which its first elements are names as they stand.
func meanings(pattern string) []string {
	all := []string{pattern}
	elems := strings.Split(pattern, "/")
	for i, elem := range elems {
		if strings.ContainsAny(elem, ambiguous) && len(all) <= maxNames {
			elems[i] = quoteGlob(elem)
			all = append(all, strings.Join(elems, "/"))
		}
	}
	return all
}

// quoteGlob returns a pattern that matches only this text.
func quoteGlob(text string) string {
	for _, c := range special {
		text = strings.ReplaceAll(text, string(c), `\`+string(c))
	}
	return text
}

// BothForms reports whether Grep searches a pattern in both Unicode normal forms, because its
// characters can be stored in two ways.
func BothForms(pattern string) bool {
	return norm.NFC.String(pattern) != norm.NFD.String(pattern) && regexp.QuoteMeta(pattern) == pattern
}
