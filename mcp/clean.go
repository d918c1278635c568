package mcp

import (
	"strings"

	"github.com/attractor-go/attractor/sanitize"
)

// clean returns text of a server for people and models: without invisible characters, and at most
// max bytes of it.
func clean(text string, max int) string {
	cut := len(text) > max
	if cut {
		text = strings.ToValidUTF8(text[:max], "")
	}
	if text = strings.TrimSpace(sanitize.Text(text)); cut {
		text += " [...]"
	}
	return text
}
