package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/tool"
)

// ModelQuestion returns what a person is told about a question of the model, or of the source that
// it names.
func ModelQuestion(q tool.Question) string {
	who := "The agent"
	if q.Source != "" {
		who = OneLine(q.Source)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s asks: %s\n", who, strings.ReplaceAll(sanitize.Text(q.Text), "\n", "\n  "))
	if q.Problem != "" {
		fmt.Fprintf(&b, "  The last answer does not fit: %s.\n", OneLine(q.Problem))
	}
	if q.Form == nil {
		for i, option := range q.Options {
			fmt.Fprintf(&b, "  %d. %s\n", i+1, OneLine(option))
		}
	}
	return sanitize.Blanks(b.String())
}

// Form holds the parts of a form's JSON Schema that a person needs.
type Form struct {
	Properties map[string]struct {
		Title, Description string
		Type               any
		Enum               []any
	}
	Required []string
}

// Names returns the names of the fields, the required ones first, in their order.
func (f *Form) Names() []string { return members(f.Properties, f.Required) }

// members returns the names of the members of a schema: the required ones in their order, and then
// the others, sorted.
func members[V any](properties map[string]V, required []string) []string {
	names := slices.Sorted(maps.Keys(properties))
	rank := func(name string) int {
		if i := slices.Index(required, name); i >= 0 {
			return i
		}
		return len(required)
	}
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	return names
}

// Label returns the prompt for a field.
func (f *Form) Label(name string) string {
	field := f.Properties[name]
	var more []string
	if field.Description != "" {
		more = append(more, field.Description)
	}
	for _, value := range field.Enum {
		more = append(more, fmt.Sprint(value))
	}
	if t, _ := field.Type.(string); t != "" && t != "string" {
		more = append(more, t)
	}
	if slices.Contains(f.Required, name) {
		more = append(more, "required")
	}
	text := cmp.Or(field.Title, name)
	if len(more) > 0 {
		text += " (" + strings.Join(more, ", ") + ")"
	}
	return sanitize.Blanks(OneLine(text))
}
