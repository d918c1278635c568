package tool

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
)

// compiled holds a tool's schema, parsed once for all registries that have the tool: it takes more memory than a session.
type compiled struct {
	raw    json.RawMessage
	strict bool

	checked sync.Once
	plain   bool // of raw; see isPlain

	parsed sync.Once
	schema *schema
	err    error
}

// compile returns the schema of New, or that of the parameters if they were changed since. It fails if the schema is not valid. A plain
// schema is valid, so it is parsed when the first call needs it: parsing the schemas of a profile takes a millisecond, and a session calls
// few of its tools.
func (t *Tool) compile() (*compiled, error) {
	c := t.compiled
	if c == nil || !bytes.Equal(c.raw, t.Parameters) {
		c = &compiled{raw: slices.Clone(t.Parameters), strict: c != nil && c.strict}
	}
	c.checked.Do(func() { c.plain = isPlain(c.raw) })
	if c.plain {
		return c, nil
	}
	_, err := c.parse()
	return c, err
}

// parse returns the parsed schema.
func (c *compiled) parse() (*schema, error) {
	c.parsed.Do(func() {
		if c.schema, c.err = parametersOf(c.raw, c.strict); c.err == nil {
			c.schema.plain = c.plain
		}
	})
	return c.schema, c.err
}

// isPlain reports whether a text is the schema of an object and uses nothing but common keywords that cannot be wrong together. It may
// refuse any schema, but every schema that it accepts can be parsed and resolved.
func isPlain(raw json.RawMessage) bool {
	value, err := decodeJSON(string(raw))
	if err != nil {
		return false
	}
	root, ok := value.(map[string]any)
	return ok && root["type"] == "object" && plainSchema(root)
}

// plainSchema reports whether all keywords of a schema are plain.
func plainSchema(value any) bool {
	doc, ok := value.(map[string]any)
	if !ok {
		return false
	}
	for keyword, v := range doc {
		if !plainKeyword(keyword, v) {
			return false
		}
	}
	return true
}

func plainKeyword(keyword string, value any) bool {
	switch keyword {
	case "type":
		return isType(value, "string") || plainStrings(value)
	case "description", "title":
		return isType(value, "string")
	case "required", "enum":
		return plainStrings(value)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return isType(value, "number")
	case "default":
		return isType(value, "string") || isType(value, "boolean") || isType(value, "number")
	case "items":
		return plainSchema(value)
	case "additionalProperties":
		return isType(value, "boolean") || plainSchema(value)
	case "properties":
		properties, ok := value.(map[string]any)
		for _, property := range properties {
			ok = ok && plainSchema(property)
		}
		return ok
	}
	return false
}

// plainStrings reports whether a value is an array of strings.
func plainStrings(value any) bool {
	list, ok := value.([]any)
	return ok && !slices.ContainsFunc(list, func(v any) bool { return !isType(v, "string") })
}
