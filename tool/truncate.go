package tool

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/attractor-go/attractor/internal/encoded"
)

// Limit says how much of a tool's text the model sees. It counts kept text; the markers of a cut
// come on top. The zero value keeps [DefaultChars] of head and tail.
type Limit struct {
	// Chars is in Unicode code points. 0 means DefaultChars, and a negative value means no limit.
	// It is applied first.
	Chars int
	// Lines is applied second and keeps the first and the last half. 0 means no limit.
	Lines int
	Keep  Keep
	// Encoded keeps long values in base64 and hexadecimal. Otherwise only their beginning, length
	// and kind are seen, and what is counted is the text without the rest of them.
	Encoded bool
}

// Keep says which part of a long text is kept.
type Keep uint8

// The parts that a limit of characters can keep.
const (
	KeepHeadTail Keep = iota // the first and the last half
	KeepHead
	KeepTail
)

// DefaultChars is the default of [Limit.Chars], in code points.
const DefaultChars = 30_000

// defaultHint is used if a tool gives no hint.
const defaultHint = "Ask for a smaller part if you need more of it."

// Apply truncates text and says where and how much was removed. It reports whether anything is
// missing. Counts are exact: they are characters and lines of the text, including the gap, after
// encoded values were shortened.
func (l Limit) Apply(text string, gap Gap, hint string) (string, bool) {
	if hint == "" {
		hint = defaultHint
	}
	shortened := false
	if !l.Encoded && l.Chars >= 0 {
		text, gap, shortened = shorten(text, gap)
	}
	c := l.cutChars(text, gap)
	head, tail := c.head, c.tail
	marker := ""
	if c.chars > 0 {
		marker = fmt.Sprintf("[WARNING: Tool output was truncated. %d characters were removed %s. %s]", c.chars,
			c.where, hint)
	}
	if l.Lines > 0 {
		h, t := l.cutLines(&c, hint)
		head, tail = h, t
	}
	return joinParts(head, marker, tail), shortened || c.chars > 0 || head != c.head || tail != c.tail
}

// shorten shortens encoded values on both sides of a gap.
func shorten(text string, gap Gap) (string, Gap, bool) {
	if gap.Bytes == 0 {
		text, found := encoded.Shorten(text)
		return text, gap, found
	}
	head, first := encoded.Shorten(text[:gap.At])
	tail, second := encoded.Shorten(text[gap.At:])
	gap.At = len(head)
	return head + tail, gap, first || second
}

// cut holds the head and the tail of a text, and counts what was removed between them. A text that
// was not cut is all head.
type cut struct {
	head, tail string
	chars      int64 // removed between head and tail
	newlines   int64 // among the removed
	where      string
}

func (l Limit) cutChars(text string, gap Gap) cut {
	limit := l.Chars
	if limit == 0 {
		limit = DefaultChars
	}
	if gap.Bytes == 0 {
		gap = Gap{}
	}
	c := cut{head: text, chars: gap.Chars, newlines: gap.Lines, where: "from the middle"}
	if gap.Bytes > 0 {
		c.head, c.tail = text[:gap.At], text[gap.At:]
	}
	if limit < 0 || len(text) <= limit || utf8.RuneCountInString(text) <= limit {
		return c
	}
	keepHead, keepTail := limit/2, limit-limit/2
	switch l.Keep {
	case KeepHead:
		keepHead, keepTail, c.where = limit, 0, "from the end"
	case KeepTail:
		keepHead, keepTail, c.where = 0, limit, "from the beginning"
	}
	from, to := runeOffset(text, keepHead), runeOffsetFromEnd(text, keepTail)
	if gap.Bytes > 0 { // extend the cut to the gap, so that there is one marker
		from, to = min(from, gap.At), max(to, gap.At)
	}
	removed := text[from:to]
	c.chars += int64(utf8.RuneCountInString(removed))
	c.newlines += int64(strings.Count(removed, "\n"))
	c.head, c.tail = text[:from], text[to:]
	return c
}

// cutLines keeps the first and the last half of the remaining lines, around a marker that counts
// the missing original lines. The marker of removed characters stays between head and tail.
func (l Limit) cutLines(c *cut, hint string) (head, tail string) {
	headLines, tailLines := slices.Collect(strings.Lines(c.head)), slices.Collect(strings.Lines(c.tail))
	total := len(headLines) + len(tailLines)
	if total <= l.Lines {
		return c.head, c.tail
	}
	first, last := l.Lines/2, l.Lines-l.Lines/2
	omitted := int64(total - l.Lines)
	spans := first <= len(headLines) && last <= len(tailLines)
	if c.chars > 0 && spans {
		omitted = c.originalLinesBetween(len(tailLines), first, last)
		if omitted == 0 { // the extra line is the other part of one that is shown
			return c.head, c.tail
		}
	}
	marker := fmt.Sprintf("[... %d lines omitted ...]\n", omitted)
	if c.chars == 0 && hint != defaultHint { // otherwise the other marker says it
		marker += "[" + hint + "]\n"
	}
	switch {
	case first > len(headLines): // all of the head stays: cut within the tail
		first -= len(headLines)
		return c.head, strings.Join(tailLines[:first], "") + marker + strings.Join(tailLines[len(tailLines)-last:], "")
	case last > len(tailLines): // all of the tail stays: cut within the head
		last -= len(tailLines)
		return strings.Join(headLines[:first], "") + marker + strings.Join(headLines[len(headLines)-last:], ""), c.tail
	}
	return strings.Join(headLines[:first], ""), marker + strings.Join(tailLines[len(tailLines)-last:], "")
}

// originalLinesBetween counts the original lines that are not shown at all, given how many lines of
// the head and the tail are kept. The head's last line and the tail's first may be parts of lines,
// even of the same one.
func (c *cut) originalLinesBetween(tailLines, first, last int) int64 {
	tailStart := 1 + int64(strings.Count(c.head, "\n")) + c.newlines // the original number of the tail's first line
	lastShown := int64(first)
	firstShown := tailStart + int64(tailLines-last)
	return max(0, firstShown-lastShown-1)
}

// joinParts puts the marker on a line of its own between head and tail.
func joinParts(head, marker, tail string) string {
	if marker == "" {
		return head + tail
	}
	if head != "" && !strings.HasSuffix(head, "\n") {
		head += "\n"
	}
	if tail != "" {
		marker += "\n"
	}
	return head + marker + tail
}

// runeOffset returns the byte offset of the nth code point, or the length.
func runeOffset(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// runeOffsetFromEnd returns the byte offset of the last n code points.
func runeOffsetFromEnd(s string, n int) int {
	i := len(s)
	for ; n > 0 && i > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(s[:i])
		i -= size
	}
	return i
}
