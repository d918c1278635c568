package env

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"
)

// DefaultKept is how much a Capture keeps of the beginning, and how much of the end, unless told otherwise: together half of
// what requirement D5 allows for a command with any amount of output.
const DefaultKept = 4 << 20

// CaptureOptions say what a Capture keeps. Sizes are in bytes; zero means DefaultKept, less than zero nothing.
type CaptureOptions struct {
	Head, Tail int
	// Spill, when set, is given everything in arrival order, by one Write at a time. After its first error it is given
	// nothing more.
	Spill io.Writer
}

// Capture collects the output of a command in bounded memory: its beginning, its end and exact counts. Both streams are merged
// in the order of the writes. Memory grows with what is written, up to the sum of both sizes. Its methods may be called
// concurrently, also while the command runs; the zero value is ready to use with the default options.
type Capture struct {
	mu       sync.Mutex
	opts     CaptureOptions
	head     []byte
	tail     ring
	total    int64
	counts   [3]int64 // by stream
	spillErr error
}

// NewCapture makes a Capture. Its Write is a Command's Output.
func NewCapture(opts CaptureOptions) *Capture { return &Capture{opts: opts} }

// kept translates a size option.
func kept(n int) int {
	if n == 0 {
		return DefaultKept
	}
	return max(n, 0)
}

// Write adds output of a stream, Stdout or Stderr. It keeps no reference to p.
func (c *Capture) Write(stream int, p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if stream >= 0 && stream < len(c.counts) {
		c.counts[stream] += int64(len(p))
	}
	c.total += int64(len(p))
	if c.opts.Spill != nil && c.spillErr == nil {
		_, c.spillErr = c.opts.Spill.Write(p)
	}
	n := min(len(p), kept(c.opts.Head)-len(c.head))
	c.head = append(c.head, p[:n]...)
	c.tail.write(p[n:], kept(c.opts.Tail))
}

// Bytes returns copies of the beginning and of the end. Between them Omitted bytes are missing; when none are, head and tail
// put together are everything.
func (c *Capture) Bytes() (head, tail []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]byte(nil), c.head...), c.tail.appendTo(nil, 0)
}

// Text returns what is kept as valid UTF-8, with a line that says how many bytes are omitted between beginning and end, if any
// are. Characters that the cut went through count as omitted.
func (c *Capture) Text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	omitted := c.omitted()
	if omitted == 0 {
		return strings.ToValidUTF8(string(c.tail.appendTo(c.head[:len(c.head):len(c.head)], 0)), "\uFFFD")
	}
	head, tail := wholeEnd(c.head), wholeStart(c.tail.appendTo(nil, 0))
	omitted += int64(len(c.head)-len(head)) + int64(len(c.tail.buf)-len(tail))
	return strings.ToValidUTF8(string(head), "\uFFFD") + fmt.Sprintf("\n[... %d bytes omitted ...]\n", omitted) +
		strings.ToValidUTF8(string(tail), "\uFFFD")
}

// wholeEnd drops a character at the end of which only a part is there.
func wholeEnd(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if start := b[len(b)-i:]; utf8.RuneStart(start[0]) {
			if !utf8.FullRune(start) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

// wholeStart drops the rest of a character at the start. More of such bytes than a character has are none.
func wholeStart(b []byte) []byte {
	for i, c := range b {
		if i == utf8.UTFMax {
			return b
		}
		if utf8.RuneStart(c) {
			return b[i:]
		}
	}
	return nil
}

// Since returns what came at and after an offset in bytes, how many bytes between the offset and p are lost, and the offset to
// go on from. It serves a reader that follows a running command; to read everything that is there, call it until it returns
// nothing, since beginning and end come separately when something between them is omitted.
func (c *Capture) Since(offset int64) (p []byte, lost, next int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	offset = min(max(offset, 0), c.total)
	if offset < int64(len(c.head)) {
		p = append(p, c.head[offset:]...)
		offset = int64(len(c.head))
		if c.omitted() > 0 {
			return p, 0, offset
		}
	}
	start := c.total - int64(len(c.tail.buf))
	if offset < start {
		lost, offset = start-offset, start
	}
	return c.tail.appendTo(p, int(offset-start)), lost, c.total
}

// Total returns how many bytes were written.
func (c *Capture) Total() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total
}

// Count returns how many bytes a stream wrote.
func (c *Capture) Count(stream int) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if stream < 0 || stream >= len(c.counts) {
		return 0
	}
	return c.counts[stream]
}

// Omitted returns how many bytes are missing between beginning and end.
func (c *Capture) Omitted() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.omitted()
}

func (c *Capture) omitted() int64 { return c.total - int64(len(c.head)) - int64(len(c.tail.buf)) }

// SpillErr returns the error that ended the writing to CaptureOptions.Spill.
func (c *Capture) SpillErr() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spillErr
}
