package coding

import (
	"fmt"
	"unicode/utf8"

	"github.com/attractor-go/attractor/internal/texts"
)

// utf8Check finds out whether a content is UTF-8 while it is read.
type utf8Check struct {
	rest   []byte // the beginning of a character that the next piece ends
	broken bool   // it is not UTF-8
}

// write takes the next piece of the content.
func (c *utf8Check) write(p []byte) {
	for len(c.rest) > 0 && len(p) > 0 && !c.broken && !utf8.FullRune(c.rest) {
		c.rest, p = append(c.rest, p[0]), p[1:]
	}
	if c.broken || len(p) == 0 && !utf8.FullRune(c.rest) {
		return
	}
	whole := wholeRunes(p)
	c.broken = !utf8.Valid(c.rest) || !utf8.Valid(whole)
	c.rest = append(c.rest[:0], p[len(whole):]...)
}

// invalid reports whether the content, of which this was all, is not UTF-8.
func (c *utf8Check) invalid() bool { return c.broken || !utf8.Valid(c.rest) }

// notUTF8 returns the line about a file that is not UTF-8.
func (d Dialect) notUTF8(name string) string {
	return fmt.Sprintf(
		"[%s is not UTF-8: its other bytes are shown as \uFFFD. Only ASCII text can be put into it; for other text, convert it with "+
			"%s and `iconv` first.]",
		texts.Shown(name),
		d.word("shell"),
	)
}
