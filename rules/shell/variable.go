package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// harmlessVar reports whether no reading command takes more from a variable than the language, the time zone or the form of its output, if
// NamesFile reports false. Shells and programs have names in capitals for theirs; the others belong to the script.
func harmlessVar(name string) bool {
	switch name {
	case "LANG", "LANGUAGE", "TZ", "TERM", "NO_COLOR", "CLICOLOR", "FORCE_COLOR", "COLUMNS", "LINES", "CI":
		return true
	}
	return strings.HasPrefix(name, "LC_") || strings.ToLower(name) == name
}

// NamesFile reports whether a variable that chooses a language, a time zone or a terminal has a value that may name a file instead. Programs
// look for translations, locales, time zones and descriptions of terminals in files that are named after the value. One in the work tree
// could have any content, and translations are formats of printf.
func NamesFile(name, value string) bool {
	slash := false
	switch {
	case name == "TZ":
		slash = !strings.HasPrefix(value, "/") && !strings.Contains(value, "..") // Europe/Berlin
	case name == "LANG", name == "LANGUAGE", name == "TERM", strings.HasPrefix(name, "LC_"):
		if strings.Contains(value, "..") {
			return true
		}
	default:
		return false
	}
	for i := range len(value) {
		c := value[i]
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_.@+-,<>", c) >= 0
		if !plain && (c != ':' || i == 0) && (c != '/' || !slash) {
			return true
		}
	}
	return false
}

// namesFile returns why an assignment may make programs read another file, or "".
func namesFile(a *syntax.Assign) string {
	if a.Name == nil || a.Value == nil || !NamesFile(a.Name.Value, "//") { // only for the variables that can
		return ""
	}
	if value, ok := literal(a.Value.Parts); ok && !NamesFile(a.Name.Value, value) {
		return ""
	}
	return "the value of " + a.Name.Value + " may make programs read a file of the same name"
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
