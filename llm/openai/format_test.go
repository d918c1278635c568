package openai

import "testing"

func TestG9_StrictSchema(t *testing.T) {
	for schema, want := range map[string]bool{
		`{"type":"object","properties":{},"additionalProperties":false}`:                                                                          true,
		`{"type":"object","properties":{"a":{"type":["string","null"]}},"required":["a"],"additionalProperties":false}`:                           true,
		`{"$schema":"x","type":"object","properties":{"a":{"enum":[1]}},"required":["a"],"additionalProperties":false,"title":"T"}`:               true,
		`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`:                                                     false,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`:                                                                 false,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":true}`:                                     false,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":{"type":"string"}}`:                        false,
		`{"type":"object","additionalProperties":false}`:                                                                                          false,
		`{"type":"object","properties":{"a":{"type":"string","minLength":1}},"required":["a"],"additionalProperties":false}`:                      false,
		`{"type":"object","properties":{"a":{"type":"object"}},"required":["a"],"additionalProperties":false}`:                                    false,
		`{"type":"object","properties":{"a":{"type":"array","items":{"not":{}}}},"required":["a"],"additionalProperties":false}`:                  false,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"string","format":"date"}]}},"required":["a"],"additionalProperties":false}`:        false,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/d"}},"required":["a"],"additionalProperties":false,"$defs":{"d":{"type":"object"}}}`: false,
		`{"type":"object","properties":{"a":true},"required":["a"],"additionalProperties":false}`:                                                 false,
		`{"type":"array","items":{"type":"string"}}`:                                                                                              false,
		`{"type":"object","anyOf":[],"properties":{},"additionalProperties":false}`:                                                               false,
		`true`: false,
	} {
		if got := strictSchema([]byte(schema)); got != want {
			t.Errorf("%s: %v", schema, got)
		}
	}
}
