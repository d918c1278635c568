package coding

import (
	"sync"
	"unicode/utf8"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/tool"
)

// output collects what a command prints: its beginning and end in an env.Capture, and counts of everything, from which follows
// exactly what is missing between them.
type output struct {
	capture env.Capture

	mu       sync.Mutex // a process that could not be killed may go on printing
	chars    int64      // bytes that begin a character
	newlines int64
}

func (o *output) write(stream int, p []byte) {
	o.capture.Write(stream, p)
	chars, newlines := tally(p)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.chars += chars
	o.newlines += newlines
}

// tally counts characters and newlines of a piece of text, which may begin and end within a character.
func tally(p []byte) (chars, newlines int64) {
	for _, c := range p {
		if utf8.RuneStart(c) {
			chars++
		}
		if c == '\n' {
			newlines++
		}
	}
	return chars, newlines
}

// result is the text that was kept, and a result whose Gap says what is missing from it.
func (o *output) result() (result tool.Result, text string) {
	head, tail := o.capture.Bytes()
	total := o.capture.Total()
	if int64(len(head)+len(tail)) == total {
		return result, string(head) + string(tail)
	}
	head, tail = wholeRunes(head), fromRune(tail)
	headChars, headLines := tally(head)
	tailChars, tailLines := tally(tail)
	o.mu.Lock()
	defer o.mu.Unlock()
	result.Gap = tool.Gap{
		At:    len(head),
		Bytes: total - int64(len(head)+len(tail)),
		Chars: o.chars - headChars - tailChars,
		Lines: o.newlines - headLines - tailLines,
	}
	return result, string(head) + string(tail)
}

// fromRune drops the rest of a character at the start.
func fromRune(b []byte) []byte {
	for i := 0; i < utf8.UTFMax && i < len(b); i++ {
		if utf8.RuneStart(b[i]) {
			return b[i:]
		}
	}
	return b
}
