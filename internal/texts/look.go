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
