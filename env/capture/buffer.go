package capture

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"
)

// DefaultKept is how many bytes a Buffer keeps of the beginning, and how many of the end, unless told otherwise.
const DefaultKept = 4 << 20

// Options say what a Buffer keeps. Sizes are in bytes; zero means DefaultKept, less than zero nothing.
type Options struct {
	Head, Tail int
	// Spill, when set, is given everything in arrival order, by one Write at a time. After its first error it is given
	// nothing more.
	Spill io.Writer
}

// Buffer collects the output of a command in bounded memory: its beginning, its end and exact counts, also of what it does not
// keep. Both streams are merged in the order of the writes. Memory grows with what is written, up to the sum of both sizes. Its
// methods may be called concurrently, also while the command runs; the zero value is ready to use with the default options.
type Buffer struct {
	mu       sync.Mutex
	opts     Options
	head     blocks
	tail     ring
	total    int64
	counts   [3]int64 // by stream
	spillErr error
}

// New makes a Buffer. Its Write is the Output of an env.Command.
func New(opts Options) *Buffer { return &Buffer{opts: opts} }

// kept translates a size option.
func kept(n int) int {
	if n == 0 {
		return DefaultKept
	}
	return max(n, 0)
}

// Write adds output of a stream, env.Stdout or env.Stderr. It keeps no reference to p.
func (c *Buffer) Write(stream int, p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if stream >= 0 && stream < len(c.counts) {
		c.counts[stream] += int64(len(p))
	}
	c.total += int64(len(p))
	if c.opts.Spill != nil && c.spillErr == nil {
		_, c.spillErr = c.opts.Spill.Write(p)
	}
	size := kept(c.opts.Head)
	if n := min(len(p), size-c.head.size); n > 0 {
		c.head.add(p[:n])
		p = p[n:]
		if c.head.size == size {
			c.tail.lost.add(cutEnd(c.head.appendTo(nil, max(size-utf8.UTFMax, 0), size)))
		}
	}
	c.tail.write(p, kept(c.opts.Tail))
}

// Bytes returns copies of the beginning and of the end. When nothing is omitted between them, put together they are everything.
// Otherwise the beginning ends and the end begins with a whole character: one that a cut went through is omitted.
func (c *Buffer) Bytes() (head, tail []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ends()
}

func (c *Buffer) ends() (head, tail []byte) {
	head = c.head.appendTo(make([]byte, 0, c.head.size), 0, c.head.size)
	tail = c.tail.appendTo(make([]byte, 0, c.tail.kept.size), 0, c.tail.kept.size)
	if c.dropped() > 0 {
		head, tail = head[:len(head)-len(cutEnd(head))], tail[len(cutStart(tail)):]
	}
	return head, tail
}

// Omission returns how much is missing between what Bytes returns, if nothing was written meanwhile: exactly that many bytes,
// characters and newlines. Characters are code points; a run of bytes that are not UTF-8 counts as one, since
// strings.ToValidUTF8 shows it as one U+FFFD. What is missing counts as a text of its own: a run that a cut went through is a
// character on both sides.
func (c *Buffer) Omission() (bytes, chars, lines int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.omission()
}

func (c *Buffer) omission() (bytes, chars, lines int64) {
	if c.dropped() == 0 {
		return 0, 0, 0
	}
	lost := c.tail.lost
	lost.add(cutStart(c.tail.appendTo(nil, 0, min(utf8.UTFMax, c.tail.kept.size))))
	return lost.bytes, lost.chars(), lost.lines
}

// Text returns what is kept as valid UTF-8, with a line that says how many bytes are omitted between beginning and end, if any
// are.
func (c *Buffer) Text() string {
	c.mu.Lock()
	head, tail := c.ends()
	omitted, _, _ := c.omission()
	c.mu.Unlock()
	if omitted == 0 {
		return strings.ToValidUTF8(string(append(head, tail...)), "\uFFFD")
	}
	return strings.ToValidUTF8(string(head), "\uFFFD") + fmt.Sprintf("\n[... %d bytes omitted ...]\n", omitted) +
		strings.ToValidUTF8(string(tail), "\uFFFD")
}

// cutEnd returns the beginning of a character at the end of which the rest is missing.
func cutEnd(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if end := b[len(b)-i:]; utf8.RuneStart(end[0]) {
			if !utf8.FullRune(end) {
				return end
			}
			break
		}
	}
	return nil
}

// cutStart returns what may be the rest of a character at the start.
func cutStart(b []byte) []byte {
	n := 0
	for n < min(len(b), utf8.UTFMax-1) && !utf8.RuneStart(b[n]) {
		n++
	}
	return b[:n]
}

// Since returns what came at and after an offset in bytes, how many bytes between the offset and p are lost, and the offset to
// go on from. It serves a reader that follows a running command; to read everything that is there, call it until it returns
// nothing, since beginning and end come separately when something between them is omitted.
func (c *Buffer) Since(offset int64) (p []byte, lost, next int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	offset = min(max(offset, 0), c.total)
	if size := int64(c.head.size); offset < size {
		p = c.head.appendTo(p, int(offset), c.head.size)
		offset = size
		if c.dropped() > 0 {
			return p, 0, offset
		}
	}
	start := c.total - int64(c.tail.kept.size)
	if offset < start {
		lost, offset = start-offset, start
	}
	return c.tail.appendTo(p, int(offset-start), c.tail.kept.size), lost, c.total
}

// Total returns how many bytes were written.
func (c *Buffer) Total() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total
}

// Count returns how many bytes a stream wrote.
func (c *Buffer) Count(stream int) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if stream < 0 || stream >= len(c.counts) {
		return 0
	}
	return c.counts[stream]
}

// dropped is how many bytes are neither in head nor in tail.
func (c *Buffer) dropped() int64 { return c.total - int64(c.head.size) - int64(c.tail.kept.size) }

// SpillErr returns the error that ended the writing to Options.Spill.
func (c *Buffer) SpillErr() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.spillErr
}
