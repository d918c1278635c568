package openai

import (
	"fmt"
	"testing"
)

var deltas = []string{
	`{"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"Hello","logprobs":[],"obfuscation":"aB3"}`,
	`{"type":"response.output_text.delta","content_index":1,"delta":" \"né\" \ud83d\ude00\n","item_id":"msg_1","logprobs":[],"obfuscation":"","output_index":12,"sequence_number":400}`,
	`{"type":"response.refusal.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"No","sequence_number":4}`,
	`{"type":"response.reasoning_summary_text.delta","delta":"Hm","item_id":"rs_1","obfuscation":"x","output_index":0,"sequence_number":4,"summary_index":2}`,
	`{"type":"response.reasoning_text.delta","item_id":"rs_1","output_index":0,"content_index":1,"delta":"Hm"}`,
	`{"type":"response.function_call_arguments.delta","sequence_number":4,"item_id":"fc_1","output_index":3,"delta":"{\"a\":","obfuscation":"x"}`,
	` { "delta" : "*** Begin" , "type" : "response.custom_tool_call_input.delta" , "item_id" : "ctc_1" , "output_index" : 1 } `,
	`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":""}`,
}

// FuzzDecode feeds two arbitrary events to the decoder: it may refuse them but not panic, and a
// finished response is whole.
func FuzzDecode(f *testing.F) {
	for _, s := range deltas {
		f.Add([]byte(s), []byte(
			`{"type":"response.completed","response":{"output":[{"type":"message","content":[{"type":"refusal","refusal":"x"}]}]}}`))
	}
	f.Add([]byte(`{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"r"}}`),
		[]byte(`{"type":"response.reasoning_text.delta","output_index":0,"delta":"x"}`))
	f.Add([]byte(`{"type":"response.output_item.added","output_index":0,"item":{"type":"x","content":5}}`),
		[]byte(`{"type":"response.output_item.done","output_index":0,"item":{"type":"x"}}`))
	f.Add([]byte(`{"type":"response.output_item.done","output_index":7,"item":null}`), []byte(`{"error":{}}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		d := newDecoder("openai", "m", nil)
		for _, data := range [][]byte{a, b} {
			if _, err := d.Step(data); err != nil {
				return
			}
		}
		if r := d.Finish().Response; len(r.Message.Parts) != len(d.Blocks) {
			t.Errorf("%d parts of %d blocks", len(r.Message.Parts), len(d.Blocks))
		}
		_ = newDecoder("openai", "m", nil).Whole(a)
	})
}

func BenchmarkDelta(b *testing.B) {
	for _, text := range []string{"a few words of text", `\tif err != nil {\n\t\treturn \"x\"\n`} {
		b.Run(fmt.Sprintf("%.5s", text), func(b *testing.B) {
			data := []byte(`{"type":"response.output_text.delta","sequence_number":4711,"item_id":"msg_01830d662ab3856501693c32183a488190",` +
				`"output_index":0,"content_index":0,"delta":"` + text +
				`","logprobs":[],"obfuscation":"o6siFnnjPfOpq"}`)
			b.ReportAllocs()
			var d *decoder
			for i := 0; b.Loop(); i++ {
				if i%20000 == 0 { // a response of 20,000 deltas
					d = newDecoder("openai", "m", nil)
					if _, err := d.Step([]byte(
						`{"type":"response.output_item.added","output_index":0,"item":{"type":"message"}}`)); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := d.Step(data); err != nil {
					b.Fatal(err)
				}
				d.Out()
			}
		})
	}
}
