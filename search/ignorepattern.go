package search

import "strings"

// ignorePattern holds a wildcard pattern of a .gitignore file. It follows git's wildmatch: * and ?
// do not match slashes, ** as a whole element matches any number of elements, a class never matches
// a slash, and bytes are compared. A malformed pattern matches nothing.
type ignorePattern []elementPattern

// parseIgnorePattern splits a pattern at its slashes, even those after a backslash, but not at
// those in a class.
func parseIgnorePattern(pattern string) ignorePattern {
	var p ignorePattern
	start := 0
	for i := 0; i < len(pattern); i++ {
		switch {
		case pattern[i] == '/':
			p = append(p, parseElement(pattern[start:i]))
			start = i + 1
		case pattern[i] == '\\' && strings.HasPrefix(pattern[i+1:], "/"):
			p = append(p, parseElement(pattern[start:i]))
			start = i + 2
			i++
		case pattern[i] == '\\':
			i++
		case pattern[i] == '[':
			n, ok := parseClass(pattern[i:], new(byteSet))
			if !ok {
				return ignorePattern{{never: true}}
			}
			i += n - 1
		}
	}
	return append(p, parseElement(pattern[start:]))
}

// match reports whether the pattern matches the whole path.
func (p ignorePattern) match(name string) bool { return p.walk(name, false) }

// walk reports whether the pattern matches the whole path or, with above, a directory above it. It
// backtracks to the last ** alone, because a later ** can match whatever an earlier one can. So the
// time is at most the product of the lengths.
func (p ignorePattern) walk(name string, above bool) bool {
	pi, rest, more := 0, name, true // rest begins with the next element, if there are more
	star, resume := -1, ""
	for more {
		elem, after, found := strings.Cut(rest, "/")
		switch {
		case pi == len(p) && above:
			return true
		case pi < len(p) && p[pi].double:
			if pi == len(p)-1 {
				return true // at the end ** matches one element or more
			}
			star, resume = pi, rest
			pi++
		case pi < len(p) && p[pi].match(elem):
			pi++
			rest, more = after, found
		case star >= 0:
			if _, resume, more = strings.Cut(resume, "/"); !more {
				return false
			}
			pi, rest = star+1, resume
		default:
			return false
		}
	}
	return pi == len(p)
}

// elementPattern holds the pattern of one path element.
type elementPattern struct {
	double  bool   // two stars or more
	never   bool   // malformed
	literal string // the element itself, if there are no tokens
	tokens  []token
}

// token holds one unit of an element's pattern: a star, or the set of bytes that it matches.
type token struct {
	star bool
	set  byteSet
}

type byteSet [4]uint64

func (s *byteSet) add(c byte)      { s[c>>6] |= 1 << (c & 63) }
func (s *byteSet) has(c byte) bool { return s[c>>6]&(1<<(c&63)) != 0 }
func (s *byteSet) addRange(lo, hi byte) {
	for c := int(lo); c <= int(hi); c++ {
		s.add(byte(c))
	}
}

func (s *byteSet) invert() {
	for i := range s {
		s[i] = ^s[i]
	}
}

func parseElement(pattern string) elementPattern {
	if len(pattern) > 1 && strings.Trim(pattern, "*") == "" {
		return elementPattern{double: true}
	}
	if !strings.ContainsAny(pattern, `*?[\`) {
		return elementPattern{literal: pattern}
	}
	var e elementPattern
	for i := 0; i < len(pattern); i++ {
		var t token
		switch c := pattern[i]; c {
		case '*':
			t.star = true
		case '?':
			t.set.invert()
		case '[':
			n, ok := parseClass(pattern[i:], &t.set)
			if !ok {
				return elementPattern{never: true}
			}
			i += n - 1
		case '\\':
			if i++; i == len(pattern) {
				return elementPattern{never: true}
			}
			t.set.add(pattern[i])
		default:
			t.set.add(c)
		}
		e.tokens = append(e.tokens, t)
	}
	return e
}

// match backtracks to the last star alone, like ignorePattern.match.
func (e *elementPattern) match(elem string) bool {
	if e.never {
		return false
	}
	if e.double {
		return true
	}
	if e.tokens == nil {
		return elem == e.literal
	}
	ti, i, star, resume := 0, 0, -1, 0
	for i < len(elem) {
		switch {
		case ti < len(e.tokens) && e.tokens[ti].star:
			star, resume = ti, i
			ti++
		case ti < len(e.tokens) && e.tokens[ti].set.has(elem[i]):
			ti++
			i++
		case star >= 0:
			resume++
			ti, i = star+1, resume
		default:
			return false
		}
	}
	for ti < len(e.tokens) && e.tokens[ti].star {
		ti++
	}
	return ti == len(e.tokens)
}
