package oracle

import (
	"path"
	"slices"

	"github.com/attractor-go/attractor/llm/llmtest"
)

// peculiarity is a difference that is right. It must be there: one that nothing shows any more is an error.
type peculiarity struct {
	name   string // a pattern of the recordings' names
	format string
	fields []string
	reason string
	used   int
}

var peculiarities = []*peculiarity{}

func explained(r llmtest.Recording, format, field string) *peculiarity {
	for _, p := range peculiarities {
		if ok, _ := path.Match(p.name, r.Name); ok && p.format == format && slices.Contains(p.fields, field) {
			return p
		}
	}
	return nil
}
