package names

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Shown returns a file's name as results and errors have it: as it is, or as a quoted Go string where it has control characters (a line
// break would look like another name, or like another line of the result), characters that do not show themselves, or bytes that are
// no UTF-8. A name that begins with a quotation mark is quoted too, so that what is quoted can be told from what is not.
func Shown(name string) string {
	plain := !strings.HasPrefix(name, `"`) && utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return !shows(r) })
	if plain {
		return name
	}
	return strconv.Quote(name)
}

// shows reports whether a character can be seen, or is one of those that emoji and some scripts are made with.
func shows(r rune) bool {
	return unicode.IsPrint(r) || r == '\u200c' || r == '\u200d' || unicode.Is(unicode.Variation_Selector, r) || unicode.Is(unicode.Zs, r)
}

// Error returns an error's text in which the name of its fs.PathError is as Shown has it.
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
