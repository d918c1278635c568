package oracle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"

	anthropic "github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"google.golang.org/genai"

	"github.com/attractor-go/attractor/llm"
)

// deltaStream describes an answer of many deltas in a format: the bytes before the deltas, each
// delta, and the bytes after them.
type deltaStream struct {
	dialect            dialect
	before, each, last string
	// sdk reads a stream and counts the deltas. If accumulate is set, it also assembles the answer
	// with the SDK.
	sdk         func(client *http.Client, accumulate bool) (int, error)
	accumulates bool
}

// delta is a piece of text as models send it: a few words, and now and then a line break.
const delta = `\n    a few words of`

var deltaStreams = []deltaStream{
	{dialect: dialects[0], sdk: readMessages, accumulates: true,
		before: `event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

`,
		each: `event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + delta + `"}    }

`,
		last: `event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":99}}

event: message_stop
data: {"type":"message_stop"}

`},
	{dialect: dialects[1], sdk: readResponses,
		before: `event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","created_at":1,"status":"in_progress","model":"m","output":[]}}

event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","content":[],"role":"assistant"}}

event: response.content_part.added
data: {"type":"response.content_part.added","sequence_number":2,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""}}

`,
		each: `event: response.output_text.delta
data: {"type":"response.output_text.delta","sequence_number":%d,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"` + delta + `","logprobs":[],"obfuscation":"aBcDeFgHiJ"}

`,
		last: `event: response.output_item.done
data: {"type":"response.output_item.done","sequence_number":100004,"output_index":0,"item":{"id":"msg_1","type":"message","status":"completed","content":[],"role":"assistant"}}

event: response.completed
data: {"type":"response.completed","sequence_number":100005,"response":{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"m","output":[],"usage":{"input_tokens":10,"output_tokens":99,"total_tokens":109}}}

`},
	{dialect: dialects[2], sdk: readGemini,
		each: `data: {"candidates": [{"content": {"parts": [{"text": "` + delta +
			`"}],"role": "model"},"index": 0}],"usageMetadata": {"promptTokenCount": 10,"candidatesTokenCount": 5,"totalTokenCount": 15,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 10}]},"modelVersion": "gemini-2.5-flash","responseId": "r1"}

`,
		last: `data: {"candidates": [{"content": {"parts": [{"text": "."}],"role": "model"},"finishReason": "STOP","index": 0}],"usageMetadata": {"promptTokenCount": 10,"candidatesTokenCount": 99,"totalTokenCount": 109},"modelVersion": "gemini-2.5-flash","responseId": "r1"}

`},
	{dialect: dialects[3], sdk: readChat, accumulates: true,
		each: `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","service_tier":"default","system_fingerprint":null,"choices":[{"index":0,"delta":{"content":"` + delta + `"},"logprobs":null,"finish_reason":null}],"usage":null}

`,
		last: `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":99,"total_tokens":109}}

data: [DONE]

`},
}

func (x deltaStream) client(deltas int) *http.Client {
	var b strings.Builder
	for i := range deltas { // in formats with numbered events, because a repeated number is a repeated event
		b.WriteString(strings.Replace(x.each, "%d", strconv.Itoa(3+i), 1))
	}
	body := []byte(x.before + b.String() + x.last)
	return &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
				Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(bytes.NewReader(body))},
			r.Body.Close()
	})}
}

// BenchmarkTextDelta measures the processor time of a text delta from the bytes of the answer to
// the event, in answers of different lengths.
func BenchmarkTextDelta(b *testing.B) {
	for _, x := range deltaStreams {
		for _, deltas := range []int{200, 2000, 20000} {
			client := x.client(deltas)
			p := x.dialect.provider(b, client)
			perDelta(b, fmt.Sprintf("%s/ours/%d", x.dialect.name, deltas), deltas,
				func() (int, error) { return read(p) })
			perDelta(b, fmt.Sprintf("%s/sdk/%d", x.dialect.name, deltas), deltas,
				func() (int, error) { return x.sdk(client, false) })
			if x.accumulates {
				perDelta(b, fmt.Sprintf("%s/sdk_accumulating/%d", x.dialect.name, deltas), deltas,
					func() (int, error) { return x.sdk(client, true) })
			}
		}
	}
}

// TestDeltaAllocations checks that a text delta in an answer of 2,000 deltas costs no more
// allocations than decoding its event.
func TestDeltaAllocations(t *testing.T) {
	const deltas = 2000
	for _, x := range deltaStreams {
		p := x.dialect.provider(t, x.client(deltas))
		all := testing.AllocsPerRun(3, func() {
			if n, err := read(p); err != nil || n < deltas {
				t.Fatalf("%s: %d deltas: %v", x.dialect.name, n, err)
			}
		})
		if each := all / deltas; each > 40 {
			t.Errorf("%s: %.2f allocations a delta", x.dialect.name, each)
		}
	}
}

// read counts the deltas of one of our streams.
func read(p llm.Provider) (n int, err error) {
	for ev, err := range p.Stream(context.Background(), answerRequest()) {
		if err != nil {
			return n, err
		}
		if ev.Type == llm.EventTextDelta {
			n++
		}
	}
	return n, nil
}

// perDelta reports times and allocations per delta.
func perDelta(b *testing.B, name string, deltas int, read func() (int, error)) {
	b.Run(name, func(b *testing.B) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := processor(b)
		for b.Loop() {
			if n, err := read(); err != nil || n < deltas {
				b.Fatalf("%d deltas: %v", n, err)
			}
		}
		used := processor(b) - began
		runtime.ReadMemStats(&after)
		all := float64(b.N * deltas)
		b.ReportMetric(float64(used.Nanoseconds())/all, "cpu-ns/delta")
		b.ReportMetric(float64(after.Mallocs-before.Mallocs)/all, "allocs/delta")
		b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/all, "B/delta")
		b.ReportMetric(0, "ns/op")
	})
}

// readMessages reads a stream of Anthropic's API with the SDK and counts the deltas.
func readMessages(client *http.Client, accumulate bool) (n int, err error) {
	sdk := messagesClient(client)
	events := sdk.Messages.NewStreaming(context.Background(), anthropic.MessageNewParams{Model: "m", MaxTokens: 16})
	var m anthropic.Message
	for events.Next() {
		ev := events.Current()
		if ev.Delta.Text != "" {
			n++
		}
		if accumulate {
			if err := m.Accumulate(ev); err != nil {
				return n, err
			}
		}
	}
	return n, events.Err()
}

func readResponses(client *http.Client, _ bool) (n int, err error) {
	sdk := openaiClient(client)
	events := sdk.Responses.NewStreaming(context.Background(), responses.ResponseNewParams{Model: "m"})
	for events.Next() {
		if ev := events.Current(); ev.Type == "response.output_text.delta" {
			n++
		}
	}
	return n, events.Err()
}

// readChat reads a stream of Chat Completions with the SDK and counts the deltas.
func readChat(client *http.Client, accumulate bool) (n int, err error) {
	sdk := openaiClient(client)
	chunks := sdk.Chat.Completions.NewStreaming(context.Background(), openai.ChatCompletionNewParams{Model: "m"})
	var acc openai.ChatCompletionAccumulator
	for chunks.Next() {
		chunk := chunks.Current()
		if len(chunk.Choices) > 0 && chunk.Choices[0].Delta.Content != "" {
			n++
		}
		if accumulate && !acc.AddChunk(chunk) {
			return n, errors.New("refused")
		}
	}
	return n, chunks.Err()
}

// readGemini reads a stream of Gemini's API with the SDK and counts the deltas.
func readGemini(client *http.Client, _ bool) (n int, err error) {
	sdk, err := geminiClient(client)
	if err != nil {
		return 0, err
	}
	for r, err := range sdk.Models.GenerateContentStream(context.Background(), "m", genai.Text("x"), nil) {
		if err != nil {
			return n, err
		}
		if r.Text() != "" {
			n++
		}
	}
	return n, nil
}

// BenchmarkEncodeTurn1000 measures the body of a request at turn 1,000 of a session, up to the HTTP
// client, which does not read it. Ours has one more turn than the previous request, and a memo; the
// SDK has its own types, filled before.
func BenchmarkEncodeTurn1000(b *testing.B) {
	for _, d := range dialects {
		p := d.provider(b, &http.Client{Transport: nobody})
		b.Run(d.name+"/ours", func(b *testing.B) {
			s := newSession(b, p, d.models[0])
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if i%100 == 99 { // stay near turn 1,000, however often this runs
					b.StopTimer()
					s = newSession(b, p, d.models[0])
					b.StartTimer()
				}
				s.next(b)
			}
		})
		b.Run(d.name+"/sdk", func(b *testing.B) {
			var sent sentRequest
			s := newSession(b, d.provider(b, recorder(&sent)), d.models[0])
			send, _, err := d.reads(&http.Client{Transport: nobody}, s.req.Model, sent.body)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := send(); !strings.Contains(fmt.Sprint(err), errNoAnswer.Error()) {
					b.Fatal(err)
				}
			}
		})
	}
}

// nobody is a transport that rejects a request without reading its body.
var nobody = transport(func(*http.Request) (*http.Response, error) { return nil, errNoAnswer })

// session is a conversation of 1,000 turns.
type session struct {
	p   llm.Provider
	req llm.Request
	n   int
}

func newSession(b *testing.B, p llm.Provider, model string) *session {
	s := &session{p: p, req: llm.Request{Model: model, MaxTokens: 1000, Memo: new(llm.Memo), Messages: []llm.Message{
		llm.System(strings.Repeat("Be careful. ", 1000)), llm.User("Go.")}}}
	for i := range 12 {
		s.req.Tools = append(s.req.Tools, llm.ToolDefinition{Name: fmt.Sprintf("tool_%d", i),
			Description: strings.Repeat("Does things. ", 60),
			Parameters:  json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)})
	}
	for range 999 {
		s.turn()
	}
	s.next(b)
	return s
}

// turn adds an answer and the result of its call.
func (s *session) turn() {
	id := fmt.Sprintf("call_%d", s.n)
	s.n++
	s.req.Messages = append(s.req.Messages,
		llm.Message{Role: llm.RoleAssistant, Provider: s.p.Name(),
			Parts: llm.Parts{llm.Text{Text: "I look at the next file."},
				llm.ToolCall{ID: id, Name: "tool_1", Args: `{"path":"internal/x/y.go"}`}}},
		llm.ToolResults(llm.ToolResult{CallID: id, Name: "tool_1",
			Content: llm.TextParts(strings.Repeat("a line of code\n", 100))}))
}

func (s *session) next(b *testing.B) {
	s.turn()
	if _, err := llm.Collect(s.p.Stream(context.Background(), &s.req)); !errors.Is(err, llm.ErrNetwork) {
		b.Fatal(err)
	}
}
