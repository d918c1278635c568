package api

import "github.com/attractor-go/attractor/llm"

// SameTools reports whether two lists of tools have the same encoding. Equal strings and schemas usually share their memory,
// which makes the comparison cheap.
func SameTools(a, b []llm.ToolDefinition) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Name != b[i].Name || a[i].Description != b[i].Description || string(a[i].Parameters) != string(b[i].Parameters) ||
			!sameGrammar(a[i].Grammar, b[i].Grammar) {
			return false
		}
	}
	return true
}

func sameGrammar(a, b *llm.Grammar) bool {
	return a == b || a != nil && b != nil && *a == *b
}
