package regex

import (
	"fmt"
	"io/fs"
	"regexp"
	"regexp/syntax"
)

const (
	// maxPattern is the most bytes of a pattern. Each may name a class of some kilobytes, such as
	// \pL, so this bounds what parsing takes, at 60 MB.
	maxPattern = 32 << 10
	// maxSize is the most bytes of an expression as it is compiled: 26,000 characters, or as many
	// steps. RE2 has 8 MB, and Rust's package 10 MB, but here a search holds several forms of it,
	// and parallel ones are usual.
	maxSize = 1 << 20

	instBytes, runeBytes = 40, 4 // of syntax.Inst, and of a bound of a class
)

// ErrTooLarge is returned for an expression that would take too much memory. It wraps
// fs.ErrInvalid.
var ErrTooLarge error = tooLarge{}

type tooLarge struct{}

func (tooLarge) Error() string {
	return fmt.Sprintf("it is too large: a pattern may have %d KiB, and take %d KiB when it is compiled. "+
		"Use smaller numbers in { }, or fewer alternatives at a time", maxPattern>>10, maxSize>>10)
}

func (tooLarge) Unwrap() error { return fs.ErrInvalid }

// Compile is regexp.Compile, except that it returns [ErrTooLarge] for what would be too large.
func Compile(pattern string) (*regexp.Regexp, error) {
	if _, err := Parse(pattern, syntax.Perl); err != nil {
		return nil, err
	}
	return regexp.Compile(pattern)
}

// Parse is syntax.Parse, except that it returns [ErrTooLarge] for what would be too large when it
// is compiled.
func Parse(pattern string, flags syntax.Flags) (*syntax.Regexp, error) {
	if len(pattern) > maxPattern {
		return nil, ErrTooLarge
	}
	re, err := syntax.Parse(pattern, flags)
	if err == nil && instructions(re)*instBytes+ranges(re)*runeBytes > maxSize {
		return nil, ErrTooLarge
	}
	return re, err
}

// instructions returns about how many instructions an expression compiles to. The parser bounds
// depth and repetitions, so that it cannot overflow.
func instructions(re *syntax.Regexp) int {
	n := 0
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpConcat:
		return n
	case syntax.OpCapture:
		return n + 2
	case syntax.OpAlternate:
		return n + len(re.Sub) - 1
	case syntax.OpRepeat: // what is optional needs one more
		return n*max(re.Min, re.Max, 1) + max(re.Max-re.Min, 1)
	}
	return n + 1
}

// ranges returns how many bounds the classes of an expression have. Copies share them.
func ranges(re *syntax.Regexp) int {
	n := 0
	if re.Op == syntax.OpCharClass {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += ranges(sub)
	}
	return n
}
