package sanitize

import "unicode/utf8"

// Terminal makes what a program prints for a terminal fit for models and events, as [Cleaner] does for a stream. Text that
// needs no change is returned as it is, without an allocation.
func Terminal(text string) string {
	n := cleanLen(text, utf8.DecodeRuneInString)
	if n == len(text) {
		return text
	}
	var c Cleaner
	b := c.Append(make([]byte, 0, len(text)+len(text)/8), []byte(text))
	return string(c.Flush(b))
}

// Cleaner turns what a program prints for a terminal into text: nothing that acts on a terminal is left, and nothing is left out
// that somebody might want to read. Its zero value is ready; it is not for concurrent use.
//
//   - Sequences (ECMA-48: CSI, OSC, DCS, APC, PM, SOS and the other escape sequences, in their 7-bit form, as raw bytes 0x80 to
//     0x9f and as the characters U+0080 to U+009f) are removed, and so are BEL, SO and SI. One that is malformed, that is not
//     over after 8 KiB, or that the stream's end or a control character cuts, is shown, its beginning as \u{1b}.
//   - \r\n and any other run of \r are one \n: what a program overwrites stays.
//   - Overstrike as in manual pages is read as what it shows: X\bX and _\bX are X. Any other backspace is shown as \u{8}.
//   - What is left is treated as by [Text]: characters that do not show themselves are escaped, invalid UTF-8 replaced.
//
// How the stream is cut into pieces makes no difference to the text. What waits is at most a sequence, an incomplete character,
// an underscore or a backspace.
type Cleaner struct {
	state state
	seq   []byte // an open sequence as it came

	part  [utf8.UTFMax]byte // the beginning of a character
	parts int

	last    rune // the printed character before, 0 for none. An underscore waits here: it may be overstruck
	back    bool // a backspace after last waits for what it is overstruck with
	cr      bool // the newline before stands for \r, and one that follows is the same
	invalid bool // the replacement before stands for a run of bytes that goes on
}

// maxSequence is how long a sequence may get, in bytes, before it is taken for text. The longest that are common, pieces of images in
// kitty's protocol, have 4096 bytes of data.
const maxSequence = 8 << 10

// Append appends the text that p comes to. What is not complete waits for more.
func (c *Cleaner) Append(dst, p []byte) []byte {
	for len(p) > 0 {
		if c.parts > 0 {
			return c.rest(dst, p)
		}
		if c.state == ground && !c.back {
			if n := cleanLen(p, utf8.DecodeRune); n > 0 {
				dst = c.clean(dst, p[:n])
				p = p[n:]
				continue
			}
		}
		if !utf8.FullRune(p) {
			c.parts = copy(c.part[:], p)
			return dst
		}
		_, size := utf8.DecodeRune(p)
		dst = c.unit(dst, p[:size])
		p = p[size:]
	}
	return dst
}

// rest goes on with a character that began in an earlier piece.
func (c *Cleaner) rest(dst, p []byte) []byte {
	taken := 0
	for taken < len(p) && !utf8.FullRune(c.part[:c.parts]) {
		c.part[c.parts] = p[taken]
		c.parts++
		taken++
	}
	whole := c.part[:c.parts]
	if !utf8.FullRune(whole) {
		return dst
	}
	_, size := utf8.DecodeRune(whole)
	before, part := c.parts-taken, c.part
	c.parts = 0
	dst = c.unit(dst, part[:size])
	if size < before { // bytes of earlier pieces are still to be looked at
		dst = c.Append(dst, part[size:before])
		return c.Append(dst, p)
	}
	return c.Append(dst, p[size-before:])
}

// Flush appends what waits, at the end of the stream. The Cleaner is then as new.
func (c *Cleaner) Flush(dst []byte) []byte {
	part, n := c.part, c.parts
	c.parts = 0
	for i := range n {
		dst = c.unit(dst, part[i:i+1])
	}
	if c.state != ground {
		dst = c.show(dst)
	}
	dst = c.settle(dst)
	*c = Cleaner{seq: c.seq[:0]}
	return dst
}

// unit takes one character, or one byte that is part of none.
func (c *Cleaner) unit(dst, raw []byte) []byte {
	r, size := utf8.DecodeRune(raw)
	if r == utf8.RuneError && size == 1 {
		r = invalidByte
		if raw[0] < 0xa0 { // a control character in its 8-bit form
			r = rune(raw[0])
		}
	}
	if c.state == ground {
		return c.text(dst, r, raw)
	}
	return c.sequence(dst, r, raw)
}

// invalidByte stands for a byte that is no part of a character and no control character.
const invalidByte = -1

// text takes what is outside of sequences.
func (c *Cleaner) text(dst []byte, r rune, raw []byte) []byte {
	if start := introduces(r); start != ground {
		c.state, c.seq = start, append(c.seq[:0], raw...)
		return c.settle(dst)
	}
	switch r {
	case '\a', 0x0e, 0x0f: // BEL, SO, SI
		return dst
	case '\b':
		if c.last != 0 && !c.back {
			c.back = true
			return dst
		}
		return appendEscape(c.put(dst), r)
	case '\r', '\n':
		return c.newline(dst, r)
	}
	return c.character(dst, r, raw)
}

// newline makes one \n of a run of \r. The \n that may follow one is clean text.
func (c *Cleaner) newline(dst []byte, r rune) []byte {
	if c.cr {
		return dst
	}
	dst = append(c.put(dst), '\n')
	c.cr = r == '\r'
	return dst
}

// character takes a character that is no command.
func (c *Cleaner) character(dst []byte, r rune, raw []byte) []byte {
	switch {
	case len(raw) == 1 && raw[0] >= utf8.RuneSelf:
		return c.replace(dst)
	case hidden(r):
		return appendEscape(c.put(dst), r)
	case c.back && r == c.last:
		c.back = false
		return dst
	case c.back && c.last == '_':
		c.last, c.back = 0, false
	}
	dst = c.put(dst)
	if r == '_' {
		c.last = r
		return dst
	}
	if r != '\t' {
		c.last = r
	}
	return append(dst, raw...)
}

// replace takes a byte that is no part of a character: one replacement stands for a run of them.
func (c *Cleaner) replace(dst []byte) []byte {
	if c.invalid {
		return dst
	}
	dst = append(c.put(dst), replacement...)
	c.invalid = true
	return dst
}

// clean takes text that needs no change, except where it touches what came before.
func (c *Cleaner) clean(dst, p []byte) []byte {
	if c.cr && p[0] == '\n' {
		p = p[1:]
		c.cr = false
		if len(p) == 0 {
			return dst
		}
	}
	dst = c.put(dst)
	end := len(p)
	switch last, _ := utf8.DecodeLastRune(p); last {
	case '\n', '\t':
	case '_':
		c.last = last
		end--
	default:
		c.last = last
	}
	return append(dst, p[:end]...)
}

// put comes before anything that is appended: it appends what waited, and forgets what mattered to what might have followed.
func (c *Cleaner) put(dst []byte) []byte {
	c.cr, c.invalid = false, false
	return c.settle(dst)
}

// settle appends what waited for an overstrike that has not come.
func (c *Cleaner) settle(dst []byte) []byte {
	if c.last == '_' {
		dst = append(dst, '_')
	}
	if c.back {
		dst = appendEscape(dst, '\b')
	}
	c.last, c.back = 0, false
	return dst
}
