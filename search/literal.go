package search

import (
	"bytes"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

const (
	// maxLiterals limits the alternatives that are searched for. For more of them a pass with a dfa
	// is as fast.
	maxLiterals = 32
	// maxPasses limits the alternatives that are searched for one by one, each in a pass over the
	// text.
	maxPasses = 8
)

// literalSet holds texts. Every match of an expression contains at least one of them, unless the
// set is empty.
type literalSet struct {
	texts [][]byte
	fold  bool // the texts are lower case ASCII and match in either case
	exact bool // the expression matches nothing but the texts
}

func (s literalSet) empty() bool { return len(s.texts) == 0 }

// rarity returns a number that is greater for sets that occur less often: those with long texts of
// rare bytes. The most frequent text counts.
func (s literalSet) rarity() int {
	least := 0
	for i, t := range s.texts {
		sum := 0
		for _, c := range t {
			sum += 1 + byteRarity(c)
		}
		if i == 0 || sum < least {
			least = sum
		}
	}
	return least
}

// requiredLiterals returns the rarest set that it finds for an expression.
func requiredLiterals(re *syntax.Regexp) literalSet {
	switch re.Op {
	case syntax.OpLiteral:
		return literalOf(re)
	case syntax.OpCapture:
		return requiredLiterals(re.Sub[0])
	case syntax.OpPlus:
		return inexact(requiredLiterals(re.Sub[0]))
	case syntax.OpRepeat:
		if re.Min > 0 {
			return inexact(requiredLiterals(re.Sub[0]))
		}
	case syntax.OpConcat:
		var best literalSet
		for _, sub := range re.Sub {
			if s := requiredLiterals(sub); s.rarity() > best.rarity() {
				best = s
			}
		}
		return inexact(best)
	case syntax.OpAlternate:
		return alternatives(re.Sub)
	}
	return literalSet{}
}

func inexact(s literalSet) literalSet {
	s.exact = false
	return s
}

// alternatives returns the union of the branches' sets, or an empty set if one of them is empty.
func alternatives(branches []*syntax.Regexp) literalSet {
	all := literalSet{exact: true}
	folded := 0
	for _, b := range branches {
		s := requiredLiterals(b)
		if s.empty() || len(all.texts)+len(s.texts) > maxLiterals {
			return literalSet{}
		}
		all.texts = append(all.texts, s.texts...)
		all.exact = all.exact && s.exact
		if s.fold {
			folded++
		}
	}
	if folded == 0 {
		return all
	}
	all.fold = true
	all.exact = all.exact && folded == len(branches)
	for i, t := range all.texts { // the texts of case-sensitive branches are folded, too
		all.texts[i] = bytes.ToLower([]byte(longestASCII(string(t))))
		if len(all.texts[i]) == 0 {
			return literalSet{}
		}
	}
	return all
}

func literalOf(re *syntax.Regexp) literalSet {
	whole := string(re.Rune)
	text := whole
	fold := re.Flags&syntax.FoldCase != 0
	if fold {
		text = strings.ToLower(longestASCII(whole))
	}
	if text == "" || strings.ContainsRune(text, utf8.RuneError) { // RuneError also stands for invalid bytes
		return literalSet{}
	}
	return literalSet{texts: [][]byte{[]byte(text)}, fold: fold, exact: len(text) == len(whole)}
}

// longestASCII returns the longest run of ASCII characters, for which case folding is simple.
func longestASCII(s string) string {
	best := ""
	for _, run := range strings.FieldsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
		if len(run) > len(best) {
			best = run
		}
	}
	return best
}
