package names

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Shown returns a file's name for results and errors. It returns a quoted Go string if the name has control characters, which could
// fake another line, invisible characters or invalid UTF-8, or if it begins with a quotation mark and so would look quoted.
func Shown(name string) string {
	plain := !strings.HasPrefix(name, `"`) && utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return !shows(r) })
	if plain {
		return name
	}
	return strconv.Quote(name)
}

// shows reports whether a character is visible, or joins or selects characters of emoji and some scripts.
func shows(r rune) bool {
	return unicode.IsPrint(r) || r == '\u200c' || r == '\u200d' || unicode.Is(unicode.Variation_Selector, r) || unicode.Is(unicode.Zs, r)
}

// Error returns the text of an error with the path of its fs.PathError as Shown returns it.
func Error(err error) string {
	text := err.Error()
	var about *fs.PathError
	if errors.As(err, &about) {
		if shown := Shown(about.Path); shown != about.Path {
			return strings.ReplaceAll(text, about.Path, shown)
		}
	}
	return text
}
