package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/attractor-go/attractor/internal/script"
)

// otherBytes reports whether a text has bytes beyond ASCII.
func otherBytes(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r >= 0x80 })
}

// foreignLocale returns why characters beyond ASCII may be others in the locale of an environment,
// or "". The characters of GBK, Big5 and Shift-JIS contain bytes that are quotes and backslashes in
// ASCII, so that a shell may read a script otherwise than it looks. Every variable counts, also one
// that another overrides, because a script may unset that.
func foreignLocale(vars []string) string {
	for _, entry := range vars {
		if name, value, _ := strings.Cut(entry, "="); otherCharacters(name, value) {
			return "the script has characters beyond ASCII, whose bytes may be quotes and backslashes in the locale " +
				entry + ": write it in ASCII, or set a locale of UTF-8"
		}
	}
	return ""
}

// otherCharacters reports whether a variable chooses a locale whose characters are not those of
// UTF-8 or ASCII.
func otherCharacters(name, value string) bool {
	if !slices.Contains([]string{"LC_ALL", "LC_CTYPE", "LANG"}, name) || slices.Contains([]string{"", "C", "POSIX"},
		value) {
		return false
	}
	if _, charset, ok := strings.Cut(value, "."); ok {
		value, _, _ = strings.Cut(charset, "@")
	}
	return !slices.Contains([]string{"utf-8", "utf8"}, strings.ToLower(value))
}

// harmlessVar reports whether no reading command takes more from a variable than the language, the
// time zone or the form of its output, if its value is not Strange. Shells and programs have names
// in capitals for theirs; the others belong to the script.
func harmlessVar(name string) bool {
	switch name {
	case "LANG", "LANGUAGE", "TZ", "TERM", "NO_COLOR", "CLICOLOR", "FORCE_COLOR", "COLUMNS", "LINES", "CI":
		return true
	}
	return strings.HasPrefix(name, "LC_") || strings.ToLower(name) == name
}

// Strange reports whether a variable that chooses a language, a time zone, a terminal or its size
// has a value that may do more. Programs look for translations, locales, time zones and
// descriptions of terminals in files that are named after the value. One in the work tree could
// have any content, and translations are formats of printf. Some shells calculate sizes, which may
// run commands. A locale with other characters than those of UTF-8 and ASCII is strange as well.
func Strange(name, value string) bool {
	chars, slash := "_.@+-,<>:", false
	switch {
	case value == "":
		return false
	case name == "COLUMNS", name == "LINES":
		return strings.Trim(value, "0123456789") != ""
	case name == "TZ":
		slash = value[0] != '/' // Europe/Berlin
	case name == "LANG", name == "LANGUAGE", name == "TERM", strings.HasPrefix(name, "LC_"):
		if otherCharacters(name, value) {
			return true
		}
	default:
		return false
	}
	return value[0] == ':' || strings.Contains(value, "..") || strings.ContainsFunc(value, func(c rune) bool {
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune(chars, c)
		return !plain && (c != '/' || !slash)
	})
}

// strange returns why the value of an assignment may do more than choose a language and the like,
// or "".
func strange(a *syntax.Assign) string {
	if a.Name == nil || a.Value == nil || !Strange(a.Name.Value, "//") { // only for the variables that can
		return ""
	}
	value := script.ReadWord(a.Value, "")
	if value.Unclear == "" && !value.Number && !Strange(a.Name.Value, value.Text) {
		return ""
	}
	return "the value of " + a.Name.Value + " may make programs read a file of that name, or run commands"
}

// tellsNothing reports whether an assignment in front of a command has a value with which the
// variable makes no program do more than the command says.
func tellsNothing(a *syntax.Assign) bool {
	if a.Name.Value != "GOFLAGS" || a.Value == nil || a.Append {
		return false
	}
	value := script.ReadWord(a.Value, "")
	return value.Unclear == "" && !value.Number && plainGoFlags(value.Text)
}
