package secret

import (
	"slices"
	"strings"
)

// region is a part of a text that a placeholder replaces.
type region struct {
	start, end int
	name       string
}

// scanner looks for the secrets in one text.
type scanner struct {
	*matcher
	text    string
	before  string // what stands before the text
	final   bool   // the text does not go on
	regions []region
	safe    int   // no secret begins before this offset and ends behind the text
	heads   []int // offsets at which the head of a format may begin
	extents map[extentOf]*extent
	runs    *runs // nil until a head was found
	steps   int   // compared characters, for tests
}

// scan returns the secrets in a text, in their order and without overlaps. Unless the text is
// final, safe is the offset from which on it may be a secret that continues behind the text;
// everything before it is decided.
func (m *matcher) scan(text, before string, final bool) (regions []region, safe int) {
	s := scanner{matcher: m, text: text, before: before, final: final, safe: len(text)}
	s.candidates()
	if len(s.patterns) > 0 {
		s.escapes()
	}
	s.regions = union(s.regions)
	s.matchFormats()
	for i := len(s.regions) - 1; i >= 0; i-- {
		r := s.regions[i]
		if r.start < s.safe && s.safe < r.end { // what begins in it may make it longer
			s.safe = r.start
		}
		if r.start >= s.safe {
			s.regions = s.regions[:i]
		}
	}
	if m.steps != nil {
		*m.steps += s.steps + len(text)
		if s.runs != nil {
			*m.steps += s.runs.steps
		}
	}
	return s.regions, s.safe
}

// found adds a region.
func (s *scanner) found(r region) { s.regions = append(s.regions, r) }

// wait says that a secret may begin at an offset and end behind the text.
func (s *scanner) wait(at int) {
	if !s.final {
		s.safe = min(s.safe, at)
	}
}

// small is the length of a text that is not worth a filter, which takes half a millisecond to make:
// most sessions never need it.
const small = 32 << 10

// candidates looks at each place at which a pattern or the head of a format may begin.
func (s *scanner) candidates() {
	n, at := len(s.text), 0
	if n >= small {
		s.between(0, span) // what the filter must know may be before the text
		at = span
		f, bytes := s.filter(), bytesOf(s.text)
		for place := 0; ; place += 4 {
			place = f.next(bytes, place)
			if place+8 > n {
				break
			}
			at = s.between(max(at, place-reach-1), place+reach+1) // 1 for the first byte of a pattern with a lead
		}
		at = max(at, n-2*span-1)
	}
	s.between(at, n)
}

// between looks at the candidates from one offset to another one, which it returns.
func (s *scanner) between(from, to int) int {
	for ; from < to; from++ {
		if s.all.has(s.text, from) {
			s.candidate(from)
		}
	}
	return from
}

// candidate looks for what may begin at an offset.
func (s *scanner) candidate(at int) {
	if s.pairs.has(s.text, at) {
		s.plain(at)
	}
	for _, h := range s.matcher.heads[s.text[at]] {
		if rest := s.text[at:]; strings.HasPrefix(rest, h.text) || !s.final && len(rest) < len(h.text) &&
			strings.HasPrefix(h.text, rest) {
			s.heads = append(s.heads, at)
			return
		}
	}
}

// escapes looks for patterns that have escapes in them.
func (s *scanner) escapes() {
	for _, c := range []byte{'%', '\\'} {
		tried := 0
		for at := indexFrom(s.text, c, 0); at < len(s.text); at = indexFrom(s.text, c, at+1) {
			s.escaped(at, &tried)
		}
	}
}

// indexFrom returns the offset of the first c from an offset on, or the length of the text.
func indexFrom(text string, c byte, from int) int {
	if i := strings.IndexByte(text[from:], c); i >= 0 {
		return from + i
	}
	return len(text)
}

// matchFormats looks for the formats whose heads were found, and adds their keys to the regions.
func (s *scanner) matchFormats() {
	if len(s.heads) == 0 {
		return
	}
	known := s.regions
	s.runs = new(runs)
	var keys []region
	for _, at := range s.heads {
		rest, inWord := s.text[at:], isInWord(s.leftOf(at)) && !ends(known, at)
		for _, h := range s.matcher.heads[rest[0]] {
			if inWord && !h.format.inside {
				continue
			}
			if !strings.HasPrefix(rest, h.text) {
				if !s.final && strings.HasPrefix(h.text, rest) {
					s.wait(at)
				}
				continue
			}
			from, to, more := h.format.match(&suffix{rest, at, s.runs}, len(h.text))
			if more {
				s.wait(at)
			}
			if from >= 0 {
				keys = append(keys, region{at + from, at + to, h.format.name})
				break
			}
		}
	}
	s.regions = union(append(known, keys...))
}

// ends reports whether one of the regions, which are in order and do not overlap, ends at an
// offset.
func ends(regions []region, at int) bool {
	_, found := slices.BinarySearchFunc(regions, at, func(r region, at int) int { return r.end - at })
	return found
}

// leftContext counts the bytes before a text that decide whether a word begins with it.
const leftContext = 6

// leftOf returns the bytes before an offset that decide whether a word begins there.
func (s *scanner) leftOf(at int) string {
	if at >= leftContext {
		return s.text[at-leftContext : at]
	}
	return s.before + s.text[:at]
}

// isInWord reports whether a text ends in the middle of a word: with a letter or digit that does
// not belong to an escape.
func isInWord(left string) bool {
	n := len(left)
	switch {
	case n == 0 || !isAlnum(left[n-1]):
		return false
	case n >= 2 && left[n-2] == '\\' && strings.IndexByte("ntrbf", left[n-1]) >= 0:
		return false
	case n >= 3 && left[n-3] == '%':
		return false
	case n >= 6 && left[n-6:n-4] == `\u`:
		return false
	}
	return true
}

// union sorts regions and joins those that overlap. The one that begins first, else the longest,
// else the first found gives the name.
func union(regions []region) []region {
	if len(regions) < 2 {
		return regions
	}
	slices.SortStableFunc(regions, func(a, b region) int {
		if a.start != b.start {
			return a.start - b.start
		}
		return b.end - a.end
	})
	joined := regions[:1]
	for _, r := range regions[1:] {
		last := &joined[len(joined)-1]
		if r.start < last.end {
			last.end = max(last.end, r.end)
		} else {
			joined = append(joined, r)
		}
	}
	return joined
}
