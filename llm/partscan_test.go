package llm

import (
	"reflect"
	"testing"
)

// FuzzK5_Parts checks that the fast way of decoding parts gives what encoding/json gives, and gives nothing where that fails.
func FuzzK5_Parts(f *testing.F) {
	for _, seed := range []string{`[]`, `null`, `[{}]`, `[{"text":{"text":"a\n\u00e9\ud83d\ude00"}}]`, `[{"text":{"text":"a","signature":"s"}},{"tool_call":{"id":"1","name":"n","args":"{}","free":true,"signature":"s"}}]`,
		`[{"tool_result":{"call_id":"1","name":"n","content":[{"text":{"text":"é"}},{"media":{"mime":"image/png","data":"AAEC"}}],"is_error":true,"free":false}}]`,
		`[{"tool_result":{"call_id":"1","content":null}}]`, `[{"thinking":{"text":"t","signature":"s","redacted":true,"id":"i"}}]`, `[{"opaque":{"provider":"p","data":"{}"}}]`, `[{"text":{}}]`, `[{"text":null}]`,
		`[{"text":{"text":"a"},"text":{"text":"b"}}]`, `[{"text":{"text":"a","text":"b"}}]`, `[{"text":{"Text":"a"}}]`, `[{"text":{"signature":"s","text":"a"}}]`, `[{"other":{}}]`, `[{"text":{"text":"` + "\xff" + `"}}]`,
		`[ {"text":{"text":"a"}}]`, `[{"media":{"mime":1}}]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, ok := scanParts(data)
		if !ok {
			return
		}
		var want Parts
		if err := want.unmarshal(data); err != nil {
			t.Fatalf("%q was read as %v, and encoding/json says %v", data, got, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q was read as %#v, want %#v", data, got, want)
		}
	})
}

// What MarshalJSON writes is decoded in the fast way.
func TestK5_PartsAreScanned(t *testing.T) {
	parts := Parts{Text{Text: "<é>\u2028\n", Signature: "s"}, Thinking{Text: "t", ID: "i", Redacted: true}, ToolCall{ID: "1", Name: "n", Args: `{"a":"\n"}`, Free: true, Signature: "s"},
		ToolResult{CallID: "1", Name: "n", Content: Parts{Text{Text: "a"}, Media{MIME: "image/png", Data: []byte{0, 1}}}, IsError: true, Free: true}, Opaque{Provider: "p", Data: "{}"}}
	data, err := parts.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := scanParts(data); !ok || !reflect.DeepEqual(got, parts) {
		t.Errorf("%s was read as %#v, %t", data, got, ok)
	}
}
