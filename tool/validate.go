package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/attractor-go/attractor/internal/texts"
)

// schema validates arguments. It coerces values where a model errs harmlessly (a number or boolean
// as a string, a null for an optional parameter) and is strict where a guess could do damage.
type schema struct {
	doc      *jsonschema.Schema
	resolved *jsonschema.Resolved
	noun     string // what messages call a property
	strict   bool   // fields that the schema does not name would be lost
}

// parametersOf returns the schema of a tool's parameters.
func parametersOf(raw json.RawMessage, strict bool) (*schema, error) {
	s, err := parseSchema(raw, "parameter")
	if err != nil {
		return nil, fmt.Errorf("parameters: %w", err)
	}
	s.strict = strict
	return s, nil
}

// parseSchema returns the schema of an object. Messages about its properties call them by the noun.
func parseSchema(raw json.RawMessage, noun string) (*schema, error) {
	doc := new(jsonschema.Schema)
	if err := json.Unmarshal(raw, doc); err != nil {
		return nil, err
	}
	if !slices.Contains(typesOf(doc), "object") {
		return nil, errors.New("the schema must be of type object")
	}
	resolved, err := doc.Resolve(nil)
	if err != nil {
		return nil, err
	}
	return &schema{doc: doc, resolved: resolved, noun: noun}, nil
}

// validation holds the result of validating arguments.
type validation struct {
	args    string         // the arguments to run with, unchanged unless a value was coerced
	problem string         // for the model; args is empty then
	unknown []unknownField // fields that were removed from args
}

// validate fits arguments to the schema.
func (s *schema) validate(text string) validation {
	if t := strings.TrimSpace(text); t == "" || t == "null" { // what models send for a tool without parameters
		text = "{}"
	}
	value, err := decodeJSON(text)
	if err != nil {
		return validation{problem: "they are not valid JSON (" + err.Error() + ")"}
	}
	m := coercer{noun: s.noun, strict: s.strict}
	if encoded, ok := value.(string); ok { // some servers encode an object once more
		if object, ok := coerce(encoded, []string{"object"}); ok {
			value, m.changed = object, true
		}
	}
	if _, ok := value.(map[string]any); !ok {
		return validation{problem: "they must be one JSON object with the parameters as its fields, not " +
			describe(value)}
	}
	value = m.fit("", value, s.doc)
	if len(m.problems) > 0 {
		return validation{problem: strings.Join(m.problems, "; "), unknown: m.unknown}
	}
	if m.changed {
		mended, err := json.Marshal(value)
		if err != nil {
			return validation{problem: err.Error()}
		}
		text = string(mended)
	}
	floats, err := withFloats(text)
	if err == nil {
		err = s.resolved.Validate(floats)
	}
	if err != nil {
		return validation{problem: err.Error(), unknown: m.unknown}
	}
	return validation{args: text, unknown: m.unknown}
}

// decodeJSON decodes one JSON value and keeps its numbers as they are written. A field that an
// object has twice is an error, because either value could be meant.
func decodeJSON(text string) (any, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	value, err := decodeValue(dec, 0)
	if err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return nil, errors.New("the text breaks off; was your response cut off?")
		}
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("more text after the object, at byte %d", dec.InputOffset())
	}
	return value, nil
}

// maxDepth is the deepest nesting of arguments.
const maxDepth = 1000

func decodeValue(dec *json.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("objects and arrays are nested more than %d deep", maxDepth)
	}
	token, err := dec.Token()
	switch token {
	case json.Delim('{'):
		return decodeObject(dec, depth)
	case json.Delim('['):
		return decodeArray(dec, depth)
	}
	return token, err
}

func decodeObject(dec *json.Decoder, depth int) (any, error) {
	object := map[string]any{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name := token.(string) // the decoder accepts nothing else here
		if _, twice := object[name]; twice {
			return nil, fmt.Errorf("the field %q occurs twice", name)
		}
		if object[name], err = decodeValue(dec, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := dec.Token()
	return object, err
}

func decodeArray(dec *json.Decoder, depth int) (any, error) {
	array := []any{}
	for dec.More() {
		value, err := decodeValue(dec, depth+1)
		if err != nil {
			return nil, err
		}
		array = append(array, value)
	}
	_, err := dec.Token()
	return array, err
}

// withFloats decodes a JSON text with numbers as float64, which the validator needs. It fails if a
// number is out of range.
func withFloats(text string) (value any, err error) {
	var wrong *json.UnmarshalTypeError
	if err = json.Unmarshal([]byte(text), &value); errors.As(err, &wrong) {
		err = fmt.Errorf("the %s is out of range", wrong.Value)
	}
	return value, err
}

// coercer fits a value to a schema and collects the problems.
type coercer struct {
	noun     string // as in schema
	strict   bool   // as in schema
	changed  bool
	problems []string
	unknown  []unknownField
}

func (m *coercer) problem(path, format string, args ...any) {
	m.problems = append(m.problems, fmt.Sprintf("%s %q ", m.noun, path)+fmt.Sprintf(format, args...))
}

// fit returns a value as the schema wants it, and collects what is wrong with it. It changes
// objects and arrays in place. The path names the value in messages; it is empty for the arguments
// as a whole.
func (m *coercer) fit(path string, value any, doc *jsonschema.Schema) any {
	if doc == nil {
		return value
	}
	types := typesOf(doc)
	switch v := value.(type) {
	case map[string]any:
		if slices.Contains(types, "object") {
			return m.fitObject(path, v, doc)
		}
	case []any:
		if slices.Contains(types, "array") {
			m.checkBounds(path, value, doc)
			for i := range v {
				v[i] = m.fit(fmt.Sprintf("%s[%d]", path, i), v[i], doc.Items)
			}
			return v
		}
	case string:
		if coerced, ok := coerce(v, types); ok {
			m.changed = true
			// the value in the text must fit too; it is not a string, so the recursion ends
			return m.fit(path, coerced, doc)
		}
	case json.Number:
		if len(types) == 1 && types[0] == "string" {
			value, m.changed = v.String(), true
		} else if whole, ok := wholeNumber(v); ok && whole != v && slices.Contains(types, "integer") {
			value, m.changed = whole, true // 10.0 and 1e1 are integers to JSON Schema, but not to a Go int
		}
	case bool:
		if len(types) == 1 && types[0] == "string" {
			value, m.changed = strconv.FormatBool(v), true
		}
	}
	if len(types) > 0 && !slices.ContainsFunc(types, func(t string) bool { return isType(value, t) }) {
		m.problem(path, "must be %s, got %s", strings.Join(withArticles(types), " or "), describe(value))
		return value
	}
	if len(doc.Enum) > 0 && !isOneOf(value, doc.Enum) {
		m.problem(path, "must be one of %s, got %s", quotedList(doc.Enum), describe(value))
	}
	m.checkBounds(path, value, doc)
	return value
}

// isOneOf reports whether a decoded value equals one of an enum, in which numbers are float64. A
// number that is out of range equals none.
func isOneOf(value any, enum []any) bool {
	text, err := json.Marshal(value)
	if err != nil {
		return false
	}
	floats, err := withFloats(string(text))
	return err == nil && slices.ContainsFunc(enum, func(e any) bool { return reflect.DeepEqual(e, floats) })
}

// checkBounds reports a value outside the schema's limits.
func (m *coercer) checkBounds(path string, value any, doc *jsonschema.Schema) {
	switch v := value.(type) {
	case json.Number:
		n, err := v.Float64()
		switch {
		case err != nil:
		case doc.Minimum != nil && n < *doc.Minimum:
			m.problem(path, "must be %v or more, got %s", *doc.Minimum, v)
		case doc.Maximum != nil && n > *doc.Maximum:
			m.problem(path, "must be %v or less, got %s", *doc.Maximum, v)
		case doc.ExclusiveMinimum != nil && n <= *doc.ExclusiveMinimum:
			m.problem(path, "must be more than %v, got %s", *doc.ExclusiveMinimum, v)
		case doc.ExclusiveMaximum != nil && n >= *doc.ExclusiveMaximum:
			m.problem(path, "must be less than %v, got %s", *doc.ExclusiveMaximum, v)
		}
	case string:
		m.checkLength(path, utf8.RuneCountInString(v), doc.MinLength, doc.MaxLength)
	case []any:
		m.checkLength(path, len(v), doc.MinItems, doc.MaxItems)
	}
}

func (m *coercer) checkLength(path string, n int, least, most *int) {
	switch {
	case least != nil && n < *least:
		m.problem(path, "is too short: its length is %d, the minimum is %d", n, *least)
	case most != nil && n > *most:
		m.problem(path, "is too long: its length is %d, the maximum is %d", n, *most)
	}
}

// fitObject fits the members of an object. It removes those that the schema does not know, and
// nulls that stand for a missing member.
func (m *coercer) fitObject(path string, v map[string]any, doc *jsonschema.Schema) any {
	for _, name := range doc.Required {
		if _, ok := v[name]; !ok {
			m.problem(joinPath(path, name), "is missing; it is required (%s)",
				strings.Join(withArticles(typesOf(doc.Properties[name])), " or "))
		}
	}
	for _, name := range unknownNames(v, doc, m.strict) {
		if !isComment(name) {
			m.unknown = append(m.unknown, newUnknownField(path, name, v, doc))
		}
		delete(v, name)
		m.changed = true
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		property := doc.Properties[name]
		switch {
		case property != nil && v[name] == nil && !slices.Contains(doc.Required, name) && refusesNull(property):
			delete(v, name)
			m.changed = true
		case property != nil:
			v[name] = m.fit(joinPath(path, name), v[name], property)
		}
	}
	return v
}

// refusesNull reports whether null cannot fit a schema because of its types.
func refusesNull(doc *jsonschema.Schema) bool {
	types := typesOf(doc)
	return len(types) > 0 && !slices.Contains(types, "null")
}

// coerce decodes a string if its text is exactly a value of a type that the schema wants.
func coerce(s string, types []string) (any, bool) {
	if slices.Contains(types, "string") {
		return nil, false
	}
	for _, t := range types {
		switch t {
		case "integer", "number":
			if n, err := decodeJSON(s); err == nil && isType(n, t) {
				return n, true
			}
		case "array", "object":
			if v, err := decodeJSON(s); err == nil && isType(v, t) {
				return v, true
			}
		case "boolean":
			switch strings.ToLower(strings.TrimSpace(s)) {
			case "true":
				return true, true
			case "false":
				return false, true
			}
		}
	}
	return nil, false
}

// forbidsUnknown reports whether the schema forbids properties that it does not name
// (additionalProperties: false).
func forbidsUnknown(doc *jsonschema.Schema) bool {
	a := doc.AdditionalProperties
	return a != nil && a.Not != nil
}

func typesOf(doc *jsonschema.Schema) []string {
	switch {
	case doc == nil:
		return nil
	case doc.Type != "":
		return []string{doc.Type}
	}
	return doc.Types
}

func isType(value any, t string) bool {
	switch v := value.(type) {
	case nil:
		return t == "null"
	case bool:
		return t == "boolean"
	case string:
		return t == "string"
	case []any:
		return t == "array"
	case map[string]any:
		return t == "object"
	case json.Number:
		if t == "integer" {
			_, ok := wholeNumber(v)
			return ok
		}
		_, err := v.Float64()
		return err == nil && t == "number"
	}
	return false
}

// wholeNumber returns a number without fraction and exponent if a float64 holds it exactly.
func wholeNumber(n json.Number) (json.Number, bool) {
	if _, err := n.Int64(); err == nil {
		return n, true
	}
	const exact = 1 << 53
	f, err := n.Float64()
	if err != nil || f != math.Trunc(f) || math.Abs(f) > exact {
		return n, false
	}
	return json.Number(strconv.FormatInt(int64(f), 10)), true
}

func withArticles(types []string) []string {
	named := make([]string, len(types))
	for i, t := range types {
		article := "a "
		if strings.ContainsAny(t[:1], "aeiou") {
			article = "an "
		}
		named[i] = article + t
	}
	return named
}

// describe returns a value, shortened, for the model.
func describe(value any) string {
	const limit = 60
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprintf("a %T", value)
	}
	shown := texts.Cut(string(text), limit, "...")
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "the string " + shown
	case json.Number:
		return "the number " + shown
	case bool:
		return "the boolean " + shown
	case []any:
		return "the array " + shown
	}
	return "the object " + shown
}

// quotedList returns the values of an enum for the model: strings in quotes, all others as JSON.
func quotedList(values []any) string {
	var b bytes.Buffer
	for i, v := range values {
		if i > 0 {
			b.WriteString(", ")
		}
		text, err := json.Marshal(v)
		if _, isText := v.(string); isText || err != nil {
			fmt.Fprintf(&b, "%q", fmt.Sprint(v))
		} else {
			b.Write(text)
		}
	}
	return b.String()
}

func joinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
