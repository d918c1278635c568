package render

import "strings"

// emphasize pairs the delimiters above the one at the bottom, which is -1 for all of them, and removes them.
func (p *inlineParser) emphasize(bottom int) {
	// For each kind of closing run: below which delimiter no opening one has been found.
	var floor [3][2][3]int
	for i := range floor {
		for j := range floor[i] {
			floor[i][j] = [3]int{bottom, bottom, bottom}
		}
	}
	closer := p.first(bottom)
	for closer >= 0 {
		c := &p.delimiters[closer]
		if !c.close {
			closer = c.next
			continue
		}
		low := &floor[kindOf(c.char)][asInt(c.open)][c.length%3]
		opener := c.prev
		for opener > *low && opener > bottom && !pairs(&p.delimiters[opener], c) {
			opener = p.delimiters[opener].prev
		}
		if opener <= *low || opener <= bottom {
			*low = c.prev
			next := c.next
			if !c.open {
				p.remove(closer)
			}
			closer = next
			continue
		}
		closer = p.pair(opener, closer)
	}
	p.last = bottom
	if bottom >= 0 {
		p.delimiters[bottom].next = -1
	}
}

// first returns the first delimiter above another one.
func (p *inlineParser) first(bottom int) int {
	if bottom >= 0 {
		return p.delimiters[bottom].next
	}
	at := p.last
	for at >= 0 && p.delimiters[at].prev >= 0 {
		at = p.delimiters[at].prev
	}
	return at
}

func kindOf(c byte) int {
	switch c {
	case '*':
		return 0
	case '_':
		return 1
	}
	return 2
}

func asInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// pairs reports whether two runs can begin and end emphasis.
func pairs(opener, closer *delimiter) bool {
	if !opener.open || opener.char != closer.char {
		return false
	}
	if opener.char == '~' {
		return true
	}
	both := opener.close || closer.open
	return !both || (opener.length+closer.length)%3 != 0 || opener.length%3 == 0 && closer.length%3 == 0
}

// pair makes the text between two runs emphasized, and returns the run to look at next.
func (p *inlineParser) pair(opener, closer int) (next int) {
	o, c := &p.delimiters[opener], &p.delimiters[closer]
	n, kind := 1, 1 // emphasis
	if o.left >= 2 && c.left >= 2 {
		n, kind = 2, 0 // strong
	}
	if o.char == '~' {
		kind = 2
	}
	p.tokens[o.token].begins[kind]++
	p.tokens[c.token].ends[kind]++
	for at := c.prev; at != opener; at = p.delimiters[at].prev {
		p.remove(at)
	}
	for _, d := range []*delimiter{o, c} {
		d.left -= n
		p.tokens[d.token].text = p.tokens[d.token].text[n:]
	}
	if o.left == 0 {
		p.remove(opener)
	}
	if c.left == 0 {
		p.remove(closer)
		return c.next
	}
	return closer
}

// remove takes a delimiter out of the list. Its own links stay.
func (p *inlineParser) remove(at int) {
	d := &p.delimiters[at]
	if d.prev >= 0 {
		p.delimiters[d.prev].next = d.next
	}
	if d.next >= 0 {
		p.delimiters[d.next].prev = d.prev
	} else {
		p.last = d.prev
	}
}

// pieces returns the text with its looks.
func (p *inlineParser) pieces() []piece {
	var list []piece
	var depth [3]int32
	var links int32
	var text strings.Builder // of one look
	var now look
	bits := [...]look{strong, emphasis, struck}
	for _, t := range p.tokens {
		for kind, n := range t.ends {
			depth[kind] -= n
		}
		its := t.look
		for kind, bit := range bits {
			if depth[kind] > 0 {
				its |= bit
			}
		}
		for kind, n := range t.begins {
			depth[kind] += n
		}
		if links += t.links; links > 0 {
			its |= link
		}
		if t.text == "" {
			continue
		}
		if its != now && text.Len() > 0 {
			list = append(list, piece{text.String(), now})
			text.Reset()
		}
		now = its
		text.WriteString(t.text)
	}
	if text.Len() > 0 {
		list = append(list, piece{text.String(), now})
	}
	return list
}
