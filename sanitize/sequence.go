package sanitize

import "unicode/utf8"

// state is a Cleaner's position within a sequence. The names are those of ECMA-48.
type state uint8

const (
	ground       state = iota // outside sequences
	escape                    // after ESC
	intermediate              // after ESC and an intermediate byte
	control                   // in the parameters of a CSI sequence
	controlEnd                // after its parameters
	command                   // in an OSC string, which BEL also ends
	data                      // in a DCS, APC, PM or SOS string
	commandEnd                // after ESC in a string, which ends it if a backslash follows
	dataEnd
)

// introduces returns the state that a character outside sequences begins, or ground if it begins
// none.
func introduces(r rune) state {
	switch r {
	case 0x1b:
		return escape
	case 0x9b:
		return control
	case 0x9d:
		return command
	case 0x90, 0x98, 0x9e, 0x9f:
		return data
	}
	return ground
}

// sequence processes a character within a sequence.
func (c *Cleaner) sequence(dst []byte, r rune, raw []byte) []byte {
	next, ok := c.state.next(r)
	switch {
	case ok && next == ground:
		c.state = ground
	case ok && len(c.seq)+len(raw) <= maxSequence:
		c.state, c.seq = next, append(c.seq, raw...)
	case c.state == commandEnd || c.state == dataEnd: // its ESC begins another sequence
		c.seq = c.seq[:len(c.seq)-1]
		dst = c.show(dst)
		c.state, c.seq = escape, append(c.seq, 0x1b)
		return c.sequence(dst, r, raw)
	default:
		dst = c.show(dst)
		return c.text(dst, r, raw)
	}
	return dst
}

// next returns the state after r, which is ground at the end of the sequence. It returns false if r
// does not belong to the sequence.
func (s state) next(r rune) (state, bool) {
	switch s {
	case escape:
		switch r {
		case '[':
			return control, true
		case ']':
			return command, true
		case 'P', 'X', '^', '_':
			return data, true
		}
		return afterIntermediate(r, intermediate, '0')
	case intermediate:
		return afterIntermediate(r, intermediate, '0')
	case control:
		if r >= '0' && r <= '?' {
			return control, true
		}
		return afterIntermediate(r, controlEnd, '@')
	case controlEnd:
		return afterIntermediate(r, controlEnd, '@')
	case command, data:
		return s.inString(r)
	}
	return ground, r == '\\' // commandEnd, dataEnd
}

// afterIntermediate returns the state after an intermediate byte, which is again, or after a final
// byte. first is the lowest final byte.
func afterIntermediate(r rune, again state, first rune) (state, bool) {
	if r >= ' ' && r <= '/' {
		return again, true
	}
	return ground, r >= first && r <= '~'
}

// inString returns the state after r in a string. A control character that does not end the string
// shows that there was none, or that it was cut off.
func (s state) inString(r rune) (state, bool) {
	switch {
	case r == 0x9c, r == '\a' && s == command:
		return ground, true
	case r == 0x1b:
		return s + commandEnd - command, true
	}
	return s, r == invalidByte || r >= ' ' && (r < 0x7f || r > 0x9f)
}

// show appends an invalid sequence as text. Its introducer is escaped; the rest has no control
// characters and stays as it is.
func (c *Cleaner) show(dst []byte) []byte {
	rest := c.seq
	c.state = ground
	for len(rest) > 0 {
		r, size := utf8.DecodeRune(rest)
		dst = c.character(dst, r, rest[:size])
		rest = rest[size:]
	}
	c.seq = c.seq[:0]
	return dst
}
