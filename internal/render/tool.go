package render

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/llm"
)

// Tool returns the name and the description of a tool, and a line for each parameter.
func Tool(def llm.ToolDefinition) (string, error) {
	var schema struct {
		Properties map[string]struct {
			Type        any    `json:"type"`
			Description string `json:"description"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if len(def.Parameters) > 0 {
		if err := json.Unmarshal(def.Parameters, &schema); err != nil {
			return "", err
		}
	}
	rank := func(name string) int { // the required ones first, in their order
		if i := slices.Index(schema.Required, name); i >= 0 {
			return i
		}
		return len(schema.Required)
	}
	names := slices.Sorted(maps.Keys(schema.Properties))
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n    %s\n", def.Name, strings.ReplaceAll(strings.TrimSpace(def.Description), "\n", "\n    "))
	for _, name := range names {
		p := schema.Properties[name]
		optional := ""
		if !slices.Contains(schema.Required, name) {
			optional = ", optional"
		}
		fmt.Fprintf(&b, "      %s (%v%s): %s\n", name, p.Type, optional, p.Description)
	}
	return b.String(), nil
}
