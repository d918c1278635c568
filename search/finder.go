package search

import (
	"bytes"
	"slices"
	"strings"
)

// byFrequency is the printable bytes of source code and prose, the most frequent first, as counted in some hundred megabytes of
// C, Go, Python, Perl, JavaScript and documentation, each language with the same weight. Only the order matters, and only for
// the speed.
const byFrequency = " etsnraio\nlcd_pfuhm,.()0g'/E\"=Sb\tyTA>:1xIC<LNR-k2vOwP#*D3{}F456;98MB7[]U\\G$Hj`XVKqWYz&!+|%Q@J?Z~^"

// byteRarity is greater for bytes that occur less often.
func byteRarity(c byte) int {
	if i := strings.IndexByte(byFrequency, c); i >= 0 {
		return i
	}
	return len(byFrequency)
}

// needle is one literal. It is found by its rarest byte: looking for a single byte is what a processor does fastest, and the fewer
// places it stops at, the better. Bytes.Index goes by the first byte instead, and byte after byte if that is frequent.
type needle struct {
	text []byte
	fold bool
	rare int // offset of the rarest byte
	next int // offset of the rarest but that one, which is checked first
	// That byte in both cases; the same where there is one.
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

// cases is the byte at an offset in both cases, which are the same if only one fits.
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

// at reports whether the needle is at the start of a text.
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

// needles are a matcher's literals, made ready to be looked for together.
type needles struct {
	all    []needle
	groups []group // those with one rarest byte
}

// group is the needles with one rarest byte.
type group struct {
	a, b    byte // the byte in both cases; the same where there is one
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
	return ns
}

// finder looks for needles in one text, from the front to the back.
type finder struct {
	*needles
	text    []byte
	cursors []cursor
}

// cursor is how far a group was looked for. What is there at or after the last position asked for; len(text) for nowhere.
type cursor struct {
	found int // a needle's rarest byte
	atA   int // the byte in the one case
	atB   int // and in the other
}

// reset begins with a new text.
func (f *finder) reset(ns *needles, text []byte) {
	f.needles, f.text, f.cursors = ns, text, f.cursors[:0]
	for range ns.groups {
		f.cursors = append(f.cursors, cursor{-1, -1, -1})
	}
}

// find is a place in the first line at or after pos that has a needle, or -1: in the first line, but not always in the first needle
// of it. Pos may be anywhere at first, and then only at the starts of lines.
func (f *finder) find(pos int) int {
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

// seek looks for a group from pos on.
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
			// Most places are none, which one more byte says.
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

// indexFrom is where a byte is at or after an offset, or the text's length.
func indexFrom(text []byte, from int, b byte) int {
	if i := bytes.IndexByte(text[from:], b); i >= 0 {
		return from + i
	}
	return len(text)
}

// longS and kelvin are the two characters outside of ASCII that are an ASCII letter, s and k, in another case.
const longS, kelvin = "\u017f", "\u212a"

// foldOddly reports whether a text has a character that is one of the needles' letters in another case, but not one byte. Such a
// text cannot be looked through byte by byte.
func (ns *needles) foldOddly(text []byte) bool {
	return ns.foldsLetter('s') && bytes.Contains(text, []byte(longS)) || ns.foldsLetter('k') && bytes.Contains(text, []byte(kelvin))
}

func (ns *needles) foldsLetter(c byte) bool {
	return slices.ContainsFunc(ns.all, func(n needle) bool { return n.fold && bytes.IndexByte(n.text, c) >= 0 })
}
