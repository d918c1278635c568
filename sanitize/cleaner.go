package sanitize

import "unicode/utf8"

// Terminal returns what a program printed for a terminal as text for models, events and people. It
// does what [Cleaner] does for a stream. Text that needs no change is returned as it is, without an
// allocation.
func Terminal(text string) string {
	n := cleanLen(text, utf8.DecodeRuneInString)
	if n == len(text) {
		return text
	}
	var c Cleaner
	b := c.Append(make([]byte, 0, len(text)+len(text)/8), []byte(text))
	return string(c.Flush(b))
}

// Cleaner turns the stream that a program prints for a terminal into text. Nothing in the text acts
// on a terminal, and nothing is missing that somebody might want to read. The zero value is ready
// to use. It is not for concurrent use.
//
//   - Escape sequences are removed (ECMA-48: CSI, OSC, DCS, APC, PM, SOS and the others, in their
//     7-bit form, as raw bytes 0x80 to 0x9f and as the characters U+0080 to U+009f), and so are
//     BEL, SO and SI. A sequence is shown, with \u{1b} for its ESC, if it is malformed, longer than
//     8 KiB, or cut off by a control character or the end of the stream.
//   - \r\n and any other run of \r become one \n, so that text which a program overwrites is kept.
//   - Overstrike, as in manual pages, becomes what it shows: X\bX and _\bX become X. Any other
//     backspace becomes \u{8}.
//   - The rest is treated as [Text] does: characters that cannot be seen are escaped, and invalid
//     UTF-8 is replaced.
//
// The text does not depend on how the stream is cut into pieces. At most a sequence, an incomplete
// character, an underscore or a backspace waits for the next piece.
type Cleaner struct {
	state state
	seq   []byte // the bytes of an unfinished sequence

	part  [utf8.UTFMax]byte // an incomplete character
	parts int

	last    rune // the character printed last, 0 for none; an underscore waits here because it may be overstruck
	back    bool // a backspace came after last, and the overstriking character has not
	cr      bool // the last newline stands for \r, and a \n that follows belongs to it
	invalid bool // the last replacement stands for a run of bytes that may go on
}

// maxSequence limits the bytes of a sequence. A longer one is taken for text. The longest common
// ones, pieces of images in kitty's protocol, have 4096 bytes of data.
const maxSequence = 8 << 10

// Append cleans p and appends the resulting text to dst. An incomplete sequence or character waits
// for the next call.
func (c *Cleaner) Append(dst, p []byte) []byte {
	for len(p) > 0 {
		if c.parts > 0 {
			return c.completeCharacter(dst, p)
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

// completeCharacter completes a character that began in an earlier piece.
func (c *Cleaner) completeCharacter(dst, p []byte) []byte {
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
	if size < before { // some bytes of earlier pieces are left
		dst = c.Append(dst, part[size:before])
		return c.Append(dst, p)
	}
	return c.Append(dst, p[size-before:])
}

// Flush appends the pending text at the end of the stream and resets the Cleaner.
func (c *Cleaner) Flush(dst []byte) []byte {
	part, n := c.part, c.parts
	c.parts = 0
	for i := range n {
		dst = c.unit(dst, part[i:i+1])
	}
	if c.state != ground {
		dst = c.show(dst)
	}
	dst = c.appendPending(dst)
	*c = Cleaner{seq: c.seq[:0]}
	return dst
}

// unit processes one character, or one byte that belongs to no character.
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

// invalidByte stands for a byte that belongs to no character and is no control character.
const invalidByte = -1

// text processes a character outside sequences.
func (c *Cleaner) text(dst []byte, r rune, raw []byte) []byte {
	if start := introduces(r); start != ground {
		c.state, c.seq = start, append(c.seq[:0], raw...)
		return c.appendPending(dst)
	}
	switch r {
	case '\a', 0x0e, 0x0f: // BEL, SO, SI
		return dst
	case '\b':
		if c.last != 0 && !c.back {
			c.back = true
			return dst
		}
		return appendEscape(c.beginAppend(dst), r)
	case '\r', '\n':
		return c.newline(dst, r)
	}
	return c.character(dst, r, raw)
}

// newline appends one \n for a run of \r. The \n that may follow the run is dropped in clean.
func (c *Cleaner) newline(dst []byte, r rune) []byte {
	if c.cr {
		return dst
	}
	dst = append(c.beginAppend(dst), '\n')
	c.cr = r == '\r'
	return dst
}

// character processes a character that is no command.
func (c *Cleaner) character(dst []byte, r rune, raw []byte) []byte {
	switch {
	case len(raw) == 1 && raw[0] >= utf8.RuneSelf:
		return c.replace(dst)
	case hidden(r):
		return appendEscape(c.beginAppend(dst), r)
	case c.back && r == c.last:
		c.back = false
		return dst
	case c.back && c.last == '_':
		c.last, c.back = 0, false
	}
	dst = c.beginAppend(dst)
	if r == '_' {
		c.last = r
		return dst
	}
	if r != '\t' {
		c.last = r
	}
	return append(dst, raw...)
}

// replace processes an invalid byte. One replacement stands for a run of them.
func (c *Cleaner) replace(dst []byte) []byte {
	if c.invalid {
		return dst
	}
	dst = append(c.beginAppend(dst), replacement...)
	c.invalid = true
	return dst
}

// clean appends text that needs no change, except where it touches what came before.
func (c *Cleaner) clean(dst, p []byte) []byte {
	if c.cr && p[0] == '\n' {
		p = p[1:]
		c.cr = false
		if len(p) == 0 {
			return dst
		}
	}
	dst = c.beginAppend(dst)
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

// beginAppend settles pending text and clears the state that the next character could refer to. It
// precedes every append.
func (c *Cleaner) beginAppend(dst []byte) []byte {
	c.cr, c.invalid = false, false
	return c.appendPending(dst)
}

// appendPending appends a character that waited for an overstrike.
func (c *Cleaner) appendPending(dst []byte) []byte {
	if c.last == '_' {
		dst = append(dst, '_')
	}
	if c.back {
		dst = appendEscape(dst, '\b')
	}
	c.last, c.back = 0, false
	return dst
}
