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
