package mcp

import (
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// reference returns what a schema refers to. Ok is false for a schema without a reference. The
// target is nil if it is not in the document.
func (r *rewriter) reference(s map[string]any) (target any, ok bool) {
	for _, name := range []string{"$recursiveRef", "$dynamicRef"} {
		if _, ok := s[name].(string); ok {
			return nil, true
		}
	}
	ref, ok := s["$ref"].(string)
	if !ok {
		return nil, false
	}
	pointer, local := strings.CutPrefix(ref, "#")
	if !local || r.foreign > 0 {
		return nil, true
	}
	return r.at(pointer), true
}

// at returns the value at a JSON pointer.
func (r *rewriter) at(pointer string) any {
	text, err := url.PathUnescape(pointer)
	if err != nil {
		return nil
	}
	var value any = r.doc
	if text == "" {
		return value
	}
	if !strings.HasPrefix(text, "/") {
		return nil // the name of an anchor
	}
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for step := range strings.SplitSeq(text[1:], "/") {
		step = unescape.Replace(step)
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
			if s, ok := value.(map[string]any); ok && (isText(s["$id"]) || isText(s["id"])) {
				return nil // references in it mean something else
			}
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// follow returns the schema to which another refers, with the other's description. Older dialects
// ignore everything beside a reference, so it is left to the server.
func (r *rewriter) follow(s map[string]any, target any, depth int) map[string]any {
	t, ok := target.(map[string]any)
	out := map[string]any{}
	switch {
	case slices.ContainsFunc(r.open, func(o any) bool { return sameMap(o, t) }) || depth > maxDepth ||
		r.count >= maxSchemas:
		r.types(t, out)
		if depth == 0 {
			out = map[string]any{}
		}
	case ok:
		if *r.copied += len(encoded(t)); *r.copied > maxCopied {
			r.count = maxSchemas
			break
		}
		r.open = append(r.open, t)
		out = r.keywords(t, depth+1)
		r.open = r.open[:len(r.open)-1]
	}
	described := map[string]any{}
	r.annotations(s, described)
	if text, ok := described["description"]; ok {
		out["description"] = text
	}
	if value, ok := described["default"]; ok {
		out["default"] = value
	}
	return out
}

// sameMap reports whether two values are one map.
func sameMap(a, b any) bool { return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer() }
