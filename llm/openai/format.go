package openai

import (
	"encoding/json"
	"slices"
)

// strictKeywords lists the keywords that a strict schema may have. The API knows a few more, but
// not for every model and place. A schema with other keywords is followed less strictly.
var strictKeywords = []string{"type", "title", "description", "properties", "required", "additionalProperties", "items",
	"enum",
	"const", "anyOf", "$ref", "$defs", "$schema"}

// strictSchema reports whether the API accepts a schema as strict, so that every response fits it:
// each object is closed and requires all its properties.
func strictSchema(schema json.RawMessage) bool {
	var root struct {
		Type  string          `json:"type"`
		AnyOf json.RawMessage `json:"anyOf"`
	}
	if json.Unmarshal(schema, &root) != nil || root.Type != "object" || root.AnyOf != nil {
		return false
	}
	return strictPart(schema)
}

func strictPart(schema json.RawMessage) bool {
	var keys map[string]json.RawMessage
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
		Additional *bool                      `json:"additionalProperties"`
		Items      json.RawMessage            `json:"items"`
		AnyOf      []json.RawMessage          `json:"anyOf"`
		Defs       map[string]json.RawMessage `json:"$defs"`
	}
	if json.Unmarshal(schema, &keys) != nil || json.Unmarshal(schema, &s) != nil {
		return false
	}
	for key := range keys {
		if !slices.Contains(strictKeywords, key) {
			return false
		}
	}
	if s.Properties != nil || string(keys["type"]) == `"object"` {
		if s.Properties == nil || s.Additional == nil || *s.Additional {
			return false
		}
	}
	parts := s.AnyOf
	if s.Items != nil {
		parts = append(parts, s.Items)
	}
	for name, part := range s.Properties {
		if !slices.Contains(s.Required, name) {
			return false
		}
		parts = append(parts, part)
	}
	for _, part := range s.Defs {
		parts = append(parts, part)
	}
	return !slices.ContainsFunc(parts, func(part json.RawMessage) bool { return !strictPart(part) })
}
