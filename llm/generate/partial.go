package generate

import (
	"strings"

	"github.com/attractor-go/attractor/llm"
)

// partials gathers the text of an object from the events of its answer.
type partials struct {
	object *object
	text   strings.Builder
	block  int // of the call that is the object; -1 when there is none
	due    int // the size of the text at which it is looked at next
	last   string
}

// add takes an event and returns the text so far, completed to JSON, when it is time for it and it makes some that is new.
func (p *partials) add(ev llm.StreamEvent) (string, bool) {
	switch {
	case ev.Type == llm.EventStart:
		p.text.Reset()
		p.block, p.due, p.last = -1, 0, ""
	case ev.Type == llm.EventCallStart && p.object.viaTool && ev.Name == p.object.name && p.block < 0:
		p.block = ev.Block
		p.text.Reset() // what was said before
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

// complete makes JSON of the beginning of JSON: everything that is certain, with strings and brackets closed. A name without
// its value and a number, true, false or null that may go on are left out. There is nothing to complete before the first
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
		b.WriteByte(c.open[i] + 2) // ']' and '}' follow two after their opening brackets
	}
	return b.String(), true
}

// completer reads JSON byte by byte. It accepts more than JSON; whoever decodes what it made finds that out.
type completer struct {
	open []byte // the brackets around
	// keep is how much of the text is certain, and cut says that it ends inside of a string.
	keep int
	cut  bool

	state  state
	name   bool // the next string is a name, or this one is
	escape int  // in a string: the hexadecimal digits that are still to come, -1 right after a backslash
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

// inString takes a byte of a string. An escape is certain with the plain character after it: it may be one half of a pair.
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
