package search

import (
	"strings"
	"unicode/utf8"
)

// keepInElements rewrites a valid glob pattern so that no class in it matches a slash. In
// doublestar, [!a] and ranges such as [+-9] do.
func keepInElements(pattern string) string {
	var b strings.Builder
	for rest := pattern; rest != ""; {
		i := strings.IndexAny(rest, `[\`)
		if i < 0 || i+1 == len(rest) {
			b.WriteString(rest)
			break
		}
		b.WriteString(rest[:i+1])
		escaped := rest[i] == '\\'
		if rest = rest[i+1:]; escaped {
			b.WriteByte(rest[0])
			rest = rest[1:]
			continue
		}
		rest = writeClass(&b, rest)
	}
	return b.String()
}

// writeClass writes the members of a class. Rest begins behind the bracket; writeClass returns what
// follows the members.
func writeClass(b *strings.Builder, rest string) string {
	if rest[0] == '!' || rest[0] == '^' {
		b.WriteString(rest[:1] + "/")
		rest = rest[1:]
	}
	before := b.Len()
	for rest != "" && rest[0] != ']' {
		var lo, hi rune
		lo, rest = classRune(rest)
		hi = lo
		if len(rest) > 1 && rest[0] == '-' && rest[1] != ']' {
			hi, rest = classRune(rest[1:])
		}
		if hi < lo { // doublestar matches the first character alone
			hi = lo
		}
		if lo <= '/' && '/' <= hi {
			writeRange(b, lo, '/'-1)
			lo = '/' + 1
		}
		writeRange(b, lo, hi)
	}
	if b.Len() == before {
		b.WriteByte(0) // the slash was the only member; no name has a NUL
	}
	return rest
}

// classRune reads a character of a class, which may follow a backslash.
func classRune(s string) (r rune, rest string) {
	if s[0] == '\\' && len(s) > 1 {
		s = s[1:]
	}
	r, n := utf8.DecodeRuneInString(s)
	return r, s[n:]
}

func writeRange(b *strings.Builder, lo, hi rune) {
	switch {
	case lo > hi:
	case lo == hi:
		b.WriteString(`\` + string(lo))
	default:
		b.WriteString(`\` + string(lo) + `-\` + string(hi))
	}
}
