package acp

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// maxDepth limits how deep the JSON of models and tools may be nested. Some editors cannot read a
// message that is deeper than 128.
const maxDepth = 64

// rawOf returns JSON of models and tools in a form that every editor can read: without numbers and
// characters that only some can. It returns nil for what is no JSON, too deep, or longer than most
// bytes.
func rawOf(data json.RawMessage, most int) json.RawMessage {
	if len(data) > most || !json.Valid(data) {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var value any
	r := rewriter{odd: !utf8.Valid(data) || bytes.Contains(data, []byte(`\u`))}
	if dec.Decode(&value) != nil {
		return nil
	}
	switch value = r.value(value, 0); {
	case r.deep:
		return nil
	case !r.odd:
		return data
	}
	encoded, _ := json.Marshal(value) // cannot fail: it was decoded from JSON
	return encoded
}

// rewriter replaces what some editors cannot read.
type rewriter struct {
	odd  bool // something has to be replaced, such as half a character, which the decoder has replaced by U+FFFD
	deep bool // the value is nested too deeply
}

// value returns a value with texts for the numbers that are too large.
func (r *rewriter) value(value any, depth int) any {
	r.deep = r.deep || depth > maxDepth
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			v[name] = r.value(member, depth+1)
		}
	case []any:
		for i, member := range v {
			v[i] = r.value(member, depth+1)
		}
	case json.Number:
		if _, err := v.Float64(); err != nil {
			r.odd = true
			return v.String()
		}
	}
	return value
}
