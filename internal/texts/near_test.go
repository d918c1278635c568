package texts_test

import (
	"slices"
	"testing"

	"github.com/attractor-go/attractor/internal/texts"
)

func TestR9_Near(t *testing.T) {
	tools := []string{"read_file", "write_file", "Edit", "grep", "glob"}
	for name, want := range map[string][]string{
		"Read_File": {"read_file"},
		"readFile":  {"read_file"},
		"edit":      {"Edit"},
		"gerp":      nil,
		"grap":      {"grep"},
		"bash":      nil,
		"":          nil,
	} {
		if got := texts.Near(name, tools); !slices.Equal(got, want) {
			t.Errorf("%q is near %q, want %q", name, got, want)
		}
	}
}
