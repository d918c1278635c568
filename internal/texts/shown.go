package texts

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/attractor-go/attractor/sanitize"
)

// Shown returns a file's name for results and errors. It returns a quoted Go string if the name has
// control characters, which could fake another line, invisible characters or invalid UTF-8, or if
// it begins with a quotation mark and so would look quoted.
func Shown(name string) string {
	plain := !strings.HasPrefix(name, `"`) && utf8.ValidString(name) &&
		!strings.ContainsFunc(name, func(r rune) bool { return !shows(r) })
	if plain {
		return name
	}
	return blanks(strconv.Quote(name))
}

// blanks returns a quoted string with escapes for the characters that look blank, which are
// printable for strconv.
func blanks(quoted string) string {
	var b strings.Builder
	for _, r := range quoted {
		switch {
		case !sanitize.Blank(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// shows reports whether a character is visible, or joins or selects characters of emoji and some
// scripts.
func shows(r rune) bool {
	return unicode.IsPrint(r) && !sanitize.Blank(r) || r == '\u200c' || r == '\u200d' ||
		unicode.Is(unicode.Variation_Selector, r) || unicode.Is(unicode.Zs, r)
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
