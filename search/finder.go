package search

import (
	"bytes"
	"slices"
	"strings"
)

// byFrequency holds the printable bytes of source code and prose, the most frequent first. They
// were counted in some hundred megabytes of C, Go, Python, Perl, JavaScript and documentation. The
// order affects nothing but speed.
const byFrequency = " etsnraio\nlcd_pfuhm,.()0g'/E\"=Sb\tyTA>:1xIC<LNR-k2vOwP#*D3{}F456;98MB7[]U\\G$Hj`XVKqWYz&!+|%Q@J?Z~^"

// byteRarity returns a number that is greater for bytes that occur less often.
func byteRarity(c byte) int {
	if i := strings.IndexByte(byFrequency, c); i >= 0 {
		return i
	}
	return len(byFrequency)
}

// needle holds one literal, which is found by its rarest byte. Processors search for single bytes
// fastest, and a rare one has few candidates. Bytes.Index uses the first byte instead, and becomes
// slow if that is frequent.
type needle struct {
	text []byte
	fold bool
	rare int // offset of the rarest byte
	next int // offset of the second rarest byte, which is checked first
	// The byte at next in both cases, which may be the same.
	nextA, nextB byte
}

func newNeedle(text []byte, fold bool) needle {
	n := needle{text: text, fold: fold}
	for i := range text {
		if n.rarity(i) > n.rarity(n.rare) {
			n.rare = i
		}
	}
	if len(text) > 1 && n.rare == 0 {
		n.next = 1
	}
	for i := range text {
		if i != n.rare && n.rarity(i) > n.rarity(n.next) {
			n.next = i
		}
	}
	n.nextA, n.nextB = n.cases(n.next)
	return n
}

// cases returns the byte at an offset in both cases, or twice if only one is wanted.
func (n *needle) cases(i int) (a, b byte) {
	a, b = n.text[i], n.text[i]
	if n.fold {
		b = upper(b)
	}
	return a, b
}

func (n *needle) rarity(i int) int {
	r := byteRarity(n.text[i])
	if n.fold {
		r = min(r, byteRarity(upper(n.text[i])))
	}
	return r
}

// at reports whether a text begins with the needle.
func (n *needle) at(text []byte) bool {
	if len(text) < len(n.text) {
		return false
	}
	if !n.fold {
		return bytes.Equal(text[:len(n.text)], n.text)
	}
	for i, c := range n.text {
		if lower(text[i]) != c {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		c -= 'a' - 'A'
	}
	return c
}

// needles holds a matcher's literals, prepared for a common search.
type needles struct {
	all    []needle
	groups []group
	grams  *grams // nil if it is faster to look for one group after another
}

// group holds the needles that share their rarest byte.
type group struct {
	a, b    byte // the byte in both cases, which may be the same
	members []*needle
}

func newNeedles(set literalSet) needles {
	ns := needles{all: make([]needle, 0, len(set.texts))}
	for i, text := range set.texts {
		ns.all = append(ns.all, newNeedle(text, set.fold))
		n := &ns.all[i]
		a, b := n.cases(n.rare)
		g := slices.IndexFunc(ns.groups, func(g group) bool { return g.a == a })
		if g < 0 {
			g = len(ns.groups)
			ns.groups = append(ns.groups, group{a: a, b: b})
		}
		ns.groups[g].members = append(ns.groups[g].members, n)
	}
	if len(ns.all) > 0 {
		if g := newGrams(ns.all); g != nil && g.faster(ns.groups) {
			ns.grams = g
		}
	}
	return ns
}

// finder searches one text for needles, from front to back.
type finder struct {
	*needles
	text    []byte
	cursors []cursor
}

// cursor holds the next occurrences for a group, at or after the last position asked for; len(text)
// means none.
type cursor struct {
	found int // of a needle, by its rarest byte
	atA   int // of the byte in the one case
	atB   int // of the byte in the other case
}

// reset prepares the finder for a new text.
func (f *finder) reset(ns *needles, text []byte) {
	f.needles, f.text, f.cursors = ns, text, f.cursors[:0]
	for range ns.groups {
		f.cursors = append(f.cursors, cursor{-1, -1, -1})
	}
}

// find returns an offset in the first line at or after pos that has a needle, or -1. It need not be
// in the first needle of that line. After the first call pos must be the start of a line.
func (f *finder) find(pos int) int {
	if f.grams != nil {
		return f.grams.find(f.text, pos)
	}
	first := len(f.text)
	for i := range f.groups {
		c := &f.cursors[i]
		if c.found < pos {
			c.seek(&f.groups[i], f.text, pos)
		}
		first = min(first, c.found)
	}
	if first == len(f.text) {
		return -1
	}
	return first
}

// seek moves the cursor to the first needle of a group at or after pos.
func (c *cursor) seek(g *group, text []byte, pos int) {
	c.found = len(text)
	for at := pos; at < len(text); at++ {
		if c.atA < at {
			c.atA = indexFrom(text, at, g.a)
		}
		if g.a == g.b {
			at = c.atA
		} else {
			if c.atB < at {
				c.atB = indexFrom(text, at, g.b)
			}
			at = min(c.atA, c.atB)
		}
		if at == len(text) {
			return
		}
		for _, n := range g.members {
			// A second byte rules out most candidates.
			if i := at + n.next - n.rare; uint(i) >= uint(len(text)) || text[i] != n.nextA && text[i] != n.nextB {
				continue
			}
			if start := at - n.rare; start >= pos && n.at(text[start:]) {
				c.found = at
				return
			}
		}
	}
}

// indexFrom returns the first offset of a byte at or after from, or the text's length.
func indexFrom(text []byte, from int, b byte) int {
	if i := bytes.IndexByte(text[from:], b); i >= 0 {
		return from + i
	}
	return len(text)
}

// Two characters outside of ASCII are ASCII letters in another case: s and k.
const longS, kelvin = "\u017f", "\u212a"

// foldOddly reports whether a text has a character outside of ASCII that equals a needle's letter
// in another case. Such a text cannot be searched byte by byte.
func (ns *needles) foldOddly(text []byte) bool {
	return ns.foldsLetter('s') && bytes.Contains(text, []byte(longS)) || ns.foldsLetter('k') &&
		bytes.Contains(text, []byte(kelvin))
}

func (ns *needles) foldsLetter(c byte) bool {
	return slices.ContainsFunc(ns.all, func(n needle) bool { return n.fold && bytes.IndexByte(n.text, c) >= 0 })
}
