package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// The limits of a schema for a model.
const (
	maxSchema  = 256 << 10 // bytes
	maxDepth   = 32        // of nested schemas
	maxSchemas = 10_000    // schemas in it, after references were replaced by what they refer to
	maxCopied  = 16 << 20  // bytes of what replaces references, in the schemas of one server

	maxBranches = 100 // alternatives at the root that are merged
)

// parameters turns the input schema of a tool, of any dialect and age, into one that every provider
// takes and that package tool can check. What cannot be expressed is left out, so that the server
// checks it: the result never refuses arguments that the original allows. The error is for schemas
// that no object fits. What replaces references is added to copied.
func parameters(raw any, copied *int) (schema json.RawMessage, err error) {
	doc, err := decoded(raw)
	if err != nil {
		return nil, fmt.Errorf("its schema is not JSON: %w", err)
	}
	object, ok := doc.(map[string]any)
	switch {
	case doc == false:
		return nil, errors.New("its schema allows no arguments at all")
	case !ok && doc != nil && doc != true:
		return nil, fmt.Errorf("its schema is not an object: %s", clean(string(encoded(doc)), 100))
	}
	for _, brief := range []bool{false, true} {
		r := &rewriter{doc: object, brief: brief, copied: copied}
		root, err := r.root()
		if err != nil {
			return nil, err
		}
		if schema = encoded(root); len(schema) <= maxSchema && registers(schema) {
			return schema, nil
		}
	}
	return json.RawMessage(`{"properties":{},"type":"object"}`), nil // all of it is left to the server
}

// decoded returns a schema as a JSON value with its numbers as they are written.
func decoded(raw any) (doc any, err error) {
	data, err := json.Marshal(raw)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err = dec.Decode(&doc); errors.Is(err, io.EOF) {
		err = nil
	}
	return doc, err
}

// encoded returns the JSON of a value that comes from JSON, in the form in which a journal keeps
// it. Characters of HTML are not escaped.
func encoded(value any) json.RawMessage {
	data, err := texts.PlainJSON(value)
	if err != nil {
		return nil // cannot happen: it was decoded from JSON
	}
	return data
}

// registers reports whether package tool can check arguments by a schema.
func registers(schema json.RawMessage) bool {
	_, err := tool.NewRegistry(tool.Tool{ToolDefinition: llm.ToolDefinition{Name: "x", Parameters: schema},
		Run: func(context.Context, *tool.Call) (tool.Result, error) { return tool.Result{}, nil }})
	return err == nil && len(schema) > 0
}

// rewriter rewrites the schemas of a document.
type rewriter struct {
	doc    map[string]any
	brief  bool  // leave out descriptions, for schemas that are too large
	count  int   // of schemas
	copied *int  // bytes of what replaced references
	open   []any // what replaces the references around the present schema
	// how many schemas around the present one have an id of their own, so that references mean
	// something else
	foreign int
}

// root rewrites the whole document. Anthropic and OpenAI refuse combinations of schemas at the
// root, so they are merged there.
func (r *rewriter) root() (map[string]any, error) {
	s := r.keywords(r.doc, 0)
	if types, ok := s["type"]; ok && !slices.Contains(typeList(types), "object") {
		return nil, fmt.Errorf("its schema is for a value of type %s, but arguments are an object", encoded(types))
	}
	s["type"] = "object"
	delete(s, "enum")
	if branches, ok := s["anyOf"].([]any); ok {
		delete(s, "anyOf")
		r.mergeBranches(s, branches)
	}
	if s["properties"] == nil {
		s["properties"] = map[string]any{}
	}
	return s, nil
}

// mergeBranches merges alternatives into an object: it has the properties of all of them.
func (r *rewriter) mergeBranches(s map[string]any, branches []any) {
	var objects []map[string]any
	for _, b := range branches {
		branch := b.(map[string]any) // keywords made it
		if types, ok := branch["type"]; ok && !slices.Contains(typeList(types), "object") {
			continue // no arguments fit it
		}
		if nested, ok := branch["anyOf"].([]any); ok {
			branch = maps.Clone(branch)
			delete(branch, "anyOf")
			r.mergeBranches(branch, nested)
		}
		objects = append(objects, branch)
	}
	if len(objects) == 0 || len(objects) > maxBranches {
		return
	}
	own, _ := s["properties"].(map[string]any)
	properties := maps.Clone(own)
	if properties == nil {
		properties = map[string]any{}
	}
	demanded, closed := map[string]int{}, true // by how many of the alternatives
	for _, o := range objects {
		theirs, _ := o["properties"].(map[string]any)
		for name := range theirs {
			if properties[name] == nil {
				properties[name] = r.inBranches(name, objects)
			}
		}
		for _, name := range stringList(o["required"]) {
			demanded[name]++
		}
		closed = closed && o["additionalProperties"] == false
	}
	s["properties"] = properties
	if _, ok := s["additionalProperties"]; !ok && closed {
		s["additionalProperties"] = false
	}
	required := stringList(s["required"])
	for name, n := range demanded {
		if n == len(objects) {
			required = append(required, name)
		}
	}
	if slices.Sort(required); len(required) > 0 {
		s["required"] = anys(slices.Compact(required))
	}
}

// inBranches returns the schema of a property that some alternatives have. One that says nothing
// about it allows any value.
func (r *rewriter) inBranches(name string, objects []map[string]any) map[string]any {
	var all []any
	anything := false
	for _, o := range objects {
		theirs, _ := o["properties"].(map[string]any)
		if p, ok := theirs[name]; ok {
			all = append(all, p)
		} else if o["additionalProperties"] != false {
			anything = true
		}
	}
	if !anything {
		return anyOf(all)
	}
	const mostHint = 300
	first := all[0].(map[string]any) // keywords made it
	description := describe(first)
	if hint := encoded(first); len(hint) <= mostHint && !r.brief && len(first) > 0 {
		description = strings.TrimSpace(description + " In one form of the arguments: " + string(hint))
	}
	if description == "" {
		return map[string]any{}
	}
	return map[string]any{"description": description}
}

func describe(s map[string]any) string {
	text, _ := s["description"].(string)
	return text
}

// typeList returns the types that a rewritten schema allows.
func typeList(value any) []string {
	if one, ok := value.(string); ok {
		return []string{one}
	}
	return stringList(value)
}

// stringList returns the strings of an array, each once.
func stringList(value any) []string {
	var list []string
	array, _ := value.([]any)
	seen := make(map[string]bool, len(array))
	for _, element := range array {
		if s, ok := element.(string); ok && !seen[s] {
			seen[s] = true
			list = append(list, s)
		}
	}
	return list
}

func anys(list []string) []any {
	all := make([]any, len(list))
	for i, s := range list {
		all[i] = s
	}
	return all
}
