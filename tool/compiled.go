package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync"
)

// compiled holds a tool's schema, parsed once for all registries that have the tool: it takes more
// memory than a session.
type compiled struct {
	raw    json.RawMessage
	strict bool

	checked sync.Once
	plain   bool // of raw; see isPlain

	parsed sync.Once
	schema *schema
	err    error
}

// compile returns the schema of New, or that of the parameters if they were changed since. It fails
// if the schema is not valid. A plain schema is valid, so it is parsed when the first call needs
// it: parsing the schemas of a profile takes a millisecond, and a session calls few of its tools.
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
	c.parsed.Do(func() { c.schema, c.err = parametersOf(c.raw, c.strict) })
	return c.schema, c.err
}

// isPlain reports whether a text is the schema of an object and uses nothing but common keywords
// that cannot be wrong together. It may refuse any schema, but every schema that it accepts can be
// parsed and resolved.
func isPlain(raw []byte) bool {
	var s plainSchema
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if dec.Decode(&s) != nil || string(s.Type) != `"object"` || !s.fits() {
		return false
	}
	_, err := dec.Token()
	return errors.Is(err, io.EOF)
}

// plainSchema holds a schema with common keywords.
type plainSchema struct {
	Type             json.RawMessage         `json:"type"`
	Title            string                  `json:"title"`
	Description      string                  `json:"description"`
	Required         []string                `json:"required"`
	Enum             []string                `json:"enum"`
	Minimum          *float64                `json:"minimum"`
	Maximum          *float64                `json:"maximum"`
	ExclusiveMinimum *float64                `json:"exclusiveMinimum"`
	ExclusiveMaximum *float64                `json:"exclusiveMaximum"`
	Default          json.RawMessage         `json:"default"`
	Items            *plainSchema            `json:"items"`
	Properties       map[string]*plainSchema `json:"properties"`
	Additional       json.RawMessage         `json:"additionalProperties"`
}

// fits reports whether the keywords with several forms have a common one.
func (s *plainSchema) fits() bool {
	if s == nil {
		return true
	}
	for _, property := range s.Properties {
		if property == nil || !property.fits() {
			return false
		}
	}
	isText := func(value []byte) bool { return len(value) == 0 || value[0] == '"' }
	isBool := func(value []byte) bool { return len(value) == 0 || string(value) == "true" || string(value) == "false" }
	return isText(s.Type) && (isText(s.Default) || isBool(s.Default)) && isBool(s.Additional) && s.Items.fits()
}
