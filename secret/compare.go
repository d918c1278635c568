package secret

import (
	"strings"
	"unicode/utf8"
)

// enough is how many bytes of the beginning of a longer pattern are taken for it. So a value that
// was cut off is found, and comparing it again and again, where it repeats itself, takes time in
// proportion to the text. It is less than tools show of a value that they shorten.
const enough = 96

// wrapAt is the least length of a pattern that programs may divide into lines, as base64 and xxd
// do.
const wrapAt = 56

// cursor holds how far a text and a pattern were compared: the offsets behind what is the same.
type cursor struct{ at, pos int }

// extent holds the text that was last found to be like a long pattern: a place in it that is not
// behind the next candidate, and its end.
type extent struct{ from, end cursor }

// extentOf identifies the pattern of an extent and the escapes that were undone.
type extentOf struct {
	p *pattern
	layer
}

// plain looks for the patterns that begin at an offset of the text without escapes. It is one at
// which pairs has the text.
func (s *scanner) plain(at int) {
	rest := s.text[at:]
	if len(rest) <= 2 { // the caller has compared that much
		s.wait(at)
		return
	}
	from, to := s.beginning(rest)
	if len(rest) < 4 {
		if to > from {
			s.wait(at)
		}
		return
	}
	for i := from; i < to; i++ {
		if p := &s.patterns[i]; len(rest) < span || rest[:span] == p.text[:span] {
			s.match(p, layer{}, at)
		}
	}
}

// match compares a pattern with the text at an offset, whose escapes it undoes, and adds a region
// if it is there.
func (s *scanner) match(p *pattern, l layer, at int) {
	end, more := s.compare(p, l, at)
	if end >= 0 {
		s.found(region{at, end, p.name})
	}
	if more {
		s.wait(at)
	}
}

// compare returns the offset behind the pattern, or behind enough of it, and -1 if it is not there.
// more reports that the text ends before all is known.
func (s *scanner) compare(p *pattern, l layer, at int) (end int, more bool) {
	c, more := s.begin(p, l, at)
	if c.pos < min(len(p.text), enough) {
		return -1, more
	}
	if len(p.text) > enough {
		c, more = s.advance(p, l, c, len(p.text), len(s.text))
		if s.extents == nil {
			s.extents = map[extentOf]*extent{}
		}
		s.extents[extentOf{p, l}] = &extent{cursor{at, 0}, c}
		if c.pos < len(p.text) {
			return c.at, more
		}
	}
	return s.tail(p, l, c.at)
}

// begin compares the beginning of a pattern with the text at an offset. If that is inside of what
// was last found to be like the pattern, the text up to there is not compared again.
func (s *scanner) begin(p *pattern, l layer, at int) (c cursor, more bool) {
	last := s.extents[extentOf{p, l}]
	if last != nil && at < last.end.at {
		last.from, _ = s.advance(p, l, last.from, len(p.text), at)
		if last.from.at == at && last.end.pos-last.from.pos >= enough {
			if !strings.HasPrefix(p.text[last.from.pos:], p.text[:enough]) {
				return cursor{at, 0}, false
			}
			return cursor{last.end.at, last.end.pos - last.from.pos}, false
		}
	}
	c, more = s.advance(p, l, cursor{at, 0}, min(len(p.text), enough), len(s.text))
	if last != nil && c.pos >= enough && c.at < last.end.at {
		if same, _ := s.advance(p, l, last.from, len(p.text), c.at); same.at == c.at && same.pos >= c.pos {
			c = cursor{last.end.at, last.end.pos - (same.pos - c.pos)}
		}
	}
	return c, more
}

// advance goes on from c as long as the text is like the pattern, up to an offset of the pattern or
// of the text. more reports that the text ended. The lines of a long text may be divided, but not
// within its beginning, by which the filter finds it.
func (s *scanner) advance(p *pattern, l layer, c cursor, pos, at int) (_ cursor, more bool) {
	divided := l == layer{} && len(p.text) >= wrapAt
	next := c.at
	for c.pos < pos && next < at {
		s.steps++
		u := l.next(s.text, next)
		n := 1
		switch {
		case u.end < 0:
			return c, true
		case u.isByte && (byte(u.code) == p.text[c.pos] || l.percent && u.code == '+' && p.text[c.pos] == ' '):
		case divided && c.pos >= p.solid && (u.code == '\n' || u.code == '\r'):
			next++
			continue
		case u.isByte:
			return c, false
		default:
			var char [utf8.UTFMax]byte
			n = utf8.EncodeRune(char[:], u.code)
			if !strings.HasPrefix(p.text[c.pos:], string(char[:n])) {
				return c, false
			}
		}
		next = u.end
		c = cursor{next, c.pos + n}
	}
	return c, c.pos < pos && next >= len(s.text)
}

// tail returns the offset behind the character of base64 that has the last bits of a pattern which
// ends at an offset.
func (s *scanner) tail(p *pattern, l layer, at int) (end int, more bool) {
	if p.tail.bits == 0 {
		return at, false
	}
	next := at
	for l == (layer{}) && len(p.text) >= wrapAt && next < len(s.text) &&
		(s.text[next] == '\n' || s.text[next] == '\r') {
		next++
	}
	u := l.next(s.text, next)
	switch {
	case u.end < 0:
		return at, true
	case u.isByte && p.tail.matches(byte(u.code)):
		return u.end, false
	}
	return at, false
}
