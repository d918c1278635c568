package objectschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// IsObject reports whether a text is a JSON object.
func IsObject(raw json.RawMessage) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(raw, &object) == nil && object != nil
}

// Shown returns a JSON text for an error message.
func Shown(raw json.RawMessage) string {
	const most = 60
	text := []rune(strings.ToValidUTF8(string(bytes.TrimSpace(raw)), "\uFFFD"))
	if len(text) > most {
		text = append(text[:most], '.', '.', '.')
	}
	return fmt.Sprintf("%q", string(text))
}

// Checker returns a function that checks a text against the schema of a structured result.
// Providers take only schemas of objects.
func Checker(schema json.RawMessage) (func(text string) error, error) {
	if !IsObject(schema) {
		return nil, fmt.Errorf("it has to be a JSON Schema, which is a JSON object, and is %s", Shown(schema))
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil, schemaError(err)
	}
	if s.Type != "object" {
		return nil, errors.New(`its top level has to say "type": "object", because providers take no other; put the value into a property of one`)
	}
	var raw any
	if err := json.Unmarshal(schema, &raw); err != nil {
		return nil, err
	}
	if bad := badType(raw); bad != "" {
		return nil, fmt.Errorf("%q is no type of JSON Schema; the types are%s", bad,
			strings.ReplaceAll(strings.TrimRight(types, " "), " ", ", ")[1:])
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil, err
	}
	return func(text string) error {
		var value any
		if err := json.Unmarshal([]byte(strings.TrimSpace(text)), &value); err != nil {
			return fmt.Errorf("it is no JSON (%w)", err)
		}
		return resolved.Validate(value)
	}, nil
}

// schemaError returns an error that locates a mistake in a schema without naming Go types.
func schemaError(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err
	}
	at := strings.Trim(strings.ReplaceAll("."+wrong.Field, ".schemaWithoutMethods", ""), ".")
	if at == "" {
		return fmt.Errorf("a JSON %s stands where a schema belongs", wrong.Value)
	}
	return fmt.Errorf("%s cannot be a JSON %s", at, wrong.Value)
}

// types lists the types of JSON Schema.
const types = " object array string number integer boolean null "

// badType returns the first type in a schema that JSON Schema does not have.
func badType(schema any) string {
	fields, _ := schema.(map[string]any)
	var below []any
	for name, value := range fields {
		named, _ := value.(map[string]any)
		list, isList := value.([]any)
		switch name {
		case "type":
			if !isList {
				list = []any{value}
			}
			for _, t := range list {
				if t, ok := t.(string); ok && !strings.Contains(types, " "+t+" ") {
					return t
				}
			}
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
			below = slices.AppendSeq(below, maps.Values(named))
		case "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "anyOf",
			"oneOf", "allOf", "prefixItems":
			below = append(append(below, value), list...)
		}
	}
	for _, schema := range below {
		if bad := badType(schema); bad != "" {
			return bad
		}
	}
	return ""
}
