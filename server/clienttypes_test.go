package server_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/server"
)

// schema is what the schemas of the API's document have.
type schema struct {
	Ref         string             `json:"$ref"`
	Type        any                `json:"type"` // a name, or several
	Description string             `json:"description"`
	Properties  map[string]*schema `json:"properties"`
	Required    []string           `json:"required"`
	Enum        []any              `json:"enum"`
	Const       any                `json:"const"`
	Items       *schema            `json:"items"`
	OneOf       []*schema          `json:"oneOf"`
	AllOf       []*schema          `json:"allOf"`
	AnyOf       []*schema          `json:"anyOf"`
}

// UnmarshalJSON takes true, too, which is any value.
func (s *schema) UnmarshalJSON(data []byte) error {
	type plain schema
	if string(data) == "true" {
		return nil
	}
	return json.Unmarshal(data, (*plain)(s))
}

// The types of the TypeScript client are those of the API's document.
func TestW3_ClientTypes(t *testing.T) {
	const file = "../clients/ts/src/api.ts"
	data, err := server.Document()
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Components struct{ Schemas map[string]*schema }
	}
	if err := json.Unmarshal(data, &document); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("// These types are made of docs/reference/openapi.json by: go test ./server -run " +
		"TestW3_ClientTypes -update\n")
	schemas := document.Components.Schemas
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		if s := schemas[name]; name != "Document" {
			fmt.Fprintf(&b, "\n%sexport type %s = %s;\n", comment("", s.Description), name,
				s.typescript("", name == "Event"))
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	was, err := os.ReadFile(file)
	if err != nil || string(was) != b.String() {
		t.Errorf("%s is not the API, %v; go test ./server -run TestW3_ClientTypes -update writes it", file, err)
	}
}

// typescript returns the type of a schema. An open object may have other members.
func (s *schema) typescript(indent string, open bool) string {
	switch {
	case s.Ref != "":
		return s.Ref[strings.LastIndex(s.Ref, "/")+1:]
	case s.Const != nil:
		return literal(s.Const)
	case s.Enum != nil:
		return union(s.Enum, literal)
	case s.OneOf != nil || s.AnyOf != nil:
		return union(append(s.OneOf, s.AnyOf...), func(o *schema) string { return o.typescript(indent, false) })
	case s.AllOf != nil:
		return strings.ReplaceAll(union(s.AllOf, func(o *schema) string { return o.typescript(indent, true) }), " | ",
			" & ")
	}
	if types, several := s.Type.([]any); several {
		return union(types, func(t any) string { one := *s; one.Type = t; return one.typescript(indent, open) })
	}
	switch s.Type {
	case "string", "boolean", "null":
		return s.Type.(string)
	case "integer", "number":
		return "number"
	case "array":
		return "Array<" + s.Items.typescript(indent, false) + ">"
	case "object":
		return s.object(indent, open)
	}
	return "unknown"
}

func (s *schema) object(indent string, open bool) string {
	if s.Properties == nil {
		return "Record<string, unknown>"
	}
	var b strings.Builder
	b.WriteString("{\n")
	inner := indent + "  "
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p, mark := s.Properties[name], "?"
		if slices.Contains(s.Required, name) {
			mark = ""
		}
		fmt.Fprintf(&b, "%s%s%s%s: %s;\n", comment(inner, p.Description), inner, name, mark, p.typescript(inner, false))
	}
	if open {
		fmt.Fprintf(&b, "%s[member: string]: unknown;\n", inner)
	}
	return b.String() + indent + "}"
}

func union[T any](list []T, of func(T) string) string {
	var all []string
	for _, t := range list {
		all = append(all, of(t))
	}
	return strings.Join(all, " | ")
}

func literal(value any) string {
	data, _ := json.Marshal(value) // it came out of JSON
	return string(data)
}

func comment(indent, text string) string {
	if text == "" {
		return ""
	}
	return indent + "/** " + text + " */\n"
}
