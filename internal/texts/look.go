package texts

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Look returns the same text for all names that are equal to the eye: in one normal form, with the
// spaces and quotes of a keyboard.
func Look(name string) string {
	if !HasLook(name) {
		return name
	}
	return strings.Map(keyboard, norm.NFC.String(name))
}

// FoldedPath returns the same text for all names of a file that some file system takes for the same
// one: without case, in one normal form, and without the characters that some ignore.
func FoldedPath(name string) string {
	if isASCII(name) {
		return strings.ToLower(name)
	}
	var folded strings.Builder
	for _, r := range norm.NFD.String(name) {
		switch {
		case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r),
			unicode.Is(unicode.Variation_Selector, r):
		case r == 'ß', r == 'ẞ':
			folded.WriteString("ss")
		case r >= 'ﬀ' && r <= 'ﬆ':
			folded.WriteString([]string{"ff", "fi", "fl", "ffi", "ffl", "st", "st"}[r-'ﬀ'])
		default:
			least := r
			for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
				least = min(least, other)
			}
			folded.WriteRune(unicode.ToLower(least))
		}
	}
	return folded.String()
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// HasLook reports whether another name can be equal to this one to the eye. It is false for most
// names.
func HasLook(name string) bool {
	for i := range len(name) {
		if c := name[i]; c >= utf8.RuneSelf || c == ' ' || c == '\'' || c == '"' {
			return true
		}
	}
	return false
}

// keyboard returns the space or quote of a keyboard for one that looks like it.
func keyboard(r rune) rune {
	switch {
	case unicode.Is(unicode.Zs, r):
		return ' '
	case r >= 0x2018 && r <= 0x201B:
		return '\''
	case r >= 0x201C && r <= 0x201F:
		return '"'
	}
	return r
}
