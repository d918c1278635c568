package secret

import (
	"hash/maphash"
	"slices"
	"sort"
	"strings"
	"sync"
)

// matcher finds the secrets that a Masker knows at one time. Once it is built, only clean changes.
type matcher struct {
	patterns []pattern // sorted by text
	longest  int       // the length of the longest pattern
	pairs    pairs     // the bytes with which patterns begin, two each
	starts   windows   // the first four bytes of patterns
	has      [256]bool // the bytes that a pattern has
	wide     bool      // a pattern has bytes beyond ASCII
	// by hash of the first four bytes: 1 + the first of the patterns, which are neighbours; 0 for
	// none
	index []int32

	heads  [256][]head // of the formats, by their first byte
	all    pairs       // the bytes with which patterns and heads begin
	simple [256]bool   // the bytes that, after a backslash, make an escape that no pattern can have
	filter func() *filter
	clean  clean
	steps  *int // counts the characters that are looked at, for tests; nil does not
}

// pairs is a set of pairs of bytes, and of what may be the first byte of one.
type pairs struct {
	bits  [1 << 16 / 64]uint64
	first [256]bool
}

// add adds the first two bytes of a text.
func (p *pairs) add(text string) {
	pair := uint16(text[0]) | uint16(text[1])<<8
	p.bits[pair/64] |= 1 << (pair % 64)
	p.first[text[0]] = true
}

// has reports whether the set has the two bytes at an offset of a text, of which the second may be
// missing.
func (p *pairs) has(text string, at int) bool {
	if at+1 >= len(text) {
		return p.first[text[at]]
	}
	pair := uint16(text[at]) | uint16(text[at+1])<<8
	return p.bits[pair/64]>>(pair%64)&1 != 0
}

// newMatcher returns a matcher for values and, if wanted, the known formats.
func newMatcher(formats bool, values []value) *matcher {
	m := &matcher{clean: clean{seed: maphash.MakeSeed()}}
	known := map[string]bool{}
	for _, v := range values {
		for _, p := range encodings(v) {
			if !known[p.text] {
				known[p.text] = true
				m.patterns = append(m.patterns, p)
			}
		}
	}
	slices.SortFunc(m.patterns, func(a, b pattern) int { return strings.Compare(a.text, b.text) })
	size := 64
	for size < 4*len(m.patterns) {
		size *= 2
	}
	m.index = make([]int32, size)
	for i, p := range m.patterns {
		m.longest = max(m.longest, len(p.text))
		m.pairs.add(p.text)
		m.all.add(p.text)
		m.starts.add(load4(p.text))
		for _, c := range []byte(p.text) {
			m.has[c] = true
			m.wide = m.wide || c >= 0x80
		}
		if p.tail.bits > 0 {
			for c := range m.has {
				m.has[c] = m.has[c] || p.tail.matches(byte(c))
			}
		}
		m.enter(i)
	}
	if formats {
		m.heads = formatHeads()
		for _, list := range m.heads {
			for _, h := range list {
				m.all.add(h.text)
			}
		}
	}
	for c := range m.simple {
		i := strings.IndexByte(jsonEscapes, byte(c))
		m.simple[c] = i < 0 && c != 'u' || i >= 0 && c != '\\' && !m.has[jsonEscaped[i]]
	}
	m.filter = sync.OnceValue(func() *filter { return newFilter(m.patterns, &m.heads) })
	return m
}

// enter puts the pattern i into the index, unless the one before it has the same beginning.
func (m *matcher) enter(i int) {
	text := m.patterns[i].text
	if i > 0 && m.patterns[i-1].text[:4] == text[:4] {
		return
	}
	slot := m.slot(text)
	for m.index[slot] != 0 {
		slot = (slot + 1) & (len(m.index) - 1)
	}
	m.index[slot] = int32(i + 1)
}

// slot returns where the index has the patterns that begin with the first four bytes of text,
// unless that place is taken.
func (m *matcher) slot(text string) int {
	return int(hash4(load4(text))) & (len(m.index) - 1)
}

func load4(text string) uint32 {
	return uint32(text[0]) | uint32(text[1])<<8 | uint32(text[2])<<16 | uint32(text[3])<<24
}

func hash4(x uint32) uint32 { return x * 0x9E3779B1 >> 8 }

// beginning returns the patterns that begin with text, or, if text has more than three bytes, with
// its first four. They are patterns[from:to].
func (m *matcher) beginning(text string) (from, to int) {
	if len(text) < 4 {
		from = sort.Search(len(m.patterns), func(i int) bool { return m.patterns[i].text >= text })
		to = from
		// whether there are any is all that matters
		if from < len(m.patterns) && strings.HasPrefix(m.patterns[from].text, text) {
			to++
		}
		return from, to
	}
	for slot := m.slot(text); m.index[slot] != 0; slot = (slot + 1) & (len(m.index) - 1) {
		from = int(m.index[slot] - 1)
		if m.patterns[from].text[:4] != text[:4] {
			continue
		}
		for to = from; to < len(m.patterns) && m.patterns[to].text[:4] == text[:4]; {
			to++
		}
		return from, to
	}
	return 0, 0
}
