package search

import (
	"bytes"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// maxLiterals is how many alternatives are looked for one by one; with more of them the expression itself is faster.
const maxLiterals = 8

// literalSet is texts of which every match of an expression contains at least one. An empty set says nothing.
type literalSet struct {
	texts [][]byte
	// fold says that the texts are lower case ASCII, to be looked for in lower case.
	fold bool
}

func (s literalSet) empty() bool { return len(s.texts) == 0 }

// shortest is the length of the shortest text: the longer, the rarer.
func (s literalSet) shortest() int {
	n := 0
	for i, t := range s.texts {
		if i == 0 || len(t) < n {
			n = len(t)
		}
	}
	return n
}

// requiredLiterals finds the best set that it can.
func requiredLiterals(re *syntax.Regexp) literalSet {
	switch re.Op {
	case syntax.OpLiteral:
		return literalOf(re)
	case syntax.OpCapture, syntax.OpPlus:
		return requiredLiterals(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return requiredLiterals(re.Sub[0])
		}
	case syntax.OpConcat:
		var best literalSet
		for _, sub := range re.Sub {
			if s := requiredLiterals(sub); s.shortest() > best.shortest() {
				best = s
			}
		}
		return best
	case syntax.OpAlternate:
		return alternatives(re.Sub)
	}
	return literalSet{}
}

// alternatives joins the sets of an alternation's branches, every one of which must have one.
func alternatives(branches []*syntax.Regexp) literalSet {
	var all literalSet
	for _, b := range branches {
		s := requiredLiterals(b)
		if s.empty() || len(all.texts)+len(s.texts) > maxLiterals {
			return literalSet{}
		}
		all.texts = append(all.texts, s.texts...)
		all.fold = all.fold || s.fold
	}
	if all.fold { // those of the case-sensitive branches are found in lower case, too
		for i, t := range all.texts {
			all.texts[i] = bytes.ToLower([]byte(longestASCII(string(t))))
			if len(all.texts[i]) == 0 {
				return literalSet{}
			}
		}
	}
	return all
}

func literalOf(re *syntax.Regexp) literalSet {
	text := string(re.Rune)
	fold := re.Flags&syntax.FoldCase != 0
	if fold {
		text = strings.ToLower(longestASCII(text))
	}
	if text == "" || strings.ContainsRune(text, utf8.RuneError) { // which also stands for bytes that are not UTF-8
		return literalSet{}
	}
	return literalSet{texts: [][]byte{[]byte(text)}, fold: fold}
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

// finder looks for a literalSet in one text, from the front to the back.
type finder struct {
	set  literalSet
	text []byte // in lower case if the set folds
	next []int  // for each literal, where it is found at or after the last position asked for; len(text) for nowhere
}

// reset begins with a new text.
func (f *finder) reset(set literalSet, text []byte) {
	f.set, f.text = set, text
	f.next = f.next[:0]
	for range set.texts {
		f.next = append(f.next, -1)
	}
}

// find is the first occurrence of any literal at or after pos, or -1.
func (f *finder) find(pos int) int {
	first := len(f.text)
	for i, literal := range f.set.texts {
		if f.next[i] < pos {
			f.next[i] = len(f.text)
			if at := bytes.Index(f.text[pos:], literal); at >= 0 {
				f.next[i] = pos + at
			}
		}
		first = min(first, f.next[i])
	}
	if first == len(f.text) {
		return -1
	}
	return first
}

// foldsOddly reports whether text has one of the two characters outside of ASCII that are an ASCII letter in another case: the
// long s and the Kelvin sign. Such a text cannot be looked through in lower case byte by byte.
func foldsOddly(text []byte) bool {
	return bytes.Contains(text, []byte("\u017f")) || bytes.Contains(text, []byte("\u212a"))
}

// appendLower appends text with ASCII letters in lower case. Unlike bytes.ToLower it changes no length.
func appendLower(dst, text []byte) []byte {
	for _, c := range text {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}
