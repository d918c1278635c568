package refdocs

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/internal/settings"
)

// docs/reference/environment.md has each variable that the code names, and no other one. Those of
// settings are in docs/configuration.md.
func TestQ4_Environment(t *testing.T) {
	var documented []string
	for row := range strings.Lines(read(t, "docs/reference/environment.md")) {
		if cells := strings.Split(row, "|"); len(cells) > 2 {
			for _, m := range regexp.MustCompile("`([A-Z][A-Z0-9_]+)`").FindAllStringSubmatch(cells[1], -1) {
				documented = append(documented, m[1])
			}
		}
	}
	var chosen []string
	for _, s := range settings.All() {
		chosen = append(chosen, s.Variable())
	}
	variables := source(t).Variables()
	for _, name := range variables {
		if !slices.Contains(documented, name) && !slices.Contains(chosen, name) {
			t.Errorf("environment.md does not describe %s", name)
		}
	}
	for _, name := range documented {
		if !slices.Contains(variables, name) {
			t.Errorf("environment.md describes %s, which the code does not name", name)
		}
	}
}
