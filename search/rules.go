package search

import (
	"context"
	"strings"

	"github.com/attractor-go/attractor/env"
)

// Rules holds the rules of the .gitignore files that apply to the files of a directory. The zero
// value excludes nothing.
type Rules struct{ list *ignoreList }

// RulesAbove returns the rules of the directories above a directory, given its absolute path: from
// the top of its repository or, without a repository, from the working directory down.
func RulesAbove(ctx context.Context, e env.Environment, dir string) (Rules, error) {
	list, err := ignoreListAbove(ctx, e, dir)
	return Rules{list}, err
}

// Enter returns the rules for the files of a directory below, given its absolute path. The top of a
// repository has only its own rules and those of .git/info/exclude.
func (r Rules) Enter(ctx context.Context, e env.Environment, dir string, top bool) (Rules, error) {
	list, err := r.list.enter(ctx, e, dir, top)
	return Rules{list}, err
}

// Exclude reports whether a file is excluded, given its directory's absolute path with a slash at
// the end. It does not check the directories above.
func (r Rules) Exclude(dir, name string, isDir bool) bool {
	return r.list.ignores(dir, name, isDir)
}

// NewRules returns the rules of a single pattern, as if it were the only line of a .gitignore in a
// directory. dir is absolute, or empty for the root of the file system. ok is false if the pattern
// can match nothing.
func NewRules(dir, pattern string) (r Rules, ok bool) {
	p, ok := NewPattern(pattern)
	if !ok {
		return Rules{}, false
	}
	return Rules{(*ignoreList)(nil).with(dir, []rule{p.rule})}, true
}

// Pattern is a single pattern, as a line of a .gitignore has it.
type Pattern struct{ rule rule }

// NewPattern parses a pattern. ok is false if it can match nothing.
func NewPattern(text string) (p Pattern, ok bool) {
	list := parseRules(text)
	if len(list) != 1 || list[0].negated {
		return Pattern{}, false
	}
	for _, elem := range list[0].pattern {
		if elem.never {
			return Pattern{}, false
		}
	}
	return Pattern{list[0]}, true
}

// Covers reports whether the pattern matches a path, given from the pattern's directory, or a
// directory above it. Each counts as a directory. The time is at most the product of the lengths.
func (p Pattern) Covers(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	switch elems := p.rule.pattern; {
	case p.rule.anywhere:
		for elem := range strings.SplitSeq(name, "/") {
			if elems[0].match(elem) {
				return true
			}
		}
		return false
	case len(elems) == 1 && !elems[0].double:
		return elems[0].match(first)
	default:
		return elems.walk(name, true)
	}
}
