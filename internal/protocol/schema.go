package protocol

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/attractor-go/attractor/permit"
)

// Line holds what a host has to know of a line before the line is carried out.
type Line struct {
	Type     Type
	Key, Ask string
	ID       json.RawMessage // of the client
	// Decision, Remember and Mode are those of approve, Mode, the limits and the budgets those of
	// set. Nil means that there is none.
	Decision, Remember  string
	Mode                *string
	MaxRounds, MaxTurns *int
	BudgetTokens        *int
	BudgetUSD           *float64
	// Edited reports whether approve brings other arguments.
	Edited bool
	// Files reports whether the line names files of the machine of the host.
	Files bool
}

// Parse returns what a line says. The error says why no session can carry it out.
func Parse(line []byte) (Line, error) {
	in, err := decode(line)
	if err != nil {
		return Line{Type: in.Type, ID: in.ID}, err
	}
	l := Line{Type: in.Type, Key: in.Key, Ask: in.Ask, ID: in.ID, Decision: in.Decision, Remember: in.Remember,
		Mode: in.Mode, MaxRounds: in.MaxRounds, MaxTurns: in.MaxTurns, BudgetTokens: in.MaxTokens, BudgetUSD: in.MaxUSD,
		Edited: in.Args != nil}
	for _, image := range in.Images {
		l.Files = l.Files || image.Path != ""
	}
	return l, nil
}

// Schemas returns a JSON Schema for each type of line.
func Schemas() (map[Type]*jsonschema.Schema, error) {
	object := &jsonschema.Schema{Type: "object"}
	all, err := jsonschema.For[fields](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): object}})
	if err != nil {
		return nil, err
	}
	schemas := map[Type]*jsonschema.Schema{}
	for _, t := range Types() {
		s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{},
			Required:             append([]string{"type"}, required(t)...),
			AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
		s.Properties["type"] = &jsonschema.Schema{Type: "string", Enum: []any{string(t)}}
		s.Properties["id"] = &jsonschema.Schema{Types: []string{"string", "number"}}
		for _, name := range Members(t) {
			s.Properties[name] = all.Properties[name].CloneSchemas()
			NotNull(s.Properties[name])
		}
		for name, values := range choices(t) {
			s.Properties[name] = &jsonschema.Schema{Type: "string", Enum: values}
		}
		schemas[t] = s
	}
	if images := schemas[TypeUser].Properties["images"].Items; images != nil {
		for _, t := range []Type{TypeUser, TypeSteer, TypeFollowUp, TypeResult} {
			schemas[t].Properties["images"].Items.Required = nil
		}
	}
	schemas[TypeTools].Properties["tools"].Items.Required = []string{"name", "description"}
	return schemas, nil
}

// NotNull removes null from the types of a value.
func NotNull(s *jsonschema.Schema) {
	s.Types = slices.DeleteFunc(slices.Clone(s.Types), func(t string) bool { return t == "null" })
	if len(s.Types) == 1 {
		s.Type = s.Types[0]
	}
	if len(s.Types) <= 1 {
		s.Types = nil
	}
}

// required returns the members that a line of a type must have, besides its type.
func required(t Type) []string {
	switch t {
	case TypeAnswer, TypeResult:
		return []string{"ask"}
	case TypeApprove:
		return []string{"ask", "decision"}
	case TypeTools:
		return []string{"tools"}
	}
	return nil
}

// choices returns the values of members that have a few.
func choices(t Type) map[string][]any {
	var modes []any
	for _, name := range permit.ModeNames() {
		modes = append(modes, name)
	}
	switch t {
	case TypeSet:
		return map[string][]any{"mode": modes}
	case TypeAnswer:
		return map[string][]any{"action": {"decline", "cancel"}}
	case TypeApprove:
		return map[string][]any{"decision": {"allow", "deny"}, "mode": modes,
			"remember": {"session", rememberProject, rememberAlways}}
	}
	return nil
}
