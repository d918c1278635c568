package search

import (
	"bytes"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// maxLiterals is how many alternatives are looked for one by one, each in a pass over the text. With more of them one pass with a
// dfa is faster.
const maxLiterals = 8

// literalSet is texts of which every match of an expression contains at least one. An empty set says nothing.
type literalSet struct {
	texts [][]byte
	// fold says that the texts are lower case ASCII, to be looked for in either case.
	fold bool
	// exact says that the texts are all that the expression matches.
	exact bool
}

func (s literalSet) empty() bool { return len(s.texts) == 0 }

// rarity compares sets: the longer the texts and the rarer their bytes, the fewer places there are to look at. The most frequent
// text counts.
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

// requiredLiterals finds the best set that it can.
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

// alternatives joins the sets of an alternation's branches, every one of which must have one.
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
	for i, t := range all.texts { // those of the case-sensitive branches are found in lower case, too
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
	if text == "" || strings.ContainsRune(text, utf8.RuneError) { // which also stands for bytes that are not UTF-8
		return literalSet{}
	}
	return literalSet{texts: [][]byte{[]byte(text)}, fold: fold, exact: len(text) == len(whole)}
}

// longestASCII is the longest run of ASCII characters: case folding is simple there and nowhere else.
func longestASCII(s string) string {
	best := ""
	for _, run := range strings.FieldsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) {
		if len(run) > len(best) {
			best = run
		}
	}
	return best
}
