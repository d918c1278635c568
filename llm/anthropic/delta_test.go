package anthropic

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

var deltas = []string{
	`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}`,
	`{"type":"content_block_delta","index":12,"delta":{"type":"text_delta","text":" \"né\" \ud83d\ude00\n"}      }`,
	`{"index":1,"delta":{"type":"thinking_delta","thinking":"Hm"},"type":"content_block_delta"}`,
	` { "type" : "content_block_delta" , "index" : 3 , "delta" : { "type" : "input_json_delta" , "partial_json" : "{\"a\":" } } `,
	`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":""}}`,
	`{"delta":{"text":"sorted by name","type":"text_delta"},"index":0,"type":"content_block_delta"}`,
	`{"delta":{"partial_json":"{}","type":"input_json_delta"},"index":0,"type":"content_block_delta"}`,
}

// Whatever the scanner accepts, encoding/json decodes the same way.
func FuzzDelta(f *testing.F) {
	for _, s := range append(deltas,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"x"}}`,
		`{"type":"content_block_delta","index":0,"index":1,"delta":{"type":"text_delta","text":"x"}}`,
		`{"type":"content_block_delta","Index":1,"delta":{"type":"text_delta","text":"x"}}`,
		`{"type":"content_block_delta","index":01,"delta":{"type":"text_delta","text":"x"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x","text":"y"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","thinking":"x"}}`,
		`{"type":"content_block_delta","index":0,"delta":{"text":"x"}}`,
		`{"type":"content_block_delta","index":0}`, `{}`, ``, `{"type":"message_stop"}`,
		"{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"\xff\"}}") {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, ok := scanDelta(b)
		if !ok {
			return
		}
		var ev wireEvent
		if err := json.Unmarshal(b, &ev); err != nil || ev.Type != "content_block_delta" {
			t.Fatalf("%q: scanned, but %v, type %q", b, err, ev.Type)
		}
		want, err := parseDelta(&ev)
		if err != nil || got != want {
			t.Errorf("%q: scanned %+v, encoding/json reads %+v (%v)", b, got, want, err)
		}
	})
}

// If the scanner rejected ordinary events, decoding would be slow, and no other test would notice.
func TestOrdinaryDeltasAreScanned(t *testing.T) {
	for _, s := range deltas {
		if _, ok := scanDelta([]byte(s)); !ok {
			t.Errorf("not scanned: %s", s)
		}
	}
}

var stops = []string{
	`{"type":"content_block_stop","index":0}`,
	`{"type":"content_block_stop","index":12           }`,
	` { "index" : 3 , "type" : "content_block_stop" } `,
	`{"type":"message_stop"}`,
	`{"type":"message_stop"       }`,
}

// FuzzK8_Stop checks that encoding/json decodes whatever scanStop accepts, in the same way.
func FuzzK8_Stop(f *testing.F) {
	for _, s := range append(stops, `{"type":"content_block_stop","index":-1}`, `{"type":"content_block_stop","index":01}`, `{"type":"content_block_stop","index":1.0}`,
		`{"type":"content_block_stop","index":null}`, `{"type":"message_stop","type":"content_block_stop"}`, `{"index":1,"index":2,"type":"content_block_stop"}`,
		`{"type":"message_stop","usage":{}}`, `{"type":"message_stop"}}`, `{"type":"message_stop",}`, `{"Type":"message_stop"}`, `{"index":1}`, `{}`, `{`, ``,
		`{"type":"content_block_stop","index":99999999999999999999}`) {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, ok := scanStop(b)
		if !ok {
			return
		}
		var want wireEvent
		if err := json.Unmarshal(b, &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: scanned %+v, encoding/json reads %+v (%v)", b, got, want, err)
		}
	})
}

// TestK8_OrdinaryStopsAreScanned checks that ordinary ends of blocks and answers take the fast way.
func TestK8_OrdinaryStopsAreScanned(t *testing.T) {
	for _, s := range stops {
		if _, ok := scanStop([]byte(s)); !ok {
			t.Errorf("not scanned: %s", s)
		}
	}
}

// TestK8_ScriptedDeltasAreScanned checks that all deltas of the scripted model but signatures take the fast way.
func TestK8_ScriptedDeltasAreScanned(t *testing.T) {
	server := fakellm.New(fakellm.Script(fakellm.Turn{Thinking: "Hm, \"né\".", Text: "A text.\n",
		Calls: []fakellm.Call{{Name: "look", Args: json.RawMessage(`{"path":"a\u0000b"}`)}}}), fakellm.Options{})
	w := httptest.NewRecorder()
	r := httptest.NewRequest("POST", "/v1/messages", strings.NewReader(`{"model":"m","max_tokens":9,"stream":true,
		"messages":[{"role":"user","content":[{"type":"text","text":"Go."}]}],"tools":[{"name":"look","input_schema":{"type":"object"}}]}`))
	r.Header = http.Header{"X-Api-Key": {"k"}, "Anthropic-Version": {apiVersion}, "Content-Type": {"application/json"}}
	server.ServeHTTP(w, r)
	scanned := map[deltaKind]int{}
	for line := range strings.Lines(w.Body.String()) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || !strings.Contains(data, `"content_block_delta"`) || strings.Contains(data, `"signature_delta"`) {
			continue
		}
		d, ok := scanDelta([]byte(data))
		if !ok {
			t.Errorf("not scanned: %s", data)
		}
		scanned[d.kind]++
	}
	if scanned[textDelta] == 0 || scanned[thinkingDelta] == 0 || scanned[inputDelta] == 0 {
		t.Errorf("scanned %v of %s", scanned, w.Body)
	}
}

func BenchmarkDelta(b *testing.B) {
	for _, text := range []string{"a few words of text", `\tif err != nil {\n\t\treturn \"x\"\n`} {
		b.Run(fmt.Sprintf("%.5s", text), func(b *testing.B) {
			data := []byte(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + text + `"}    }`)
			b.ReportAllocs()
			var d *decoder
			for i := 0; b.Loop(); i++ {
				if i%20000 == 0 { // a response of 20,000 deltas
					d = newDecoder("anthropic", "m", nil)
					d.begun = true
					if err := d.blockStart(0, json.RawMessage(`{"type":"text","text":""}`), nil); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := d.Step(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
