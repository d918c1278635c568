package openaichat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/internal/api"
)

// common lists chunks as servers send them by the thousand.
var common = map[string]string{
	"openai":     `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1777319950,"model":"gpt-4o","service_tier":"default","system_fingerprint":"fp_1","choices":[{"index":0,"delta":{"content":"%s"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"ab"}`,
	"deepseek":   `{"id":"f6","object":"chat.completion.chunk","created":1770,"model":"deepseek-chat","system_fingerprint":"fp","choices":[{"index":0,"delta":{"content":null,"reasoning_content":"%s"},"logprobs":null,"finish_reason":null}]}`,
	"vllm":       `{"id":"c","object":"chat.completion.chunk","created":1,"model":"q","choices":[{"index":0,"delta":{"content":"%s"},"logprobs":null,"finish_reason":null,"token_ids":null}]}`,
	"sglang":     `{"id":"c","object":"chat.completion.chunk","created":1,"model":"q","choices":[{"index":0,"delta":{"role":null,"content":"%s","reasoning_content":null,"tool_calls":null},"logprobs":null,"finish_reason":null,"matched_stop":null}],"usage":null}`,
	"openrouter": `{"id":"gen","object":"chat.completion.chunk","created":1,"model":"a/b","provider":"Chutes","choices":[{"index":0,"delta":{"content":"%s","role":"assistant"},"finish_reason":null,"native_finish_reason":null}]}`,
	"groq":       `{"id":"c","object":"chat.completion.chunk","created":1,"model":"q","system_fingerprint":"fp","choices":[{"index":0,"delta":{"reasoning":"%s"},"logprobs":null,"finish_reason":null}]}`,
	"llama.cpp":  `{"choices":[{"finish_reason":null,"index":0,"delta":{"content":"%s"}}],"created":1,"id":"c","model":"g","system_fingerprint":"b7010","object":"chat.completion.chunk"}`,
	"arguments":  `{"id":"c","object":"chat.completion.chunk","created":1,"model":"q","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"type":"function","function":{"arguments":"%s"}}]},"finish_reason":null}]}`,
}

// primed returns a decoder in the middle of a response with a call.
func primed() *decoder {
	d := newDecoder("p", "m", nil, nil)
	d.calls.newID = func() string { return "made" }
	for _, first := range []string{`{"id":"c","choices":[{"delta":{"content":"a"}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":"{"}}]}}]}`} {
		if _, err := d.Step([]byte(first)); err != nil {
			panic(err)
		}
	}
	return d
}

// An endless response is cut off before it uses all memory.
func TestAnswersAreBounded(t *testing.T) {
	for _, chunk := range []string{common["openai"], common["arguments"],
		`{"choices":[{"delta":{"reasoning_details":[{"type":"x","data":"%s"}]}}]}`} {
		d := primed()
		d.Count(api.MaxContent - 5)
		if _, err := d.Step([]byte(fmt.Sprintf(chunk, "word word"))); err == nil && d.Check() == nil {
			t.Errorf("%s: no error", chunk)
		}
	}
}

func BenchmarkDelta(b *testing.B) {
	for _, name := range []string{"openai", "llama.cpp", "arguments"} {
		for _, text := range []string{"a few words of text", `\tif err != nil {\n\t\treturn \"x\"\n`} {
			b.Run(fmt.Sprintf("%s/%.5s", name, text), func(b *testing.B) {
				data := []byte(fmt.Sprintf(common[name], text))
				b.ReportAllocs()
				var d *decoder
				for i := 0; b.Loop(); i++ {
					if i%20000 == 0 { // a response of 20,000 deltas
						d = primed()
					}
					if _, err := d.Step(data); err != nil {
						b.Fatal(err)
					}
					d.Out()
				}
			})
		}
	}
}

// BenchmarkLongAnswers shows that a piece of a long response costs as much as one of a short
// response: nothing is processed again with every piece.
func BenchmarkLongAnswers(b *testing.B) {
	word := strings.Repeat("word ", 20)
	for name, chunk := range map[string]string{
		"text":      fmt.Sprintf(common["openai"], word),
		"arguments": fmt.Sprintf(common["arguments"], word),
		// With the name in each piece, each asks whether the arguments are complete.
		"names": `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":"` +
			word + `"}}]}}]}`,
		"calls": `{"choices":[{"delta":{"tool_calls":[{"id":"","function":{"name":"look","arguments":"{}"}}]}}]}`,
		"details": `{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","text":"` + word +
			`","index":0}]}}]}`,
	} {
		for _, pieces := range []int{300, 30_000} {
			b.Run(fmt.Sprintf("%s/%d", name, pieces), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					d := newDecoder("p", "m", nil, nil)
					if _, err := d.Step([]byte(
						`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"look","arguments":"{"}}]}}]}`)); err != nil {
						b.Fatal(err)
					}
					for range pieces {
						if _, err := d.Step([]byte(chunk)); err != nil {
							b.Fatal(err)
						}
						d.Out()
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*pieces), "ns/piece")
			})
		}
	}
}
