package fakellm_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
)

const chatPath = "/v1/chat/completions"

func TestChatWhole(t *testing.T) {
	srv := serve(t, fakellm.New(fakellm.Script(fakellm.Turn{Thinking: "Hm.", Text: "Yes.",
		Calls: []fakellm.Call{{Name: "look", Args: json.RawMessage(`{"at":"a"}`)}}}), fakellm.Options{}))
	status, body := post(t, srv, chatPath, `{"model":"m","messages":[{"role":"user","content":"hi"}]}`, nil)
	var got struct {
		ID, Object, Model string
		Choices           []struct {
			Message struct {
				Content          string
				ReasoningContent string `json:"reasoning_content"`
				ToolCalls        []struct {
					ID       string
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
			Finish string `json:"finish_reason"`
		}
		Usage struct {
			Prompt     int `json:"prompt_tokens"`
			Completion int `json:"completion_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || status != 200 || len(got.Choices) != 1 {
		t.Fatalf("%d %s: %v", status, body, err)
	}
	c := got.Choices[0]
	if got.Object != "chat.completion" || got.Model != "m" || c.Message.Content != "Yes." ||
		c.Message.ReasoningContent != "Hm." || c.Finish != "tool_calls" ||
		len(c.Message.ToolCalls) != 1 || c.Message.ToolCalls[0].Function.Arguments != `{"at":"a"}` ||
		got.Usage.Prompt == 0 || got.Usage.Completion == 0 {
		t.Errorf("%s", body)
	}
}

// The stream has the usage only on request, and ends with [DONE].
func TestChatStream(t *testing.T) {
	srv := serve(t, fakellm.New(fakellm.Script(fakellm.Turn{Text: "Yes."}), fakellm.Options{}))
	for options, usage := range map[string]bool{"": false, `,"stream_options":{"include_usage":true}`: true} {
		_, body := post(t, srv, chatPath, `{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true`+
			options+`}`, nil)
		if strings.Contains(body, `"usage"`) != usage || !strings.HasSuffix(body, "data: [DONE]\n\n") ||
			strings.Contains(body, "event:") {
			t.Errorf("%s: %s", options, body)
		}
	}
}

// chatTurn is a conversation whose last response has two calls.
const chatTurn = `{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[` +
	`{"id":"a","type":"function","function":{"name":"n","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"n","arguments":"{}"}}]}`

func TestChatRefusals(t *testing.T) {
	srv := serve(t, fakellm.New(fakellm.Script(), fakellm.Options{}))
	messages := func(m string) string { return `{"model":"m","messages":[` + m + `]}` }
	with := func(more string) string {
		return `{"model":"m","messages":[{"role":"user","content":"hi"}],` + more + `}`
	}
	result := func(id string) string { return `,{"role":"tool","tool_call_id":"` + id + `","content":"x"}` }
	tool := `"tools":[{"type":"function","function":{"name":"n","parameters":{"type":"object"}}}],`
	for name, c := range map[string]struct{ body, want string }{
		"good":               {messages(chatTurn + result("a") + result("b")), ""},
		"good, a named tool": {with(tool + `"tool_choice":{"type":"function","function":{"name":"n"}}`), ""},
		"good, parts": {messages(
			`{"role":"user","content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"https://x"}}]}`), ""},
		"no JSON":        {`{"model":`, "could not parse"},
		"no model":       {`{"messages":[{"role":"user","content":"hi"}]}`, "model parameter"},
		"no messages":    {messages(""), "too short"},
		"unknown member": {with(`"effort":"high"`), "property 'effort' is unsupported"},
		"unknown in a message": {messages(`{"role":"user","content":"x","mood":"y"}`),
			"property 'mood' is unsupported"},
		"odd role":   {messages(`{"role":"function","content":"x"}`), "Invalid value: 'function'"},
		"no content": {messages(`{"role":"user"}`), "content is required"},
		"assistant without all": {messages(`{"role":"user","content":"x"},{"role":"assistant","content":" "}`),
			"either content or tool_calls"},
		"call without result":   {messages(chatTurn), "did not have response messages: a, b"},
		"one result is missing": {messages(chatTurn + result("b")), "did not have response messages: a"},
		"results too late": {messages(chatTurn + result("a") + `,{"role":"user","content":"x"}` + result("b")),
			"did not have response"},
		"unexpected result": {messages(chatTurn + result("a") + result("c")), "there is none for 'c'"},
		"result twice":      {messages(chatTurn + result("a") + result("a")), "there is none for 'a'"},
		"result without any call": {messages(`{"role":"user","content":"x"}` + result("a")),
			"preceding message with 'tool_calls'"},
		"ids not unique": {strings.Replace(messages(chatTurn), `"id":"b"`, `"id":"a"`, 1), "duplicate id"},
		"arguments no object": {strings.Replace(messages(chatTurn), `"arguments":"{}"`, `"arguments":"[]"`, 1),
			"must be a JSON object"},
		"call without a type": {strings.Replace(messages(chatTurn), `"type":"function",`, ``, 1), ".type"},
		"image of the assistant": {messages(
			`{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"https://x"}}]}`), "not allowed in a message of role 'assistant'"},
		"image in a result": {messages(strings.Replace(chatTurn+result("a"), `"content":"x"`,
			`"content":[{"type":"image_url","image_url":{"url":"https://x"}}]`, 1)),
			"not allowed in a message of role 'tool'"},
		"broken image": {messages(
			`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,!"}}]}`),
			"Invalid base64"},
		"broken audio": {messages(
			`{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"!","format":"wav"}}]}`),
			"no base64"},
		"reasoning of the user": {messages(`{"role":"user","content":"x","reasoning":"y"}`), "only the assistant"},
		"odd tool name":         {with(`"tools":[{"type":"function","function":{"name":"a b"}}]`), "pattern"},
		"odd tool": {with(`"tools":[{"type":"custom","function":{"name":"n"}}]`),
			"Invalid value: 'custom'"},
		"odd schema": {with(
			`"tools":[{"type":"function","function":{"name":"n","parameters":{"type":"array"}}}]`), "Invalid schema"},
		"odd choice": {with(tool + `"tool_choice":"any"`), "Invalid value: 'any'"},
		"unknown tool chosen": {with(tool + `"tool_choice":{"type":"function","function":{"name":"x"}}`),
			"not found"},
		"choice without tools":   {with(`"tool_choice":"none"`), "only allowed when 'tools'"},
		"parallel without tools": {with(`"parallel_tool_calls":false`), "only allowed when 'tools'"},
		"two limits":             {with(`"max_tokens":1,"max_completion_tokens":1`), "at the same time"},
		"no limit":               {with(`"max_tokens":0`), "at least 1"},
		"heat":                   {with(`"temperature":2.5`), "between 0 and 2"},
		"usage without a stream": {with(`"stream_options":{"include_usage":true}`), "only allowed when 'stream'"},
		"odd format":             {with(`"response_format":{"type":"yaml"}`), "Invalid value: 'yaml'"},
		"format without a schema": {with(`"response_format":{"type":"json_schema","json_schema":{"name":"x"}}`),
			"json_schema.schema"},
		"format without a name": {with(`"response_format":{"type":"json_schema","json_schema":{"schema":{}}}`),
			"json_schema.name"},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := post(t, srv, chatPath, c.body, nil)
			if c.want == "" {
				if status != 200 {
					t.Errorf("%d %s", status, body)
				}
				return
			}
			var e struct {
				Error struct{ Message, Type string }
			}
			if json.Unmarshal([]byte(body), &e) != nil || status != 400 || e.Error.Type != "invalid_request_error" ||
				!strings.Contains(e.Error.Message, c.want) {
				t.Errorf("%d %s, want %s", status, body, c.want)
			}
		})
	}
}

// Local servers need no key; an empty one is refused everywhere.
func TestChatKey(t *testing.T) {
	srv := serve(t, fakellm.New(fakellm.Script(), fakellm.Options{}))
	for auth, want := range map[string]int{"Bearer k": 200, "Bearer ": 401, "Bearer": 401} {
		if status, body := post(t, srv, chatPath, `{"model":"m","messages":[{"role":"user","content":"hi"}]}`,
			map[string]string{"Authorization": auth}); status != want {
			t.Errorf("%q: %d %s", auth, status, body)
		}
	}
	if status, _ := post(t, srv, chatPath, `{"model":"m","messages":[{"role":"user","content":"hi"}]}`,
		nil); status != 200 {
		t.Errorf("without: %d", status)
	}
}

// The cache is the server's own: what a request has in common with an earlier one was cached, in
// blocks of 16 tokens up to the first difference.
func TestChatCache(t *testing.T) {
	srv := serve(t, fakellm.New(fakellm.Script(), fakellm.Options{}))
	long := strings.Repeat("x", 400)
	cached := func(messages string) int {
		_, body := post(t, srv, chatPath, `{"model":"m","messages":[`+messages+`]}`, nil)
		var w struct {
			Usage struct {
				Details struct {
					Cached int `json:"cached_tokens"`
				} `json:"prompt_tokens_details"`
			}
		}
		if err := json.Unmarshal([]byte(body), &w); err != nil {
			t.Fatal(body)
		}
		return w.Usage.Details.Cached
	}
	first := `{"role":"system","content":"` + long + `"},{"role":"user","content":"a"}`
	if n := cached(first); n != 0 {
		t.Errorf("the first request: %d cached", n)
	}
	if n := cached(first + `,{"role":"assistant","content":"b"},{"role":"user","content":"c"}`); n*4 < len(first)-72 ||
		n*4 > len(first)+4 {
		t.Errorf("the second: %d tokens cached of %d bytes", n, len(first))
	}
	if n := cached(`{"role":"system","content":"` + long +
		`"},{"role":"user","content":"other"}`); n*4 < len(long)-72 ||
		n*4 > len(first)-4 {
		t.Errorf("another question: %d", n)
	}
	if n := cached(`{"role":"system","content":"y` + long + `"},{"role":"user","content":"a"}`); n != 0 {
		t.Errorf("another beginning: %d", n)
	}
}

// The server decodes the same conversation as in other formats.
func TestChatRequest(t *testing.T) {
	server := fakellm.New(fakellm.Script(), fakellm.Options{})
	srv := serve(t, server)
	post(t, srv, chatPath, `{"model":"m","reasoning_effort":"low","max_completion_tokens":7,"messages":[{"role":"system","content":"s"},`+
		strings.Replace(chatTurn, `"content":null`, `"reasoning":"r","content":"t"`, 1)+
		`,{"role":"tool","tool_call_id":"b","content":"2"},{"role":"tool","tool_call_id":"a","content":[{"type":"text","text":"1"}]},`+
		`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}},{"type":"input_audio","input_audio":{"data":"AAAA","format":"wav"}}]}]}`, nil)
	r := server.Requests()[0]
	if r.System != "s" || r.Effort != "low" || r.MaxTokens != 7 || r.Turn() != 1 || len(r.Messages) != 4 {
		t.Fatalf("%+v", r)
	}
	results, last := r.Messages[2], r.Messages[3]
	if results.Role != llm.RoleTool || len(results.Parts) != 2 ||
		results.Parts[1].(llm.ToolResult).Content.Text() != "1" {
		t.Errorf("%+v", results)
	}
	if r.Messages[1].Parts.Reasoning() != "r" || len(r.Messages[1].Parts.ToolCalls()) != 2 {
		t.Errorf("%+v", r.Messages[1])
	}
	if m := last.Parts[0].(llm.Media); m.MIME != "image/png" || len(m.Data) != 3 {
		t.Errorf("%+v", m)
	}
}
