package render

import (
	"encoding/json"
	"fmt"
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
	names := make([]string, 0, len(schema.Properties))
	for name := range schema.Properties {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { // the required ones first, in their order
		ra, rb := slices.Index(schema.Required, a), slices.Index(schema.Required, b)
		if (ra < 0) != (rb < 0) {
			return rb - ra
		}
		if ra != rb {
			return ra - rb
		}
		return strings.Compare(a, b)
	})
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
