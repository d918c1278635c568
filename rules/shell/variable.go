package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// harmlessVar reports whether no reading command takes more from a variable than the language, the time zone or the form of its output, if
// its value is not Strange. Shells and programs have names in capitals for theirs; the others belong to the script.
func harmlessVar(name string) bool {
	switch name {
	case "LANG", "LANGUAGE", "TZ", "TERM", "NO_COLOR", "CLICOLOR", "FORCE_COLOR", "COLUMNS", "LINES", "CI":
		return true
	}
	return strings.HasPrefix(name, "LC_") || strings.ToLower(name) == name
}

// Strange reports whether a variable that chooses a language, a time zone, a terminal or its size has a value that may do more. Programs look for
// translations, locales, time zones and descriptions of terminals in files that are named after the value. One in the work tree could have any
// content, and translations are formats of printf. Some shells calculate sizes, which may run commands.
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
	default:
		return false
	}
	return value[0] == ':' || strings.Contains(value, "..") || strings.ContainsFunc(value, func(c rune) bool {
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune(chars, c)
		return !plain && (c != '/' || !slash)
	})
}

// strange returns why the value of an assignment may do more than choose a language and the like, or "".
func strange(a *syntax.Assign) string {
	if a.Name == nil || a.Value == nil || !Strange(a.Name.Value, "//") { // only for the variables that can
		return ""
	}
	if value, ok := literal(a.Value.Parts); ok && !Strange(a.Name.Value, value) {
		return ""
	}
	return "the value of " + a.Name.Value + " may make programs read a file of that name, or run commands"
}

// literal returns the text of parts that are plain or quoted text.
func literal(parts []syntax.WordPart) (text string, ok bool) {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			text += p.Value
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			text += p.Value
		case *syntax.DblQuoted:
			inner, ok := literal(p.Parts)
			if !ok || p.Dollar {
				return "", false
			}
			text += inner
		default:
			return "", false
		}
	}
	return text, !strings.Contains(text, `\`)
}
