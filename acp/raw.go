package acp

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"
)

// maxDepth limits how deep the JSON of models and tools may be nested. Some editors cannot read a
// message that is deeper than 128.
const maxDepth = 64

// rawOf returns JSON of models and tools in a form that every editor can read: without numbers and
// characters that only some can. It returns nil for what is no JSON, too deep, longer than most
// bytes, or has a number that is too large.
func rawOf(data json.RawMessage, most int) json.RawMessage {
	var value any
	if len(data) > most || json.Unmarshal(data, &value) != nil || deeper(value, maxDepth) {
		return nil
	}
	if utf8.Valid(data) && !bytes.Contains(data, []byte(`\u`)) {
		return data
	}
	encoded, _ := json.Marshal(value) // half a character has become U+FFFD; it cannot fail
	return encoded
}

// deeper reports whether a value is nested deeper than a number of levels.
func deeper(value any, levels int) bool {
	below := func(member any) bool { return deeper(member, levels-1) }
	switch v := value.(type) {
	case map[string]any:
		return levels == 0 || slices.ContainsFunc(slices.Collect(maps.Values(v)), below)
	case []any:
		return levels == 0 || slices.ContainsFunc(v, below)
	}
	return false
}
