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
	patterns []pattern             // sorted by text
	longest  int                   // the length of the longest pattern
	pairs    pairs                 // the bytes with which patterns begin, two each
	has      [256]bool             // the bytes that a pattern has
	wide     bool                  // a pattern has bytes beyond ASCII
	index    map[uint32]neighbours // by the first four bytes

	heads  [256][]head // of the formats, by their first byte
	all    pairs       // the bytes with which patterns and heads begin
	filter func() *filter
	clean  clean
	steps  *int // counts the characters that are looked at, for tests; nil does not
}

// neighbours are the patterns from one to before another.
type neighbours struct{ from, to int }

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
	m.index = make(map[uint32]neighbours, len(m.patterns))
	for i, p := range m.patterns {
		m.longest = max(m.longest, len(p.text))
		m.pairs.add(p.text)
		m.all.add(p.text)
		for _, c := range []byte(p.text) {
			m.has[c] = true
			m.wide = m.wide || c >= 0x80
		}
		if p.tail.bits > 0 {
			for c := range m.has {
				m.has[c] = m.has[c] || p.tail.matches(byte(c))
			}
		}
		same, ok := m.index[load4(p.text)]
		if !ok {
			same.from = i
		}
		m.index[load4(p.text)] = neighbours{same.from, i + 1}
	}
	if formats {
		m.heads = formatHeads()
		for _, list := range m.heads {
			for _, h := range list {
				m.all.add(h.text)
			}
		}
	}
	m.filter = sync.OnceValue(func() *filter { return newFilter(m.patterns, &m.heads) })
	return m
}

func load4(text string) uint32 {
	return uint32(text[0]) | uint32(text[1])<<8 | uint32(text[2])<<16 | uint32(text[3])<<24
}

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
	same := m.index[load4(text)]
	return same.from, same.to
}
