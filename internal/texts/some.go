package texts

import (
	"fmt"
	"strings"
)

// SomeNames returns some of the names that a project has chosen, on one line.
func SomeNames(all []string) string {
	var shown []string
	for _, name := range all[:min(len(all), mostNames)] {
		if len(name) > maxName {
			name = strings.ToValidUTF8(name[:maxName], "") + "..."
		}
		shown = append(shown, Shown(name))
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
