package capture

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// DefaultKept is the default number of bytes that a Buffer keeps of the beginning, and of the end.
const DefaultKept = 4 << 20

// Options configure a Buffer. Sizes are in bytes: zero means DefaultKept, and a negative size means
// nothing.
type Options struct {
	Head, Tail int
}

// Buffer keeps the output of a command in bounded memory: its beginning, its end, and exact counts
// of everything. It merges both streams in the order of the writes. Its memory grows with the
// output, up to the sum of both sizes. Its methods may be called concurrently, also while the
// command runs. The zero value is ready to use, with the default options.
type Buffer struct {
	mu     sync.Mutex
	opts   Options
	head   blocks
	tail   ring
	total  int64
	counts [3]int64 // by stream
}

// New returns an empty Buffer. Its Write method can be the Output of an env.Command.
func New(opts Options) *Buffer { return &Buffer{opts: opts} }

// kept returns the number of bytes that a size option means.
func kept(n int) int {
	if n == 0 {
		return DefaultKept
	}
	return max(n, 0)
}

// Write adds output of a stream, env.Stdout or env.Stderr. It does not retain p.
func (c *Buffer) Write(stream int, p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if stream >= 0 && stream < len(c.counts) {
		c.counts[stream] += int64(len(p))
	}
	c.total += int64(len(p))
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

// Bytes returns copies of the beginning and of the end. If nothing is omitted between them, they
// make up the whole output. Otherwise the beginning ends and the end begins with a whole character:
// a character that was cut is omitted.
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

// Omission returns how many bytes, characters and newlines are missing between the two parts that
// Bytes returns, provided that nothing was written in between. Characters are code points. A run of
// invalid UTF-8 counts as one, because strings.ToValidUTF8 replaces it by one U+FFFD. The missing
// text is counted by itself, so a run that was cut counts on both sides.
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

// Text returns what is kept as valid UTF-8. If bytes are omitted, a line between beginning and end
// says how many.
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

// cutEnd returns the incomplete character at the end of b.
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

// cutStart returns the bytes at the start of b that may be the rest of a character.
func cutStart(b []byte) []byte {
	n := 0
	for n < min(len(b), utf8.UTFMax-1) && !utf8.RuneStart(b[n]) {
		n++
	}
	return b[:n]
}

// Since returns the output from an offset in bytes, the number of lost bytes between the offset and
// p, and the next offset. A reader that follows a running command calls it until it returns
// nothing, because the beginning and the end come separately if something between them is omitted.
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

// TextSince returns the output from an offset in bytes. A line counts the bytes that are not kept.
func (c *Buffer) TextSince(offset int64) string {
	head, lost, next := c.Since(offset)
	if lost > 0 {
		return around(nil, lost, head)
	}
	tail, lost, _ := c.Since(next)
	if lost == 0 {
		return string(head) + string(tail)
	}
	return around(head, lost, tail)
}

// around joins head and tail by a line that counts the missing bytes. Characters that were cut
// through are counted as missing.
func around(head []byte, lost int64, tail []byte) string {
	begin, end := cutEnd(head), cutStart(tail)
	return fmt.Sprintf("%s\n[... %d bytes left out ...]\n%s", head[:len(head)-len(begin)],
		lost+int64(len(begin)+len(end)), tail[len(end):])
}

// Total returns how many bytes were written.
func (c *Buffer) Total() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total
}

// Count returns how many bytes were written to a stream.
func (c *Buffer) Count(stream int) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if stream < 0 || stream >= len(c.counts) {
		return 0
	}
	return c.counts[stream]
}

// dropped returns how many bytes are neither in head nor in tail.
func (c *Buffer) dropped() int64 { return c.total - int64(c.head.size) - int64(c.tail.kept.size) }
