package tool

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/seed"
	"github.com/attractor-go/attractor/llm"
)

// sameVerdict checks that a tool can be registered exactly if its schema can be parsed.
func sameVerdict(t interface{ Errorf(string, ...any) }, raw string) {
	of := New(llm.ToolDefinition{Name: "x", Parameters: json.RawMessage(raw)}, func(context.Context, *Call,
		struct{}) (Result, error) {
		return Result{}, nil
	})
	_, want := parametersOf(of.Parameters, true)
	err := new(Registry).Register(of)
	if (err == nil) != (want == nil) {
		t.Errorf("%s: Register says %v, the parser %v", raw, err, want)
	}
}

// A schema that is parsed when a call needs it would have been parsed before: wrong schemas are
// refused when their tool is registered.
func FuzzPlainSchema(f *testing.F) {
	for _, raw := range []string{
		everything, nested, string(greet(new(int)).Parameters), `{"type":"object"}`, `{"type":["object"]}`,
		`{"type":"string"}`, `{}`, `[]`, `{"type":"object","type":5}`, `{"type":"object"} {}`,
		`{"type":"object","Type":5}`, `{"type":"object","properties":{"a":5}}`,
		`{"type":"object","properties":{"a":null}}`, `{"type":"object","properties":[]}`,
		`{"type":"object","required":"a"}`, `{"type":"object","required":[1]}`,
		`{"type":"object","properties":{"n":{"minimum":1e999}}}`,
		`{"type":"object","properties":{"n":{"maximum":"1"}}}`, `{"type":"object","properties":{"n":{"enum":[1e999]}}}`,
		`{"type":"object","items":[]}`,
		`{"type":"object","additionalProperties":1}`, `{"type":"object","properties":{"p":{"pattern":"("}}}`,
		`{"type":"object","properties":{"p":{"$ref":"#/no"}}}`,
		`{"type":"object","description":5}`, `{"type":"object","description":"\ud800"}`,
		`{"type":"object","$schema":"no"}`, `{"type":"object","default":1e999}`,
		`{"type":"object","default":"","exclusiveMinimum":"1"}`,
		`{"type":"object","default":{"a":1e999}}`,
		`{"type":"object","type":"string"}`, `{"type":"object","t\u0079pe":5}`,
		`{"properties":{"a":{},"\u0061":{"type":5}},"type":"object"}`, `{"type":"object","required":[,]}`,
		`{"type":"object","default":}`,
		`{"type":"object"` + strings.Repeat(`,"items":{"type":"object"`, 30) + `,"type":5` + strings.Repeat("}", 31),
		`{"type":"object","properties":{"a":{"type":{}}}}`,
		`{"type":"object","properties":{"a":{"type":["string",1]}}}`, `{"type":"object","minItems":1.5}`,
	} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) { sameVerdict(t, raw) })
}

// The same for schemas with right and wrong values in all places.
func TestK1_WrongSchemasAreRefusedAtOnce(t *testing.T) {
	seed.Check(t, func(t *rapid.T) {
		doc := genSchema(3).Draw(t, "schema")
		if rapid.IntRange(0, 7).Draw(t, "object") > 0 {
			doc["type"] = "object"
		}
		raw, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		sameVerdict(t, string(raw))
	})
}

// genSchema returns schemas in which each value may be of the wrong type.
func genSchema(depth int) *rapid.Generator[map[string]any] {
	return rapid.Custom(func(t *rapid.T) map[string]any {
		doc := map[string]any{}
		keywords := []string{"type", "description", "title", "required", "enum", "minimum", "exclusiveMaximum",
			"default", "items", "additionalProperties", "properties", "Type", "pattern", "$id"}
		for _, keyword := range rapid.SliceOfNDistinct(rapid.SampledFrom(keywords), 0, 4, rapid.ID).Draw(t,
			"keywords") {
			doc[keyword] = genKeyword(keyword, depth).Draw(t, keyword)
		}
		return doc
	})
}

// genKeyword returns values for a keyword. About one in eight is of a random type.
func genKeyword(keyword string, depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		texts := rapid.SliceOfN(rapid.SampledFrom([]string{"string", "object", "a"}), 0, 3)
		if depth == 0 || rapid.IntRange(0, 7).Draw(t, "wrong") == 0 {
			return rapid.SampledFrom([]any{nil, true, 5, 1.5, "x", []any{}, []any{5}, map[string]any{},
				map[string]any{"a": 5}}).Draw(t, "value")
		}
		switch keyword {
		case "required", "enum":
			return texts.Draw(t, "texts")
		case "minimum", "exclusiveMaximum":
			return rapid.Float64().Draw(t, "number")
		case "items", "additionalProperties":
			return genSchema(depth-1).Draw(t, "schema")
		case "properties":
			return rapid.MapOfN(rapid.StringN(0, 3, 8), genSchema(depth-1), 0, 3).Draw(t, "properties")
		}
		return rapid.SampledFrom([]string{"string", "object", "("}).Draw(t, "text")
	})
}

// A plain schema is parsed for the first call, not before, and then once.
func TestK1_PlainSchemasAreParsedWhenCalled(t *testing.T) {
	runs := 0
	of := greet(&runs)
	r := register(t, of)
	if of.compiled.schema != nil {
		t.Error("the schema was parsed although nobody called the tool")
	}
	if p := r.Prepare(llm.ToolCall{Name: "greet", Args: `{"name":5,"times":"x"}`}); p.Valid {
		t.Error("wrong arguments are valid")
	}
	first := of.compiled.schema
	if p := register(t, of).Prepare(llm.ToolCall{Name: "greet", Args: `{"name":"A"}`}); !p.Valid || first == nil ||
		of.compiled.schema != first {
		t.Errorf("valid %v, parsed %v, the same as before %v", p.Valid, first != nil, of.compiled.schema == first)
	}
}
