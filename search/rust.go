package search

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// anyByte is a byte that may be no part of a character. Go's expressions take one for U+FFFD, Rust's do not.
const anyByte = `(?-u:[\x80-\xFF])`

var errNoRust = errors.New("the pattern cannot be written for ripgrep")

// rustPattern writes a query's pattern in the syntax of Rust's regex crate, so that it matches, as a search of whole lines, in
// every file in which the engine finds a line, and in every file with a NUL byte. It may match in others. Characters are given
// by their numbers and classes by their members, so that it does not matter what \w, \d and "the same letter" mean there.
func rustPattern(q *Query) (string, error) {
	flags := syntax.Perl
	if q.IgnoreCase {
		flags |= syntax.FoldCase
	}
	tree, err := syntax.Parse(q.Pattern, flags)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(`(?-u:\x00)|(?:`)
	if err := writeRust(&b, tree); err != nil {
		return "", err
	}
	b.WriteString(")")
	return b.String(), nil
}

func writeRust(b *strings.Builder, re *syntax.Regexp) error {
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			writeClass(b, variants(r, re.Flags&syntax.FoldCase != 0))
		}
	case syntax.OpCharClass:
		if len(re.Rune) == 0 {
			return errNoRust
		}
		writeClass(b, re.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		writeClass(b, []rune{0, unicode.MaxRune})
	case syntax.OpBeginLine, syntax.OpBeginText: // a byte order mark is not part of the line for the engine
		b.WriteString(`(?:(?m:^)\x{FEFF}?)`)
	case syntax.OpEndLine, syntax.OpEndText: // nor is a carriage return at its end
		b.WriteString(`(?:\r?(?m:$))`)
	case syntax.OpWordBoundary:
		b.WriteString(`(?-u:\b)`)
	case syntax.OpNoWordBoundary:
		b.WriteString(`(?-u:\B)`)
	case syntax.OpEmptyMatch:
		b.WriteString(`(?:)`)
	case syntax.OpCapture:
		return writeGroup(b, re.Sub, "", "")
	case syntax.OpConcat:
		return writeGroup(b, re.Sub, "", "")
	case syntax.OpAlternate:
		return writeGroup(b, re.Sub, "|", "")
	case syntax.OpStar:
		return writeGroup(b, re.Sub, "", "*")
	case syntax.OpPlus:
		return writeGroup(b, re.Sub, "", "+")
	case syntax.OpQuest:
		return writeGroup(b, re.Sub, "", "?")
	case syntax.OpRepeat:
		count := fmt.Sprintf("{%d,%d}", re.Min, re.Max)
		if re.Max < 0 {
			count = fmt.Sprintf("{%d,}", re.Min)
		}
		return writeGroup(b, re.Sub, "", count)
	default:
		return errNoRust
	}
	return nil
}

func writeGroup(b *strings.Builder, parts []*syntax.Regexp, between, count string) error {
	b.WriteString("(?:")
	for i, sub := range parts {
		if i > 0 {
			b.WriteString(between)
		}
		if err := writeRust(b, sub); err != nil {
			return err
		}
	}
	b.WriteString(")" + count)
	return nil
}

// writeClass writes ranges of characters without the newline, which is in no line.
func writeClass(b *strings.Builder, ranges []rune) {
	invalid := false
	b.WriteString("(?:[")
	empty := true
	add := func(lo, hi rune) {
		if lo <= hi {
			empty = false
			fmt.Fprintf(b, `\x{%X}-\x{%X}`, lo, hi)
		}
	}
	for i := 0; i+1 < len(ranges); i += 2 {
		lo, hi := ranges[i], ranges[i+1]
		invalid = invalid || lo <= utf8.RuneError && utf8.RuneError <= hi
		if lo <= '\n' && '\n' <= hi {
			add(lo, '\n'-1)
			lo = '\n' + 1
		}
		add(lo, hi)
	}
	if empty { // the newline alone: the engine does not find it either
		b.WriteString(`\x{0}`)
	}
	b.WriteString("]")
	if invalid {
		b.WriteString("|" + anyByte)
	}
	b.WriteString(")")
}

// variants is a character, and with fold those that are the same but for case, as ranges in order.
func variants(r rune, fold bool) []rune {
	all := []rune{r}
	for f := unicode.SimpleFold(r); fold && f != r; f = unicode.SimpleFold(f) {
		all = append(all, f)
	}
	slices.Sort(all)
	var ranges []rune
	for _, r := range all {
		ranges = append(ranges, r, r)
	}
	return ranges
}
