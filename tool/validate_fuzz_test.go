package tool

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// nested is a schema with what tools of hosts use and ours do not: objects in arrays, patterns,
// references and the like.
const nested = `{"type":"object","properties":{"todos":{"type":"array","minItems":1,"items":{"type":"object","properties":{"text":{"type":"string",
	"minLength":1},"done":{"type":["boolean","null"]}},"required":["text"],"additionalProperties":false}},"size":{"anyOf":[{"type":"integer"},
	{"const":"auto"}]},"name":{"type":["string","number"],"pattern":"^[a-z0-9]*$"},"more":{"$ref":"#/$defs/more"}},"required":["todos"],
	"$defs":{"more":{"type":"object","additionalProperties":{"type":"integer"}}}}`

// No arguments cause a panic. What is accepted is a JSON object that fits the schema, is accepted
// again unchanged, and came from a complete JSON text.
func FuzzValidate(f *testing.F) {
	type oracle struct {
		*schema
		again *jsonschema.Resolved
		raw   string
	}
	var schemas []oracle
	for _, raw := range []string{everything, nested, `{"type":"object","properties":{}}`,
		`{"type":["object","null"],"additionalProperties":false}`,
		string(greet(new(int)).Parameters)} {
		schemas = append(schemas, oracle{parse(f, raw), resolve(f, raw), raw})
	}
	for _, text := range []string{``, `null`, `{}`, `[]`, `"{}"`, `{"i":"12","n":"1e2","b":"False","s":5,"x":1}`,
		`{"i":10.0,"maybe":null,"s":null}`,
		`{"a":"[1,\"2\"]","o":"{\"i\":\"1\"}"}`, `{"a":[1,{"x":[null]}],"e":"z"}`, `{"s":"x","s":"y"}`, `{"o":{"i":1`,
		"{\"s\":\"\xff\\ud800\"}",
		`{"todos":"[{\"text\":1,\"done\":null,\"x\":2}]","size":"auto","name":7,"more":{"n":"1"}}`, `{"i":1e400}`,
		`{"i":-0.0,"n":1e-400}`,
		`{"name":"x","times":"2","tags":[true]} {}`, strings.Repeat(`{"any":`, 50) + `1` + strings.Repeat(`}`, 50),
		`{"any":"NaN","i":"0x1"}`} {
		for i := range schemas {
			f.Add(i, text)
		}
	}
	f.Fuzz(func(t *testing.T, which int, text string) {
		s := schemas[uint(which)%uint(len(schemas))]
		args, problem := fit(s.schema, text)
		if problem != "" {
			if args != "" {
				t.Errorf("refused (%s), and %q all the same", problem, args)
			}
			return
		}
		if whole := strings.TrimSpace(text); whole != "" && !json.Valid([]byte(whole)) {
			t.Errorf("%q is no JSON and was accepted as %q", text, args)
		}
		if again, problem := fit(s.schema, args); again != args || problem != "" {
			t.Errorf("%q was accepted as %q, and that as %q (%s)", text, args, again, problem)
		}
		var object map[string]any
		if err := json.Unmarshal([]byte(args), &object); err != nil {
			t.Fatalf("%q was accepted as %q: %v", text, args, err)
		}
		if err := s.again.Validate(object); err != nil {
			t.Errorf("%q was accepted as %q: %v", text, args, err)
		}
		if s.raw == everything {
			decodeEverything(t, args)
		}
	})
}

func resolve(t testing.TB, raw string) *jsonschema.Resolved {
	var doc jsonschema.Schema
	if err := json.Unmarshal([]byte(raw), &doc); err != nil {
		t.Fatal(err)
	}
	r, err := doc.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// decodeEverything checks without the validating package that a tool's struct can hold what fits
// the schema.
func decodeEverything(t *testing.T, args string) {
	var v struct {
		S     *string
		I     *int64
		N     *float64
		B     *bool
		A     []int64
		O     *json.RawMessage
		E     *string
		Maybe *int64
		Any   any
	}
	dec := json.NewDecoder(strings.NewReader(args))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	if v.I != nil && *v.I < 0 || v.E != nil && *v.E != "x" && *v.E != "y" {
		t.Errorf("%q: %+v", args, v)
	}
}
