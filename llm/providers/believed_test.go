package providers_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/llm/providers"
	"github.com/attractor-go/attractor/llm/providertest"
)

// stream returns the body of a stream. Anthropic's and OpenAI's events have a type, which comes
// before the data.
func stream(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		b.WriteString("data: " + d + "\n\n")
	}
	return b.String()
}

// streamed returns the response that a provider decodes from a stream.
func streamed(t *testing.T, provider, body string) (*llm.Response, error) {
	t.Helper()
	return handled(t, provider, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
}

// handled returns the response that a provider decodes from what a handler streams.
func handled(t *testing.T, provider string, handle http.HandlerFunc) (*llm.Response, error) {
	t.Helper()
	kind, err := providers.Find(provider)
	if err != nil {
		t.Fatal(err)
	}
	client := llmtest.PipeClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		handle(w, r)
	}))
	p, err := kind.New(providers.Config{APIKey: "k", BaseURL: "http://x.test/v1", HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	events, err := providertest.Contract(t, p.Stream(t.Context(),
		&llm.Request{Model: "m", MaxTokens: 9, Messages: []llm.Message{llm.User("go")}}))
	if err != nil {
		return nil, err
	}
	return events[len(events)-1].Response, nil
}

// said formats a response as one line: its text, calls, finish reason and usage.
func said(r *llm.Response) string {
	var b strings.Builder
	for _, part := range r.Message.Parts {
		switch part := part.(type) {
		case llm.Text:
			b.WriteString(part.Text + " ")
		case llm.Thinking:
			b.WriteString("(" + part.Text + ") ")
		case llm.ToolCall:
			b.WriteString(part.Name + part.Args + " ")
		}
	}
	return fmt.Sprintf("%s%s %d", b.String(), r.Finish.Reason, r.Usage.Output)
}

// The parts of the streams below, by vendor: the beginning, a text, a call, the end, and events
// after the reason to stop.
const (
	antStart = `{"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":5,"output_tokens":1}}}`
	antText0 = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	antDelta = `{"type":"content_block_delta","index":%d,"delta":{"type":"text_delta","text":"Yes."}}`
	antStop  = `{"type":"content_block_stop","index":%d}`
	antCall1 = `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t1","name":"bump","input":{}}}`
	antArgs1 = `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{}"}}`
	antEnd   = `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":%d}}`
	antOver  = `{"type":"message_stop"}`

	gemText = `{"candidates":[{"content":{"parts":[{"text":"Yes."}],"role":"model"},"index":0}],"responseId":"r1"}`
	gemCall = `{"candidates":[{"content":{"parts":[{"functionCall":{"id":"%s","name":"bump","args":{}}}],"role":"model"},"index":0}],"responseId":"r1"}`
	gemEnd  = `{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":%d}}`
	gemBoth = `{"candidates":[{"content":{"parts":[{"text":"Yes."}],"role":"model"},"finishReason":"STOP","index":0}]}`
	gemMore = `{"candidates":[{"content":{"parts":[{"text":"More."},{"functionCall":{"name":"bump","args":{}}}],"role":"model"},"finishReason":"STOP","index":0}]}`

	chatText = `{"id":"c","choices":[{"index":0,"delta":{"content":"Yes."},"finish_reason":null}]}`
	chatCall = `{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0%s,"function":{"name":"bump","arguments":"{}"}}]},"finish_reason":null}]}`
	chatArgs = `{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]},"finish_reason":null}]}`
	chatEnd  = `{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"%s"}]}`
	chatUse  = `{"id":"c","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7}}`
)

func oai(number int, event string) string {
	return fmt.Sprintf(`{"sequence_number":%d,%s`, number, event[1:])
}

// oaiCall returns a stream of Responses with one call, some of whose events are sent again. number
// is how the server numbers them.
func oaiCall(number func(i int) int, again ...int) string {
	events := []string{
		`{"type":"response.created","response":{"id":"r1","object":"response","model":"m"}}`,
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"f1","call_id":"t1","name":"bump","arguments":""}}`,
		`{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"f1","delta":"["}`,
		`{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"f1","delta":"["}`,
		`{"type":"response.function_call_arguments.delta","output_index":0,"item_id":"f1","delta":"]]"}`,
		`{"type":"response.function_call_arguments.done","output_index":0,"item_id":"f1","arguments":"[[]]"}`,
		`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","id":"f1","call_id":"t1","name":"bump","arguments":"[[]]"}}`,
		`{"type":"response.completed","response":{"id":"r1","object":"response","status":"completed","output":[],"usage":{"input_tokens":5,"output_tokens":7}}}`,
	}
	var b strings.Builder
	for i, ev := range events {
		numbered := stream(oai(number(i), ev))
		b.WriteString(numbered)
		for _, n := range again {
			if n == i {
				b.WriteString(numbered)
			}
		}
		if i == 6 && len(again) > 7 { // all of them again, as a proxy does after it reconnects
			for i, ev := range events[:7] {
				b.WriteString(stream(oai(number(i), ev)))
			}
		}
	}
	return b.String()
}

func rising(i int) int { return i }

func sprint(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// TestI11_WhatStreamsDoNotPromise checks that events after the reason to stop are ignored, and that
// an event that comes twice counts once. An empty want means an error, so that no call runs.
func TestI11_WhatStreamsDoNotPromise(t *testing.T) {
	antAnswer := stream(antStart, antText0, sprint(antDelta, 0), sprint(antStop, 0), sprint(antEnd, 3))
	antTool := stream(antStart, antText0, sprint(antDelta, 0), sprint(antStop, 0), antCall1, antArgs1,
		sprint(antStop, 1))
	withIDs := func(events ...string) (s string) {
		for _, ev := range events {
			number, data, _ := strings.Cut(ev, " ")
			s += "id: " + number + "\ndata: " + data + "\n\n"
		}
		return s
	}
	for _, c := range []struct{ name, provider, body, want string }{
		{"a call after the reason", "anthropic", antAnswer + stream(antCall1, antArgs1, sprint(antStop, 1), antOver),
			"Yes. stop 3"},
		{"a text after the reason", "anthropic",
			antAnswer + stream(sprint(antDelta, 0), sprint(antStop, 0), sprint(antEnd, 7), antOver), "Yes. stop 7"},
		{"another reason", "anthropic",
			antAnswer + stream(`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":7}}`, antOver), "Yes. stop 7"},
		{"a block that ends after the reason", "anthropic", stream(antStart, antText0, sprint(antDelta, 0),
			sprint(antEnd, 3), sprint(antStop, 0), antOver), "Yes. stop 3"},
		{"after the end", "anthropic", antAnswer + stream(antOver, antCall1, antArgs1, sprint(antStop, 1), antOver),
			"Yes. stop 3"},
		{"a whole call twice", "anthropic", antTool + stream(antCall1, antArgs1, sprint(antStop, 1), sprint(antEnd, 7),
			antOver), ""},
		{"its start twice", "anthropic", strings.Replace(antTool, stream(antCall1), stream(antCall1, antCall1),
			1) + stream(sprint(antEnd, 7), antOver), ""},

		{"a call after STOP", "gemini", stream(gemText, sprint(gemEnd, 3), sprint(gemCall, "t1")), "Yes. stop 3"},
		{"a call without an id after STOP", "gemini", stream(gemText, sprint(gemEnd, 3), gemMore), "Yes. stop 3"},
		{"a text after STOP", "gemini", stream(gemBoth, gemText, sprint(gemEnd, 7)), "Yes. stop 7"},
		{"another reason", "gemini", stream(gemText, sprint(gemEnd, 3),
			strings.Replace(sprint(gemEnd, 7), "STOP", "MAX_TOKENS", 1)), "Yes. stop 7"},
		{"a call twice", "gemini", stream(sprint(gemCall, "t1"), sprint(gemCall, "t1"), sprint(gemEnd, 7)),
			"bump{} tool_calls 7"},
		{"two calls", "gemini", stream(sprint(gemCall, "t1"), sprint(gemCall, "t2"), sprint(gemEnd, 7)),
			"bump{} bump{} tool_calls 7"},

		{"a text after the reason", "openai-compatible",
			stream(chatText, sprint(chatEnd, "stop"), chatText, chatUse, "[DONE]"), "Yes. stop 7"},
		{"a call after the reason", "openai-compatible",
			stream(chatText, sprint(chatEnd, "stop"), sprint(chatCall, ""), chatUse, "[DONE]"), "Yes. stop 7"},
		{"arguments after the reason", "openai-compatible", stream(sprint(chatCall, `,"id":"t1"`),
			sprint(chatEnd, "tool_calls"), chatArgs, chatUse, "[DONE]"), "bump{} tool_calls 7"},
		{"another reason", "openai-compatible", stream(chatText, sprint(chatEnd, "stop"), sprint(chatEnd, "length"),
			chatUse, "[DONE]"), "Yes. stop 7"},
		{"after the end", "openai-compatible",
			stream(chatText, sprint(chatEnd, "stop"), "[DONE]", sprint(chatCall, "")), "Yes. stop 0"},
		{"a call twice", "openai-compatible", stream(sprint(chatCall, `,"id":"t1"`), sprint(chatCall, `,"id":"t1"`),
			sprint(chatEnd, "tool_calls"), chatUse), "bump{} tool_calls 7"},
		{"a call twice that has no id", "openai-compatible", stream(sprint(chatCall, ""), sprint(chatCall, ""),
			sprint(chatEnd, "tool_calls"), chatUse), "bump{} tool_calls 7"},
		{"chunks with an id of their own", "openai-compatible", withIDs("1 "+chatText, "1 "+chatText, "2 "+chatText,
			"1 "+chatText, "3 "+sprint(chatEnd, "stop"), "4 "+chatUse), "Yes.Yes. stop 7"},
		{"chunks that all have the same", "openai-compatible",
			withIDs("0 "+chatUse, "0 "+chatText, "0 "+chatText, "0 "+sprint(chatEnd, "stop")), "Yes.Yes. stop 7"},

		{"one call", "openai", oaiCall(rising), "bump[[]] tool_calls 7"},
		{"each event twice", "openai", oaiCall(rising, 0, 1, 2, 3, 4, 5, 6), "bump[[]] tool_calls 7"},
		{"all events again", "openai", oaiCall(rising, -1, -1, -1, -1, -1, -1, -1, -1), "bump[[]] tool_calls 7"},
		{"numbers that are all the same", "openai", oaiCall(func(int) int { return 0 }), "bump[[]] tool_calls 7"},
		{"deltas that all have the number 0", "openai", oaiCall(func(i int) int { return i * (i / 5) }),
			"bump[[]] tool_calls 7"},
		{"negative numbers", "openai", oaiCall(func(int) int { return -1 }), "bump[[]] tool_calls 7"},
		{"after the end", "openai", oaiCall(rising) + oaiCall(func(i int) int { return 8 + i }),
			"bump[[]] tool_calls 7"},
	} {
		t.Run(c.provider+"/"+c.name, func(t *testing.T) {
			got, err := streamed(t, c.provider, c.body)
			switch {
			case c.want == "" && llm.KindOf(err) != "stream":
				t.Errorf("%v, %v, want a broken stream", got, err)
			case c.want != "" && err != nil:
				t.Error(err)
			case c.want != "" && said(got) != c.want:
				t.Errorf("%q, want %q", said(got), c.want)
			}
		})
	}
}

// TestI11_UsageIsPlausible checks that counts of tokens that cannot be true are not taken over:
// sums of them would be negative.
func TestI11_UsageIsPlausible(t *testing.T) {
	const odd, huge = "-5", "9223372036854775807"
	for _, c := range []struct{ provider, body string }{
		{"anthropic", stream(strings.Replace(antStart, `"input_tokens":5`,
			`"input_tokens":`+huge+`,"cache_read_input_tokens":`+huge, 1), antText0,
			sprint(antDelta, 0), sprint(antStop, 0), strings.Replace(antEnd, "%d", odd, 1), antOver)},
		{"gemini", stream(gemText, strings.Replace(strings.Replace(gemEnd, "%d", odd, 1), `"promptTokenCount":5`,
			`"promptTokenCount":`+huge, 1))},
		{"openai-compatible", stream(chatText, sprint(chatEnd, "stop"),
			`{"id":"c","choices":[],"usage":{"prompt_tokens":`+huge+`,"completion_tokens":`+odd+`}}`, "[DONE]")},
		{"openai", strings.NewReplacer(`"input_tokens":5`, `"input_tokens":`+huge, `"output_tokens":7`,
			`"output_tokens":`+odd).Replace(oaiCall(rising))},
	} {
		got, err := streamed(t, c.provider, c.body)
		if err != nil {
			t.Errorf("%s: %v", c.provider, err)
			continue
		}
		if u := got.Usage; u.Input < 1<<30 || u.Input > 1<<31 || u.Output != 0 || u.CacheRead < 0 ||
			u.CacheRead > u.Input {
			t.Errorf("%s: %+v", c.provider, u)
		}
	}
}

// TestK11_ThousandsOfPieces checks that empty pieces count as content, so that a response cannot
// consist of any number of them.
func TestK11_ThousandsOfPieces(t *testing.T) {
	const n = 20_000 // of which a session that shows them and breaks off needs some seconds
	list := func(piece string) string { return strings.Repeat(piece+",", n-1) + piece }
	var items strings.Builder
	for i := range n {
		items.WriteString(stream(
			sprint(`{"type":"response.output_item.added","output_index":%d,"item":{"type":"message"}}`, i)))
	}
	for _, c := range []struct{ name, provider, body string }{
		{"items", "openai", items.String()},
		{"items at once", "openai", `{"object":"response","status":"completed","output":[` +
			list(`{"type":"message"}`) + `]}`},
		{"parts at once", "openai",
			`{"object":"response","status":"completed","output":[{"type":"message","content":[` +
				list(`{"type":"output_text"}`) + `]}]}`},
		{"blocks at once", "anthropic", `{"type":"message","content":[` + list(`{"type":"text"}`) +
			`],"stop_reason":"end_turn"}`},
		{"parts at once", "gemini",
			`{"candidates":[{"content":{"parts":[` + list(`{"text":"a"},{"text":"b","thought":true}`) +
				`]},"finishReason":"STOP"}]}`},
		{"calls at once", "openai-compatible",
			`{"choices":[{"message":{"tool_calls":[` + list(`{"function":{"name":"f","arguments":"{}"}}`) +
				`]},"finish_reason":"stop"}]}`},
	} {
		t.Run(c.provider+"/"+c.name, func(t *testing.T) {
			_, err := streamed(t, c.provider, c.body)
			var e *llm.Error
			if !errors.As(err, &e) || e.Kind != llm.ErrStream || !e.Final || !strings.Contains(e.Message, "16 MiB") {
				t.Errorf("%v, want a response that is too long", err)
			}
		})
	}
}
