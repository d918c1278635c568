package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// otherBytes reports whether a text has bytes beyond ASCII.
func otherBytes(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r >= 0x80 })
}

// foreignLocale returns why characters beyond ASCII may be others in the locale of an environment,
// or "". Every variable counts, also one
// that another overrides, because a script may unset that.
func foreignLocale(vars []string) string {
	for _, entry := range vars {
		if name, value, _ := strings.Cut(entry, "="); OtherCharacters(name, value) {
			return "the script has characters beyond ASCII, whose bytes may be quotes and backslashes in the locale " +
				entry +
				": write it in ASCII, or set a locale of UTF-8"
		}
	}
	return ""
}

// OtherCharacters reports whether a variable chooses a locale whose characters are not those of
// UTF-8 or ASCII. The characters of GBK, Big5 and
// Shift-JIS contain bytes that are quotes and backslashes in ASCII, so that a shell may read a
// script otherwise than it looks.
func OtherCharacters(name, value string) bool {
	if !choosesCharacters(name) || slices.Contains([]string{"", "C", "POSIX"}, value) {
		return false
	}
	charset := value
	if _, after, ok := strings.Cut(value, "."); ok {
		charset, _, _ = strings.Cut(after, "@")
	}
	return !slices.Contains([]string{"utf-8", "utf8"}, strings.ToLower(charset))
}

// choosesCharacters reports whether a variable chooses the characters of a locale.
func choosesCharacters(name string) bool {
	return slices.Contains([]string{"LC_ALL", "LC_CTYPE", "LANG"}, name)
}

// locale notes a locale that the script sets in an assignment.
func (w *walker) locale(a *syntax.Assign) {
	if a.Name == nil || !choosesCharacters(a.Name.Value) {
		return
	}
	value := ""
	if a.Value != nil {
		text, ok := literal(a.Value.Parts)
		if value = text; !ok {
			value = "?"
		}
	}
	w.locales = append(w.locales, a.Name.Value+"="+value)
}
