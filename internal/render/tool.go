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
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n    %s\n", def.Name, strings.ReplaceAll(strings.TrimSpace(def.Description), "\n", "\n    "))
	for _, name := range members(schema.Properties, schema.Required) {
		p := schema.Properties[name]
		optional := ""
		if !slices.Contains(schema.Required, name) {
			optional = ", optional"
		}
		fmt.Fprintf(&b, "      %s (%v%s): %s\n", name, p.Type, optional, p.Description)
	}
	return b.String(), nil
}
