package generate

import (
	"strings"

	"github.com/attractor-go/attractor/llm"
)

// partials collects the text of an object from the events of a response.
type partials struct {
	object *object
	text   strings.Builder
	block  int // index of the call that is the object; -1 without one
	due    int // the size of the text at which the next value is due
	last   string
}

// add takes an event. If a value is due, it returns the text so far, completed to JSON.
func (p *partials) add(ev llm.StreamEvent) (string, bool) {
	switch {
	case ev.Type == llm.EventStart:
		p.text.Reset()
		p.block, p.due, p.last = -1, 0, ""
	case ev.Type == llm.EventCallStart && p.object.viaTool && ev.Name == p.object.name && p.block < 0:
		p.block = ev.Block
		p.text.Reset() // text before the call does not count
	case ev.Type == llm.EventCallDelta && ev.Block == p.block,
		ev.Type == llm.EventTextDelta && p.block < 0 && !p.object.viaTool:
		p.text.WriteString(ev.Delta)
		if p.text.Len() >= p.due {
			p.due = p.text.Len() + p.text.Len()/16 + 1
			text, ok := complete(p.text.String())
			if ok && text != p.last {
				p.last = text
				return text, true
			}
		}
	}
	return "", false
}

// complete turns the beginning of a JSON text into JSON, with everything that is certain and with strings and brackets closed. It
// leaves out a name without its value, and a number, true, false or null that may continue. It returns false before the first
// bracket.
func complete(text string) (string, bool) {
	c := completer{}
	for i := range len(text) {
		if !c.next(text[i], i) {
			return "", false
		}
	}
	if c.keep == 0 {
		return "", false
	}
	var b strings.Builder
	b.WriteString(text[:c.keep])
	if c.cut {
		b.WriteByte('"')
	}
	for i := len(c.open) - 1; i >= 0; i-- {
		b.WriteByte(c.open[i] + 2) // ']' and '}' come two after their opening brackets
	}
	return b.String(), true
}

// completer reads JSON byte by byte. It accepts more than JSON; decoding the result finds the rest.
type completer struct {
	open []byte // the open brackets
	// keep is the length of the text that is certain. cut reports that it ends inside a string.
	keep int
	cut  bool

	state  state
	name   bool // the current or next string is a name
	escape int  // in a string: how many hexadecimal digits are missing, or -1 after a backslash
}

type state uint8

const (
	between state = iota
	inString
	inWord // a number, true, false, null
)

func (c *completer) next(b byte, at int) bool {
	switch c.state {
	case inString:
		c.inString(b, at)
		return true
	case inWord:
		if isWord(b) {
			return true
		}
		c.state = between
		c.certain(at)
	}
	switch b {
	case '{', '[':
		c.open = append(c.open, b)
		c.name = b == '{'
		c.certain(at + 1)
	case '}', ']':
		if len(c.open) == 0 || c.open[len(c.open)-1]+2 != b {
			return false
		}
		c.open = c.open[:len(c.open)-1]
		c.name = false
		c.certain(at + 1)
	case ',':
		c.name = len(c.open) > 0 && c.open[len(c.open)-1] == '{'
	case ':':
		c.name = false
	case '"':
		c.state = inString
		if !c.name && len(c.open) > 0 {
			c.keep, c.cut = at+1, true
		}
	case ' ', '\t', '\r', '\n':
	default:
		if len(c.open) == 0 {
			return false
		}
		c.state = inWord
	}
	return true
}

func (c *completer) certain(keep int) { c.keep, c.cut = keep, false }

func isWord(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b == '+' || b == '-' || b == '.'
}

// inString takes a byte of a string. An escape is certain only with the character after it, because it may be half of a pair.
func (c *completer) inString(b byte, at int) {
	value := !c.name && len(c.open) > 0
	switch {
	case c.escape < 0:
		c.escape = 0
		if b == 'u' {
			c.escape = 4
		}
	case c.escape > 0:
		c.escape--
	case b == '\\':
		c.escape = -1
	case b == '"':
		c.state = between
		if value {
			c.certain(at + 1)
		}
	case value:
		c.keep, c.cut = at+1, true
	}
}
