package api

import (
	"slices"

	"github.com/attractor-go/attractor/llm"
)

// SameTools reports whether two lists of tools have the same encoding. Equal strings and schemas usually share their memory,
// which makes the comparison cheap.
func SameTools(a, b []llm.ToolDefinition) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Name != b[i].Name || a[i].Description != b[i].Description || string(a[i].Parameters) != string(b[i].Parameters) ||
			a[i].Deferred != b[i].Deferred || a[i].Finds != b[i].Finds || !sameGrammar(a[i].Grammar, b[i].Grammar) {
			return false
		}
	}
	return true
}

func sameGrammar(a, b *llm.Grammar) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// Offered returns the tools that are not deferred: the list itself if none is.
func Offered(tools []llm.ToolDefinition) []llm.ToolDefinition {
	deferred := func(t llm.ToolDefinition) bool { return t.Deferred }
	if !slices.ContainsFunc(tools, deferred) {
		return tools
	}
	return slices.DeleteFunc(slices.Clone(tools), deferred)
}

// Loads reports whether the model of a request is known to load tools.
func Loads(req *llm.Request) bool { return req.Facts != nil && req.Facts.LoadsTools }
