package search

import "strings"

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

// CoversFile is Covers for a path that is no directory, which a pattern with a slash at its end
// does not match.
func (p Pattern) CoversFile(name string) bool {
	if p.rule.dirOnly {
		name = name[:max(0, strings.LastIndexByte(name, '/'))]
	}
	return name != "" && p.Covers(name)
}
