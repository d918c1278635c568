package tool

import (
	"encoding/json"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/seed"
)

// decodeAny decodes a text as decodeJSON does without decodeFlat.
func decodeAny(text string) (any, error) {
	list, err := decodeJSON("[" + text + "]")
	if err != nil {
		return nil, err
	}
	return list.([]any)[0], nil
}

// FuzzK8_DecodeFlat checks that decodeFlat returns what the decoder returns, and nothing that the decoder refuses.
func FuzzK8_DecodeFlat(f *testing.F) {
	for _, text := range []string{``, `{}`, ` { } `, `{"a":1}`, `{"a" : "x y", "b":-1.50e3,"c":true,"d":false , "e":null}`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`,
		`{"a":"\u00e9\n\ud83d\ude00<&>` + "\u2028" + `"}`, "{\"a\":\"\xff\"}", "{\"\xff\":1}", `{"a":[1]}`, `{"a":{}}`, `{"a":01}`, `{"a":1}x`, `{"a":1},2`, `{"a"`, `[1]`, `"x"`, `{"a":1e999}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := decodeFlat(text)
		if !ok {
			return
		}
		want, err := decodeAny(text)
		if err != nil || !reflect.DeepEqual(any(got), want) {
			t.Errorf("%q is %#v, want %#v, %v", text, got, want, err)
		}
	})
}

// plainDocs generates schemas of plain keywords.
func plainDocs(depth int) *rapid.Generator[map[string]any] {
	return rapid.Custom(func(t *rapid.T) map[string]any {
		types := []string{"string", "integer", "number", "boolean", "null"}
		if depth > 0 {
			types = append(types, "object", "array", "object")
		}
		doc := map[string]any{}
		if kind := rapid.SampledFrom(append(types, "", "two")).Draw(t, "type"); kind == "two" {
			doc["type"] = rapid.SliceOfN(rapid.SampledFrom(types), 0, 2).Draw(t, "types")
		} else if kind != "" {
			doc["type"] = kind
		}
		for _, keyword := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "additionalProperties",
			"required", "default", "description"}), 0, 3, rapid.ID[string]).Draw(t, "keywords") {
			switch keyword {
			case "enum", "required":
				doc[keyword] = rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "1"}), 0, 2).Draw(t, keyword)
			case "additionalProperties":
				doc[keyword] = rapid.Bool().Draw(t, keyword)
			case "default", "description":
				doc[keyword] = "x"
			default:
				doc[keyword] = rapid.SampledFrom([]float64{-1, 0, 1.5, 2}).Draw(t, keyword)
			}
		}
		if depth > 0 && rapid.Bool().Draw(t, "inner") {
			doc["properties"] = rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), plainDocs(depth-1), 0, 3).Draw(t, "properties")
			doc["items"] = plainDocs(depth-1).Draw(t, "items")
		}
		return doc
	})
}

// values generates arguments.
func values(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kind := rapid.IntRange(0, 9).Draw(t, "kind")
		if depth == 0 {
			kind %= 8
		}
		switch kind {
		case 8:
			return rapid.SliceOfN(values(depth-1), 0, 2).Draw(t, "list")
		case 9:
			return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), values(depth-1), 0, 3).Draw(t, "object")
		}
		return rapid.SampledFrom([]any{"a", "1", "", true, nil, json.Number("1"), json.Number("1.5"), json.Number("2.0"), json.Number("1e400"), json.Number("-0")}).Draw(t, "value")
	})
}

// TestK8_SurelyFits checks that what surelyFits accepts, the validator accepts too.
func TestK8_SurelyFits(t *testing.T) {
	accepted := 0
	seed.Check(t, func(t *rapid.T) {
		doc := plainDocs(2).Draw(t, "doc")
		doc["type"] = "object"
		raw, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		if !isPlain(raw) {
			t.Fatalf("%s is not plain", raw)
		}
		s, err := parametersOf(raw, false)
		if err != nil {
			t.Skipf("no schema, so there is nothing to compare: %v", err)
		}
		for range 20 {
			value := rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c", "d"}), values(1), 0, 3).Draw(t, "value")
			if !surelyFits(value, s.doc) {
				continue
			}
			accepted++
			floats, err := withFloats(value)
			if err == nil {
				err = s.resolved.Validate(floats)
			}
			if err != nil {
				t.Fatalf("%v fits %s, and the validator says: %v", value, raw, err)
			}
		}
	})
	if accepted == 0 {
		t.Error("nothing was accepted")
	}
}

// TestK8_ValidationAllocates checks that common arguments are validated without the decoder and the validator, which allocate five times as often.
func TestK8_ValidationAllocates(t *testing.T) {
	s := parse(t, `{"type":"object","properties":{"path":{"type":"string"},"offset":{"type":"integer","minimum":0},"mode":{"type":"string","enum":["a","b"]}},
		"required":["path"],"additionalProperties":false}`)
	s.plain = true
	const text = `{"path": "a.go", "offset": 3, "mode": "b"}`
	if args, problem := fit(s, text); args != text || problem != "" {
		t.Fatalf("%s, %s", args, problem)
	}
	if n := testing.AllocsPerRun(100, func() { fit(s, text) }); n > 30 {
		t.Errorf("%v allocations", n)
	}
}
