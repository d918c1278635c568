package texts

import (
	"fmt"
	"strings"
)

// Cut returns a text, or the most of it that has at most limit bytes, with a mark behind it.
func Cut(text string, limit int, mark string) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + mark
}

// Count returns a number and what it counts, in the plural if that is right.
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Or returns names with commas between them, and "or" before the last one.
func Or(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// SomeNames returns some of the names that a project has chosen, on one line.
func SomeNames(all []string) string {
	var shown []string
	for _, name := range all[:min(len(all), mostNames)] {
		shown = append(shown, Shown(Cut(name, maxName, "...")))
	}
	more := ""
	if n := len(all) - len(shown); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(shown, ", ") + more
}

// The limits of the names on a line, and of the bytes of a name.
const (
	mostNames = 10
	maxName   = 64
)
