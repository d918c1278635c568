package lsp

import (
	"strings"

	"github.com/attractor-go/attractor/sanitize"
)

// clean returns text of a server on one line, without invisible characters, and at most about max
// bytes of it.
func clean(text string, max int) string {
	cut := len(text) > max
	if cut {
		text = text[:max]
	}
	text = sanitize.Text(strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " "))
	if cut {
		text += " [...]"
	}
	return text
}
