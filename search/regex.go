package search

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/attractor-go/attractor/internal/regex"
)

// badPattern returns the error of a regular expression: the reason, the position in bytes as that
// of a character, the rest of the pattern from there, and a sentence that says what to do about it.
func badPattern(pattern string, offset int, reason, advice string) error {
	at := utf8.RuneCountInString(pattern[:offset]) + 1
	here := strings.ReplaceAll(pattern[offset:], "\n", `\n`)
	return fmt.Errorf("the regular expression is not valid: %s, at character %d, here: %s. %s", reason, at, here,
		advice)
}

// What to do about a pattern that cannot be used.
const (
	adviseEscape  = `To find characters such as ( [ { . * + ? | ^ $ \ as they are, put a \ before each`
	adviseLine    = "Search for the one of the lines that is rarest, with lines of context around it"
	adviseWithout = "Search for less than that, and choose from what is found"
)

// matcher finds the lines that a pattern matches.
type matcher struct {
	re *regexp.Regexp
	// literals are searched for before the expression is tried, because that is a hundred times as
	// fast.
	grams *grams // nil if there are none that can be searched for
	// programs holds the programs for a dfa: that of the expression, and a relaxed one for when the
	// first needs too many states, without which a search takes fifty times as long.
	programs [2]*syntax.Prog
	// keepCR reports whether the pattern names a carriage return, which otherwise belongs to the
	// line's end.
	keepCR bool
}

// compile compiles a pattern to match against single lines. It rejects patterns that name a
// newline.
func compile(pattern string, ignoreCase bool) (*matcher, error) {
	flags, prefix := syntax.Perl, ""
	if ignoreCase {
		flags, prefix = flags|syntax.FoldCase, "(?i)"
	}
	tree, err := regex.Parse(pattern, flags)
	if err != nil {
		return nil, patternError(pattern, err)
	}
	if mentions(tree, '\n') {
		at := max(0, strings.Index(pattern, "\n"), strings.Index(pattern, `\n`))
		return nil, badPattern(pattern, at,
			"lines are searched one by one, so a pattern cannot have a newline in it", adviseLine)
	}
	m := &matcher{grams: newGrams(requiredLiterals(tree)), keepCR: mentions(tree, '\r')}
	for i, tree := range []*syntax.Regexp{tree, relaxed(tree)} {
		if m.programs[i], err = syntax.Compile(tree.Simplify()); err != nil {
			return nil, patternError(pattern, err)
		}
	}
	if m.re, err = regexp.Compile(prefix + pattern); err != nil {
		return nil, patternError(pattern, err)
	}
	return m, nil
}

// relaxed returns an expression that matches wherever re does and possibly elsewhere. It needs
// fewer states, because it does not count repetitions.
func relaxed(re *syntax.Regexp) *syntax.Regexp {
	copied := *re
	copied.Sub = nil
	for _, sub := range re.Sub {
		copied.Sub = append(copied.Sub, relaxed(sub))
	}
	if re.Op == syntax.OpRepeat {
		copied.Op = syntax.OpStar
		if re.Min > 0 {
			copied.Op = syntax.OpPlus
		}
	}
	return &copied
}

// mentions reports whether an expression has a character outside of classes.
func mentions(re *syntax.Regexp, r rune) bool {
	if re.Op == syntax.OpLiteral && slices.Contains(re.Rune, r) {
		return true
	}
	return slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return mentions(sub, r) })
}

// patternError returns the error for one of the parser, or for a pattern that is too large.
func patternError(pattern string, err error) error {
	if errors.Is(err, regex.ErrTooLarge) {
		return fmt.Errorf("the regular expression cannot be used: %w", err)
	}
	var e *syntax.Error
	if !errors.As(err, &e) {
		return badPattern(pattern, 0, err.Error(), adviseEscape)
	}
	at := max(0, strings.Index(pattern, e.Expr))
	reason, advice := e.Code.String(), adviseEscape
	lookbehind := strings.HasPrefix(e.Expr, "(?<=") || strings.HasPrefix(e.Expr, "(?<!")
	switch {
	case lookbehind || e.Code == syntax.ErrInvalidPerlOp:
		reason, advice = "this group is not supported (there is no lookahead and no lookbehind)", adviseWithout
	case e.Code == syntax.ErrMissingParen:
		at, _ = unbalanced(pattern)
		reason = "this parenthesis is not closed"
	case e.Code == syntax.ErrUnexpectedParen:
		_, at = unbalanced(pattern)
		reason = "this parenthesis was not opened"
	case e.Code == syntax.ErrInvalidEscape:
		reason, advice = "this escape is not known (there are no backreferences)", `To find a \ itself, write \\`
	}
	return badPattern(pattern, at, reason, advice)
}

// unbalanced returns the offsets of the last parenthesis that is not closed and the first that was
// not opened, or 0. It skips escaped characters and classes.
func unbalanced(pattern string) (open, stray int) {
	var opened []int
	class := -1
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == '\\':
			i++
		case class >= 0:
			if c == ']' && i > class+1 {
				class = -1
			}
		case c == '[':
			class = i
			if strings.HasPrefix(pattern[i+1:], "^") {
				class++
			}
		case c == '(':
			opened = append(opened, i)
		case c == ')' && len(opened) == 0:
			return 0, i
		case c == ')':
			opened = opened[:len(opened)-1]
		}
	}
	if len(opened) == 0 {
		return 0, 0
	}
	return opened[len(opened)-1], 0
}
