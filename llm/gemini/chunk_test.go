package gemini

import (
	"bytes"
	"encoding/json"
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
	`{"candidates": [{"content": {"parts": [{"text": " \"né\" \ud83d\ude00\n"}],"role": "model"},"index": 0}],` + usageJSON,
	`{"candidates":[{"content":{"role":"model","parts":[{"text":"Hm","thought":true}]}}],"usageMetadata":{"trafficType":"ON_DEMAND"},` +
		`"modelVersion":"gemini-3","createTime":"2026-04-07T16:49:58.333958Z","responseId":"t_-x"}`,
	` { "candidates" : [ { "index" : 0 , "content" : { "parts" : [ { "thought" : true , "text" : "" } ] } } ] } `,
	`{"responseId": "x","usageMetadata": {"serviceTier": "standard","toolUsePromptTokenCount": 3},"candidates": [{"content": {"parts": [{"text": "a"}]}}]}`,
}

// parseChunk decodes a chunk the slow way, with which scanChunk must agree.
func parseChunk(b []byte) (c textChunk, err error) {
	var w wireChunk
	if err := json.Unmarshal(b, &w); err != nil {
		return c, err
	}
	if len(w.Candidates) != 1 || len(w.Candidates[0].Content.Parts) != 1 || w.Error != nil || w.PromptFeedback != nil {
		return c, fmt.Errorf("not a text chunk: %+v", w)
	}
	candidate := w.Candidates[0]
	if candidate.Index != 0 || candidate.FinishReason != "" || candidate.more() {
		return c, fmt.Errorf("more than text: %+v", candidate)
	}
	var p wirePart
	if err := json.Unmarshal(candidate.Content.Parts[0], &p); err != nil {
		return c, err
	}
	if p.Text == nil || p.Call != nil || p.Signature != "" {
		return c, fmt.Errorf("not a text part: %+v", p)
	}
	return textChunk{*p.Text, p.Thought, w.Usage, []byte(w.ModelVersion), []byte(w.ResponseID)}, nil
}

// Whatever the scanner accepts, encoding/json decodes the same way.
func FuzzChunk(f *testing.F) {
	for _, s := range append(chunks,
		`{"candidates": [{"content": {"parts": [{"text": "x"}]},"finishReason": "STOP"}]}`,
		`{"candidates": [{"content": {"parts": [{"text": "x"},{"text": "y"}]}}]}`,
		`{"candidates": [{"content": {"parts": [{"text": "x","Text": "y"}]}}]}`,
		`{"candidates": [{"content": {"parts": [{"text": "x","text": "y"}]}}]}`,
		`{"candidates": [{"content": {"parts": [{"text": "x","thought": true}]}}],"candidates": [{"content": {"parts": [{"text": "y"}]}}]}`,
		`{"candidates": [{"content": {"parts": [{"text": "x","thought": tru}]}}]}`,
		`{"candidates": [{"content": {"parts": [{"text": "x","thought": t r u e}]}}]}`,
		`{"candidates": [{"content": {"parts": [{"text": "x","thoughtSignature": "s"}]}}]}`,
		`{"candidates": [{"content": {"parts": [{"text": "x"}]},"index": 1}]}`,
		`{"candidates": [{"content": {"parts": [{"text": "x"}]}}],"usageMetadata": {"promptTokenCount": 1e3}}`,
		`{"candidates": [{"content": {"parts": [{"text": "x"}]}}],"usageMetadata": {"PromptTokenCount": 7}}`,
		`{"candidates": [{"content": {"parts": [{"text": "x"}]}}],"error": {}}`,
		`{"candidates": [{"content": {"parts": []}}]}`, `{"candidates": []}`, `{"candidates": [{}]}`, `{}`, ``, `[]`, `null`,
		`{"candidates": [{"content": {"parts": [{"text": "x"}]}}]}}`,
		"{\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"\xff\"}]}}]}") {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, ok := scanChunk(b)
		if !ok {
			return
		}
		want, err := parseChunk(b)
		if err != nil {
			t.Fatalf("%q: scanned, but %v", b, err)
		}
		if got.text != want.text || got.thought != want.thought || got.usage != want.usage || string(got.model) != string(want.model) ||
			string(got.id) != string(want.id) {
			t.Errorf("%q: scanned %+v, encoding/json reads %+v", b, got, want)
		}
	})
}

// FuzzAnswer decodes arbitrary input, one chunk a line: nothing panics, and the stream contract holds.
func FuzzAnswer(f *testing.F) {
	const stop = `{"candidates": [{"content": {"parts": [{"text": ""}]},"finishReason": "STOP"}]}`
	for _, s := range append(chunks, `{"candidates": [{"content": {"parts": [{"functionCall": {"name": "a","args": {"b": 1}},"thoughtSignature": "s"}]}}]}`,
		`{"candidates": [{"content": {"parts": [{"text": "","thoughtSignature": "s"},{"thoughtSignature": "t"},{"thought": true},{"x": 1}]}}]}`,
		`{"candidates": [{"finishReason": "SAFETY","safetyRatings": []}]}`, `{"promptFeedback": {"blockReason": "OTHER"}}`, `{"error": {}}`, `{}`, `[`) {
		f.Add([]byte(s + "\n" + s + "\n" + stop))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d := newDecoder("gemini", &llm.Request{Model: "m"}, new(callNames), nil)
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
			if _, err := d.End(); err != nil {
				yield(llm.StreamEvent{}, &llm.Error{Kind: llm.ErrStream, Err: err})
				return
			}
			for _, ev := range d.Out() {
				yield(ev, nil)
			}
			yield(d.Finish(), nil)
		})
		if err == nil && d.resp.Finish.Reason == "" {
			t.Error("an answer without a reason")
		}
	})
}

// If the scanner rejected ordinary chunks, decoding would be slow, and no other test would notice.
func TestOrdinaryChunksAreScanned(t *testing.T) {
	for _, s := range chunks {
		if _, ok := scanChunk([]byte(s)); !ok {
			t.Errorf("not scanned: %s", s)
		}
	}
}

func BenchmarkChunk(b *testing.B) {
	for _, text := range []string{"a few words of text", `\tif err != nil {\n\t\treturn \"x\"\n`} {
		b.Run(fmt.Sprintf("%.5s", text), func(b *testing.B) {
			data := []byte(`{"candidates": [{"content": {"parts": [{"text": "` + text + `"}],"role": "model"},"index": 0}],` + usageJSON)
			b.ReportAllocs()
			var d *decoder
			for i := 0; b.Loop(); i++ {
				if i%20000 == 0 { // a response of 20,000 chunks
					d = newDecoder("gemini", &llm.Request{Model: "m"}, new(callNames), nil)
				}
				if _, err := d.Step(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
