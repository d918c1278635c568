package search

import (
	"context"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
)

// looks returns the function that makes names comparable with a pattern: names that are equal to
// the eye become equal. The pattern itself has to be passed through it, too.
func looks(pattern string) func(string) string {
	if texts.HasLook(pattern) {
		return texts.Look
	}
	return func(name string) string { return name }
}

// literalGlob returns a glob pattern with backslashes in front of the special characters of those
// of its elements that are names of existing entries, or "" if there are none. It looks at elements
// up to the first that is only a pattern.
func literalGlob(ctx context.Context, e env.Environment, pattern, dir string) string {
	if !strings.ContainsAny(pattern, ambiguous) || isHome(pattern) {
		return ""
	}
	at := dir
	if path.IsAbs(pattern) || filepath.IsAbs(pattern) {
		at = "/"
	}
	found := false
	elems := strings.Split(pattern, "/")
	for i, elem := range elems {
		at = path.Join(at, elem)
		if !strings.ContainsAny(elem, special) {
			continue
		}
		if !strings.ContainsAny(elem, ambiguous) { // * and ? match themselves
			break
		}
		if _, err := e.Stat(ctx, at); err != nil {
			break
		}
		elems[i], found = quoteGlob(elem), true
	}
	if !found {
		return ""
	}
	return strings.Join(elems, "/")
}

const (
	special   = `\*?[]{},` // has a meaning in patterns; the backslash comes first
	ambiguous = `[{\`      // begins what does not match itself
)

// quoteGlob returns a pattern that matches only this text.
func quoteGlob(text string) string {
	for _, c := range special {
		text = strings.ReplaceAll(text, string(c), `\`+string(c))
	}
	return text
}

// joined returns the files of two listings, each once.
func joined(a, b Listing) Listing {
	known := map[string]bool{}
	for _, f := range a.Files {
		known[f.Path] = true
	}
	for _, f := range b.Files {
		if !known[f.Path] {
			a.Files = append(a.Files, f)
		}
	}
	a.Files, a.Stopped = newestFirst(a.Files), a.Stopped || b.Stopped
	for _, name := range b.Unreadable {
		if !slices.Contains(a.Unreadable, name) {
			a.Unreadable = append(a.Unreadable, name)
		}
	}
	return a
}

// prepared returns the query with what else its texts can mean: a glob with elements that are names
// of entries, and a pattern without special characters that is stored in another normal form.
func (q Query) prepared(ctx context.Context, e env.Environment) Query {
	glob, not := strings.CutPrefix(q.Glob, "!")
	literal := literalGlob(ctx, e, glob, q.Path)
	switch {
	case literal == "":
	case !validGlob(glob):
		glob = literal
	case !hasOuterComma(glob): // which would divide the pattern
		glob = "{" + relative(glob) + "," + relative(literal) + "}"
	}
	if q.Glob = glob; not {
		q.Glob = "!" + glob
	}
	if BothForms(q.Pattern) {
		q.Pattern = "(?:" + norm.NFC.String(q.Pattern) + "|" + norm.NFD.String(q.Pattern) + ")"
	}
	return q
}

// relative returns a pattern without what a filter ignores at its beginning.
func relative(pattern string) string {
	return strings.TrimPrefix(strings.TrimPrefix(pattern, "./"), "/")
}

// hasOuterComma reports whether a valid pattern has a comma that is not in braces, which is a
// character of names.
func hasOuterComma(pattern string) bool {
	depth := 0
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			depth--
		case ',':
			if depth == 0 {
				return true
			}
		}
	}
	return false
}

// BothForms reports whether Grep searches a pattern in both Unicode normal forms, because its
// characters can be stored in two ways.
func BothForms(pattern string) bool {
	return norm.NFC.String(pattern) != norm.NFD.String(pattern) && regexp.QuoteMeta(pattern) == pattern
}
