package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// MaxTime is how long a search takes at most. Other programs of this kind end theirs after 20
	// to 60 s.
	MaxTime = 30 * time.Second
	// maxUninterrupted limits the bytes of a line times the instructions of an expression that are
	// matched without a look at the context: a second's work at most.
	maxUninterrupted = 1 << 26
	// runesBetween is after how many characters a longer match looks at the context.
	runesBetween = 256
)

// errTime is the cause of the end of a search that took too long.
var errTime = fmt.Errorf("the search took longer than %v: %w", MaxTime, context.DeadlineExceeded)

// limited returns a context that ends with errTime after [MaxTime].
func limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, MaxTime, errTime)
}

// outOfTime reports whether a context of limited has ended by itself.
func outOfTime(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errTime) }

// match reports whether the expression matches a line. It returns false once the search has ended.
func (s *scanner) match(line []byte) bool {
	switch {
	case s.ctx.Err() != nil:
		return false
	case s.quick(line):
		return s.re.Match(line)
	}
	return s.re.MatchReader(s.reader(line)) && s.ctx.Err() == nil
}

// matchStart returns the offset of the match in a line.
func (s *scanner) matchStart(line []byte) int {
	var at []int
	if s.quick(line) {
		at = s.re.FindIndex(line)
	} else {
		at = s.re.FindReaderIndex(s.reader(line))
	}
	if at == nil {
		return 0
	}
	return at[0]
}

func (s *scanner) quick(line []byte) bool {
	return len(line)*len(s.programs[0].Inst) <= maxUninterrupted
}

func (s *scanner) reader(line []byte) *endingReader {
	return &endingReader{Reader: bytes.NewReader(line), ctx: s.ctx}
}

// endingReader reads a line until a context ends.
type endingReader struct {
	*bytes.Reader
	ctx  context.Context
	read int // runes
}

func (r *endingReader) ReadRune() (rune, int, error) {
	if r.read++; r.read%runesBetween == 0 && r.ctx.Err() != nil {
		return 0, 0, context.Cause(r.ctx)
	}
	return r.Reader.ReadRune()
}
