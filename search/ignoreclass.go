package search

import "strings"

// parseClass adds the bytes of the bracket expression at the start of s to set. It returns the
// expression's length, and whether it is well-formed.
func parseClass(s string, set *byteSet) (n int, ok bool) {
	i := 1
	negated := i < len(s) && (s[i] == '!' || s[i] == '^')
	if negated {
		i++
	}
	for first := true; ; first = false {
		switch {
		case i >= len(s):
			return 0, false
		case s[i] == ']' && !first:
			if negated {
				set.invert()
			}
			return i + 1, true
		case strings.HasPrefix(s[i:], "[:"):
			name, _, found := strings.Cut(s[i+2:], ":]")
			if !found || !addNamedClass(set, name) {
				return 0, false
			}
			i += len(name) + 4
			continue
		}
		lo, next, ok := classByte(s, i)
		if !ok {
			return 0, false
		}
		hi := lo
		if next+1 < len(s) && s[next] == '-' && s[next+1] != ']' {
			if hi, next, ok = classByte(s, next+1); !ok {
				return 0, false
			}
		}
		set.addRange(lo, hi)
		i = next
	}
}

// classByte reads one byte of a class, which may follow a backslash.
func classByte(s string, i int) (c byte, next int, ok bool) {
	if s[i] == '\\' {
		i++
	}
	if i >= len(s) {
		return 0, 0, false
	}
	return s[i], i + 1, true
}

// addNamedClass adds the ASCII members of a POSIX class, and reports whether there is one of that
// name.
func addNamedClass(set *byteSet, name string) bool {
	ranges, ok := map[string]string{
		"alnum": "azAZ09", "alpha": "azAZ", "blank": "  \t\t", "cntrl": "\x00\x1f\x7f\x7f", "digit": "09",
		"graph": "!~",
		"lower": "az", "print": " ~", "punct": "!/:@[`{~", "space": "  \t\r", "upper": "AZ", "xdigit": "09afAF",
	}[name]
	for i := 0; i+1 < len(ranges); i += 2 {
		set.addRange(ranges[i], ranges[i+1])
	}
	return ok
}
