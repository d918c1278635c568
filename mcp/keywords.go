package mcp

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/sanitize"
)

// rewrite returns the schema that a value stands for. Anything that is no schema allows everything.
func (r *rewriter) rewrite(value any, depth int) map[string]any {
	s, ok := value.(map[string]any)
	if !ok || depth > maxDepth || r.count >= maxSchemas {
		return map[string]any{}
	}
	return r.keywords(s, depth)
}

// keywords returns a schema with the keywords that everybody understands. Some keywords get
// stricter when the schemas in them get looser (not, if, oneOf): they are left out, or replaced by
// looser ones.
func (r *rewriter) keywords(s map[string]any, depth int) map[string]any {
	r.count++
	if target, ok := r.reference(s); ok {
		return r.follow(s, target, depth)
	}
	if id := s["$id"]; depth > 0 && (isText(id) || isText(s["id"])) {
		r.foreign++
		defer func() { r.foreign-- }()
	}
	out := map[string]any{}
	r.types(s, out)
	r.annotations(s, out)
	r.values(s, out)
	r.numbers(s, out)
	r.object(s, out, depth)
	r.array(s, out, depth)
	all, _ := s["allOf"].([]any)
	for _, one := range all {
		merge(out, r.rewrite(one, depth+1))
	}
	r.alternatives(s, out, depth)
	if out["required"] != nil {
		out["required"] = anys(stringList(out["required"]))
	}
	return out
}

func isText(value any) bool {
	text, ok := value.(string)
	return ok && !strings.HasPrefix(text, "#")
}

// types sets the types. An unknown one means that the author meant something that we do not know.
func (r *rewriter) types(s, out map[string]any) {
	known := []string{"object", "array", "string", "number", "integer", "boolean", "null"}
	array, isArray := s["type"].([]any)
	if len(array) > len(known) {
		return
	}
	types := typeList(s["type"])
	unknown := func(t string) bool { return !slices.Contains(known, t) }
	if len(types) == 0 || isArray && len(array) != len(types) || slices.ContainsFunc(types, unknown) {
		return
	}
	if s["nullable"] == true && !slices.Contains(types, "null") {
		types = append(types, "null")
	}
	if len(types) == 1 {
		out["type"] = types[0]
	} else {
		out["type"] = anys(types)
	}
}

// The limits of a description in a schema, and of a regular expression in it, in bytes.
const (
	maxText    = 8 << 10
	maxPattern = 1 << 10
)

// annotations keeps what tells the model about the values.
func (r *rewriter) annotations(s, out map[string]any) {
	if r.brief {
		return
	}
	for _, name := range []string{"title", "description"} {
		if text, ok := s[name].(string); ok && text != "" {
			out[name] = sanitize.Text(texts.Cut(text, maxText, "..."))
		}
	}
	if pattern, ok := s["pattern"].(string); ok && len(pattern) <= maxPattern { // Go's syntax is another one
		out["description"] = strings.TrimSpace(describe(out) + " Pattern: " + sanitize.Text(pattern))
	}
	if value, ok := s["default"]; ok && len(encoded(value)) <= maxText {
		out["default"] = value
	}
	format, _ := s["format"].(string)
	if slices.Contains([]string{"date-time", "date", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uri",
		"uuid"}, format) {
		out["format"] = format
	}
}

// values keeps the lists of allowed values.
func (r *rewriter) values(s, out map[string]any) {
	if list, ok := s["enum"].([]any); ok && len(list) > 0 {
		out["enum"] = list
	}
	if value, ok := s["const"]; ok {
		out["enum"] = []any{value}
	}
	list, ok := out["enum"].([]any)
	if !ok {
		return
	}
	if s["nullable"] == true && !slices.Contains(list, nil) {
		list = append(slices.Clone(list), nil)
	}
	// OpenAI refuses values that are not of the schema's types
	types := typeList(out["type"])
	list = slices.DeleteFunc(slices.Clone(list), func(v any) bool { return len(types) > 0 && !isOf(types, v) })
	if out["enum"] = list; len(list) == 0 {
		delete(out, "enum")
	}
}

// isOf reports whether a value is of one of the types.
func isOf(types []string, value any) bool {
	var kinds []string
	switch v := value.(type) {
	case nil:
		kinds = []string{"null"}
	case bool:
		kinds = []string{"boolean"}
	case string:
		kinds = []string{"string"}
	case json.Number:
		kinds = []string{"number"}
		if f, err := v.Float64(); err == nil && f == math.Trunc(f) {
			kinds = append(kinds, "integer")
		}
	case []any:
		kinds = []string{"array"}
	case map[string]any:
		kinds = []string{"object"}
	}
	return slices.ContainsFunc(kinds, func(kind string) bool { return slices.Contains(types, kind) })
}

// numbers keeps the limits of numbers, lengths and counts.
func (r *rewriter) numbers(s, out map[string]any) {
	for _, name := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"} {
		if n, ok := s[name].(json.Number); ok {
			if _, err := n.Float64(); err == nil {
				out[name] = n
			}
		}
	}
	for _, name := range []string{"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"} {
		n, ok := s[name].(json.Number)
		if !ok {
			continue
		}
		whole, err := strconv.ParseFloat(n.String(), 64)
		if err == nil && whole == float64(int32(whole)) && whole >= 0 {
			out[name] = int32(whole)
		}
	}
	if s["uniqueItems"] == true {
		out["uniqueItems"] = true
	}
}

// object keeps the keywords of objects.
func (r *rewriter) object(s, out map[string]any, depth int) {
	properties, required, open := map[string]any{}, stringList(s["required"]), false
	theirs, has := s["properties"].(map[string]any)
	var hidden []string
	for _, name := range slices.Sorted(maps.Keys(theirs)) {
		p := theirs[name]
		if p == false {
			continue // it must not be there
		}
		if !validProperty(name) {
			hidden, open = append(hidden, strconv.Quote(sanitize.Text(name))), true
			continue
		}
		properties[name] = r.rewrite(p, depth+1)
	}
	if patterns, ok := s["patternProperties"].(map[string]any); ok && len(patterns) > 0 {
		open = true
	}
	for _, name := range required {
		// some vendors refuse a required property without a schema
		if _, ok := theirs[name]; !ok && validProperty(name) {
			properties[name], has = map[string]any{}, true
		}
	}
	required = slices.DeleteFunc(required, func(name string) bool { return properties[name] == nil })
	if has {
		out["properties"] = properties
	}
	if len(required) > 0 {
		slices.Sort(required)
		out["required"] = anys(slices.Compact(required))
	}
	switch more := s["additionalProperties"].(type) {
	case bool:
		if !more && !open {
			out["additionalProperties"] = false
		}
	case map[string]any:
		if !open {
			out["additionalProperties"] = r.rewrite(more, depth+1)
		}
	}
	if len(hidden) > 0 && !r.brief {
		more := strings.Join(hidden[:min(len(hidden), 20)], ", ")
		out["description"] = strings.TrimSpace(describe(out) + " It also takes " + more + ".")
	}
}

// validProperty reports whether all vendors take a property's name. Anthropic is the strictest.
func validProperty(name string) bool {
	dashed := strings.ReplaceAll(name, ".", "-")
	return name != "" && len(name) <= 64 && dashed == safe(dashed)
}

// array keeps the keywords of arrays. One schema is for all elements, because not every vendor
// knows tuples.
func (r *rewriter) array(s, out map[string]any, depth int) {
	tuple, isTuple := s["prefixItems"].([]any)
	rest, hasRest := s["items"]
	if list, ok := rest.([]any); ok { // up to draft 2019-09
		tuple, isTuple = list, true
		rest, hasRest = s["additionalItems"]
	}
	if !isTuple {
		if hasRest {
			out["items"] = r.rewrite(rest, depth+1)
		} else if slices.Contains(typeList(out["type"]), "array") {
			out["items"] = map[string]any{} // OpenAI wants one
		}
		return
	}
	most, limited := out["maxItems"].(int32)
	if rest == false && (!limited || int(most) > len(tuple)) {
		out["maxItems"] = int32(len(tuple))
		most, limited = int32(len(tuple)), true
	}
	var elements []any
	for _, one := range tuple {
		elements = append(elements, r.rewrite(one, depth+1))
	}
	if !limited || int(most) > len(tuple) {
		elements = append(elements, r.rewrite(rest, depth+1))
	}
	out["items"] = anyOf(elements)
}

// alternatives keeps alternatives of which at least one has to fit. That exactly one fits is left
// to the server.
func (r *rewriter) alternatives(s, out map[string]any, depth int) {
	for _, name := range []string{"anyOf", "oneOf"} {
		list, ok := s[name].([]any)
		if !ok || len(list) == 0 {
			continue
		}
		var branches []any
		for _, one := range list {
			if one != false {
				branches = append(branches, r.rewrite(one, depth+1))
			}
		}
		if out["anyOf"] != nil {
			continue
		}
		if depth == 0 {
			out["anyOf"] = branches // merged later
			continue
		}
		merge(out, anyOf(branches))
	}
}

// anyOf returns a schema for values that fit one of several. A schema or null becomes a schema with
// two types.
func anyOf(branches []any) map[string]any {
	var distinct []any
	seen, null := map[string]bool{}, false
	for _, b := range branches {
		branch := b.(map[string]any)
		if len(branch) == 0 {
			return map[string]any{}
		}
		if len(branch) == 1 && branch["type"] == "null" {
			null = true
			continue
		}
		if text := string(encoded(branch)); !seen[text] {
			seen[text] = true
			distinct = append(distinct, branch)
		}
	}
	if null && len(distinct) == 1 {
		one := maps.Clone(distinct[0].(map[string]any))
		if _, typed := one["type"]; typed && one["anyOf"] == nil {
			if types := typeList(one["type"]); !slices.Contains(types, "null") {
				one["type"] = anys(append(types, "null"))
			}
			if list, ok := one["enum"].([]any); ok && !slices.Contains(list, nil) {
				one["enum"] = append(slices.Clone(list), nil)
			}
			return one
		}
	}
	if null {
		distinct = append(distinct, map[string]any{"type": "null"})
	}
	switch len(distinct) {
	case 0:
		return map[string]any{}
	case 1:
		return distinct[0].(map[string]any)
	}
	return map[string]any{"anyOf": distinct}
}

// merge adds the demands of a schema to those of another. If both have a keyword that cannot be
// joined, the first one's stays: fewer demands are looser.
func merge(out, more map[string]any) {
	for name, value := range more {
		switch old := out[name]; {
		case name == "required":
			list, _ := old.([]any)
			out[name] = append(list, value.([]any)...)
		case name == "properties" && old != nil:
			both := old.(map[string]any)
			for property, schema := range value.(map[string]any) {
				if both[property] == nil {
					both[property] = schema
				}
			}
		case old == nil:
			out[name] = value
		}
	}
}
