package tool

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/attractor-go/attractor/internal/texts"
)

// unknownField describes a field of a call's arguments that the schema does not name.
type unknownField struct {
	name  string
	path  string   // of the object that has the field; empty for the arguments themselves
	near  string   // the field that was probably meant, or ""
	known []string // the fields that the object can have
}

// isComment reports whether a field only comments on the call, so that it can be ignored.
func isComment(name string) bool {
	return slices.Contains([]string{"description", "explanation", "reason", "justification"}, texts.Folded(name))
}

// unknownNames returns the fields of an object that its schema neither names nor allows. If the
// schema does not say whether it allows others, strict decides: it is set for tools that would lose
// them.
func unknownNames(v map[string]any, doc *jsonschema.Schema, strict bool) []string {
	if len(doc.PatternProperties) > 0 || !forbidsUnknown(doc) && (!strict || doc.AdditionalProperties != nil ||
		doc.Properties == nil) {
		return nil
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if doc.Properties[name] == nil {
			list = append(list, name)
		}
	}
	return list
}

// newUnknownField returns the description of a field that the schema of an object does not name.
func newUnknownField(path, name string, v map[string]any, doc *jsonschema.Schema) unknownField {
	return unknownField{name: name, path: path, near: suggestField(name, v, doc), known: propertyNames(doc)}
}

// suggestField returns the field that was probably meant by an unknown name, or "".
func suggestField(name string, v map[string]any, doc *jsonschema.Schema) string {
	var free, missing []string
	for _, field := range propertyNames(doc) {
		if _, given := v[field]; given || !fits(v[name], doc.Properties[field]) {
			continue
		}
		free = append(free, field)
		if slices.Contains(doc.Required, field) {
			missing = append(missing, field)
		}
	}
	for _, candidates := range [][]string{missing, free} {
		if near := texts.Near(name, candidates); near != nil {
			return near[0]
		}
		for _, field := range candidates { // such as path for file_path
			a, b := texts.Folded(name), texts.Folded(field)
			if min(len(a), len(b)) >= 3 && (strings.Contains(a, b) || strings.Contains(b, a)) {
				return field
			}
		}
	}
	if len(missing) == 1 {
		return missing[0]
	}
	return ""
}

// fits reports whether a value has a type that the schema allows.
func fits(value any, doc *jsonschema.Schema) bool {
	types := typesOf(doc)
	return len(types) == 0 || slices.ContainsFunc(types, func(t string) bool { return isType(value, t) })
}

// propertyNames returns the names of a schema's properties, the required ones first.
func propertyNames(doc *jsonschema.Schema) []string {
	list := slices.DeleteFunc(slices.Clone(doc.Required), func(name string) bool { return doc.Properties[name] == nil })
	for _, name := range slices.Sorted(maps.Keys(doc.Properties)) {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// describeUnknown tells a model which fields a tool does not know, and which it does.
func describeUnknown(tool string, unknown []unknownField) string {
	var told []string
	for i, u := range unknown {
		what, of := "parameter", tool
		if u.path != "" {
			what, of = "field", fmt.Sprintf("%q", u.path)
		}
		text := fmt.Sprintf("unknown %s %q", what, u.name)
		if u.near != "" {
			text += fmt.Sprintf(" (did you mean %q?)", u.near)
		}
		last := i == len(unknown)-1 || unknown[i+1].path != u.path
		switch {
		case !last:
		case len(u.known) == 0:
			text += fmt.Sprintf("; %s has no %ss", of, what)
		default:
			text += fmt.Sprintf("; the %ss of %s are %s", what, of, strings.Join(u.known, ", "))
		}
		told = append(told, text)
	}
	return strings.Join(told, "; ")
}
