package search

import (
	"bytes"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxLiterals limits the alternatives that are searched for. For more of them a pass with a dfa is
// as fast.
const maxLiterals = 32

// literalSet holds texts. Every match of an expression contains at least one of them, unless the
// set is empty.
type literalSet struct {
	texts [][]byte
	fold  bool // the texts are lower case ASCII and match in either case
	exact bool // the expression matches nothing but the texts
}

func (s literalSet) empty() bool { return len(s.texts) == 0 }

// byFrequency holds the printable bytes of source code and prose, the most frequent first. They
// were counted in some hundred megabytes of C, Go, Python, Perl, JavaScript and documentation. The
// order affects nothing but speed.
const byFrequency = " etsnraio\nlcd_pfuhm,.()0g'/E\"=Sb\tyTA>:1xIC<" +
	"LNR-k2vOwP#*D3{}F456;98MB7[]U\\G$Hj`XVKqWYz&!+|%Q@J?Z~^"

// byteRarity returns a number that is greater for bytes that occur less often.
func byteRarity(c byte) int {
	if i := strings.IndexByte(byFrequency, c); i >= 0 {
		return i
	}
	return len(byFrequency)
}

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

// at reports whether a text begins with one of the set's texts.
func (s literalSet) at(text, literal []byte) bool {
	if len(text) < len(literal) {
		return false
	}
	if !s.fold {
		return bytes.Equal(text[:len(literal)], literal)
	}
	for i, c := range literal {
		if lower(text[i]) != c {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

func upper(c byte) byte {
	if 'a' <= c && c <= 'z' {
		c -= 'a' - 'A'
	}
	return c
}

// Two characters outside of ASCII are ASCII letters in another case: s and k.
const longS, kelvin = "\u017f", "\u212a"

// foldOddly reports whether a text has a character outside of ASCII that equals a letter of the set
// in another case. Such a text cannot be searched byte by byte.
func (s literalSet) foldOddly(text []byte) bool {
	return s.foldsLetter('s') && bytes.Contains(text, []byte(longS)) || s.foldsLetter('k') &&
		bytes.Contains(text, []byte(kelvin))
}

func (s literalSet) foldsLetter(c byte) bool {
	return s.fold && slices.ContainsFunc(s.texts, func(t []byte) bool { return bytes.IndexByte(t, c) >= 0 })
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
