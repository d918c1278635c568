package gemini

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/providertest"
)

const usageJSON = `"usageMetadata": {"promptTokenCount": 1161,"candidatesTokenCount": 16,"totalTokenCount": 1222,"cachedContentTokenCount": 1024,` +
	`"promptTokensDetails": [{"modality": "TEXT","tokenCount": 1161}],"cacheTokensDetails": [{"modality": "TEXT","tokenCount": 1024}],` +
	`"thoughtsTokenCount": 45},"modelVersion": "gemini-3-flash-preview","responseId": "aiS5abqwJJf7nsEPuIy3wQQ"}`

var chunks = []string{
	`{"candidates": [{"content": {"parts": [{"text": "Hello"}],"role": "model"},"index": 0}],` + usageJSON,
	`{"candidates": [{"content": {"parts": [{"text": " \"né\" \ud83d\ude00\n"}],"role": "model"},"index": 0}],` +
		usageJSON,
	`{"candidates":[{"content":{"role":"model","parts":[{"text":"Hm","thought":true}]}}],"usageMetadata":{"trafficType":"ON_DEMAND"},` +
		`"modelVersion":"gemini-3","createTime":"2026-04-07T16:49:58.333958Z","responseId":"t_-x"}`,
	` { "candidates" : [ { "index" : 0 , "content" : { "parts" : [ { "thought" : true , "text" : "" } ] } } ] } `,
	`{"responseId": "x","usageMetadata": {"serviceTier": "standard","toolUsePromptTokenCount": 3},"candidates": [{"content": {"parts": [{"text": "a"}]}}]}`,
}

// FuzzAnswer decodes arbitrary input, one chunk a line: nothing panics, and the stream contract
// holds.
func FuzzAnswer(f *testing.F) {
	const stop = `{"candidates": [{"content": {"parts": [{"text": ""}]},"finishReason": "STOP"}]}`
	for _, s := range append(chunks,
		`{"candidates": [{"content": {"parts": [{"functionCall": {"name": "a","args": {"b": 1}},"thoughtSignature": "s"}]}}]}`,
		`{"candidates": [{"content": {"parts": [{"text": "","thoughtSignature": "s"},{"thoughtSignature": "t"},{"thought": true},{"x": 1}]}}]}`,
		`{"candidates": [{"finishReason": "SAFETY","safetyRatings": []}]}`,
		`{"promptFeedback": {"blockReason": "OTHER"}}`, `{"error": {}}`, `{}`, `[`) {
		f.Add([]byte(s + "\n" + s + "\n" + stop))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d := newDecoder("gemini", &llm.Request{Model: "m"}, nil)
		_, err := providertest.Contract(t, func(yield func(llm.StreamEvent, error) bool) {
			for _, chunk := range bytes.Split(b, []byte("\n")) {
				_, err := d.Step(chunk)
				if err != nil {
					yield(llm.StreamEvent{}, &llm.Error{Kind: llm.ErrStream, Err: err})
					return
				}
				for _, ev := range d.Out() {
					yield(ev, nil)
				}
			}
			if _, err := d.End(false); err != nil {
				yield(llm.StreamEvent{}, &llm.Error{Kind: llm.ErrStream, Err: err})
				return
			}
			for _, ev := range d.Out() {
				yield(ev, nil)
			}
			yield(d.Finish(), nil)
		})
		if err == nil && d.Response.Finish.Reason == "" {
			t.Error("an answer without a reason")
		}
	})
}

func BenchmarkChunk(b *testing.B) {
	for _, text := range []string{"a few words of text", `\tif err != nil {\n\t\treturn \"x\"\n`} {
		b.Run(fmt.Sprintf("%.5s", text), func(b *testing.B) {
			data := []byte(`{"candidates": [{"content": {"parts": [{"text": "` + text +
				`"}],"role": "model"},"index": 0}],` + usageJSON)
			b.ReportAllocs()
			var d *decoder
			for i := 0; b.Loop(); i++ {
				if i%20000 == 0 { // a response of 20,000 chunks
					d = newDecoder("gemini", &llm.Request{Model: "m"}, nil)
				}
				if _, err := d.Step(data); err != nil {
					b.Fatal(err)
				}
				d.Out()
			}
		})
	}
}
