package openai

import (
	"encoding/json"
	"slices"
)

// strictKeywords are what a schema may consist of to be followed to the letter. The API knows a few more, but not in every
// model and place; a schema with others is still followed, as well as the model can.
var strictKeywords = []string{"type", "title", "description", "properties", "required", "additionalProperties", "items", "enum",
	"const", "anyOf", "$ref", "$defs", "$schema"}

// strictSchema reports whether the API takes a schema with strict set, which makes the answer follow it without fail: every object
// in it is closed and requires all that it has.
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
