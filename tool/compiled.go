package tool

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"

	"github.com/attractor-go/attractor/internal/jsonscan"
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
// refuse any schema, but every schema that it accepts can be parsed and resolved. It reads the compact form that New makes, and refuses
// others.
func isPlain(raw []byte) bool {
	of, ok := membersOf(raw)
	at := slices.IndexFunc(of, func(m member) bool { return string(m.name) == `"type"` })
	return ok && at >= 0 && string(of[at].value) == `"object"` && plainSchema(raw, 0)
}

// member is a member of an object, as it is written.
type member struct{ name, value []byte }

// mostPlain limits the members of an object, and deepestPlain the nesting of a plain schema.
const mostPlain, deepestPlain = 100, 20

// membersOf returns the members of an object. Ok is false for other values, and if names may be equal.
func membersOf(raw []byte) (all []member, ok bool) {
	s := jsonscan.New(raw)
	s.Open()
	for {
		name, value, more := s.Member()
		if !more {
			break
		}
		twice := slices.ContainsFunc(all, func(m member) bool { return bytes.Equal(m.name, name) })
		if twice || bytes.IndexByte(name, '\\') >= 0 || len(all) == mostPlain {
			return nil, false
		}
		all = append(all, member{name, value})
	}
	s.Close()
	return all, s.End()
}

// plainSchema reports whether all keywords of a schema are plain.
func plainSchema(raw []byte, depth int) bool {
	all, ok := membersOf(raw)
	return ok && depth <= deepestPlain && !slices.ContainsFunc(all, func(m member) bool { return !m.plainKeyword(depth) })
}

// plainKeyword reports whether a member of a schema is plain.
func (m member) plainKeyword(depth int) bool {
	switch string(m.name) {
	case `"type"`:
		return isString(m.value) || plainStrings(m.value)
	case `"description"`, `"title"`:
		return isString(m.value)
	case `"required"`, `"enum"`:
		return plainStrings(m.value)
	case `"minimum"`, `"maximum"`, `"exclusiveMinimum"`, `"exclusiveMaximum"`:
		return isNumber(m.value)
	case `"default"`:
		return isString(m.value) || isBool(m.value) || isNumber(m.value)
	case `"items"`:
		return plainSchema(m.value, depth+1)
	case `"additionalProperties"`:
		return isBool(m.value) || plainSchema(m.value, depth+1)
	case `"properties"`:
		properties, ok := membersOf(m.value)
		return ok && !slices.ContainsFunc(properties, func(p member) bool { return !plainSchema(p.value, depth+1) })
	}
	return false
}

func isString(value []byte) bool { return value[0] == '"' }

func isBool(value []byte) bool { return string(value) == "true" || string(value) == "false" }

func isNumber(value []byte) bool {
	s := jsonscan.New(value)
	s.Float64()
	return s.End()
}

// plainStrings reports whether a value is an array of strings.
func plainStrings(value []byte) bool {
	s := jsonscan.New(value)
	for s.OpenArray(); s.Next(); {
		if element := s.Raw(); len(element) == 0 || !isString(element) {
			return false
		}
	}
	return s.End()
}
