package fakellm_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// bearer holds the headers of an OpenAI client.
var bearer = map[string]string{"Authorization": "Bearer k", "x-api-key": "", "anthropic-version": ""}

// round is an input whose last response has two calls.
const round = `{"role":"user","content":"hi"},{"type":"function_call","call_id":"a","name":"n","arguments":"{"},` +
	`{"type":"custom_tool_call","call_id":"b","name":"p","input":"x"}`

func TestOpenAIRefusals(t *testing.T) {
	srv := serve(t, fakellm.New(fakellm.Script(), fakellm.Options{}))
	input := func(items string) string { return `{"model":"m","input":[` + items + `]}` }
	with := func(more string) string { return `{"model":"m","input":"hi",` + more + `}` }
	item := func(it string) string { return input(`{"role":"user","content":"hi"},` + it) }
	out := func(kind, id string) string {
		return `,{"type":"` + kind + `_output","call_id":"` + id + `","output":"x"}`
	}
	both := round + out("function_call", "a") + out("custom_tool_call", "b")
	reasoning := func(more string) string {
		return input(`{"role":"user","content":"hi"},{"type":"reasoning","id":"rs_1"` + more +
			`},{"role":"assistant","content":"x"}`)
	}
	for name, c := range map[string]struct{ body, want, param, code string }{
		"good":          {with(`"stream":false`), "", "", ""},
		"good, results": {input(both), "", "", ""},
		"good, results mixed": {input(round + out("custom_tool_call", "b") + `,{"role":"user","content":"x"}` +
			out("function_call", "a")), "", "", ""},
		"good, parts": {item(
			`{"type":"message","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"x"},{"type":"refusal","refusal":"y"}]}`), "", "", ""},
		"good, the server's item": {item(`{"type":"web_search_call","id":"ws_1","anything":1}`), "", "", ""},
		"good, the server's tool": {with(`"tools":[{"type":"web_search","parameters":7}]`), "", "", ""},
		"no JSON":                 {`{"model":`, "could not parse", "", ""},
		"no model": {`{"input":"hi"}`, "Missing required parameter: 'model'", "model",
			"missing_required_parameter"},
		"no input": {`{"model":"m"}`, "Missing required parameter: 'input'", "input",
			"missing_required_parameter"},
		"unknown member": {with(`"max_tokens":5`), "Unknown parameter: 'max_tokens'", "max_tokens",
			"unknown_parameter"},
		"unknown member of an item": {item(`{"role":"user","content":"x","is_error":true}`),
			"Unknown parameter: 'input[1].is_error'", "input[1].is_error",
			"unknown_parameter"},
		"another conversation": {with(`"previous_response_id":"resp_1"`), "not found", "previous_response_id",
			"previous_response_not_found"},
		"little output": {with(`"max_output_tokens":15`), "Expected a value >= 16", "max_output_tokens",
			"integer_below_min_value"},
		"hot": {with(`"temperature":3`), "temperature", "temperature", "decimal_above_max_value"},
		"long cache key": {with(`"prompt_cache_key":"` + strings.Repeat("x", 65) + `"`), "maximum length 64",
			"prompt_cache_key", "string_above_max_length"},
		"odd include": {with(`"include":["everything"]`), "everything", "include", "invalid_value"},
		"odd choice":  {with(`"tool_choice":"any"`), "'any'", "tool_choice", "invalid_value"},
		"unknown choice": {with(`"tool_choice":{"type":"function","name":"x"}`), "not found in 'tools'",
			"tool_choice", ""},
		"odd tool name": {with(
			`"tools":[{"type":"function","name":"a b","parameters":{"type":"object","properties":{}}}]`), "pattern",
			"tools[0].name", "invalid_value"},
		"tool twice": {with(`"tools":[{"type":"custom","name":"a"},{"type":"custom","name":"a"}]`),
			"Duplicate", "tools[1]", ""},
		"no schema": {with(`"tools":[{"type":"function","name":"a"}]`), "type: \"object\"",
			"tools[0].parameters", "invalid_function_parameters"},
		"no properties": {with(`"tools":[{"type":"function","name":"a","parameters":{"type":"object"}}]`),
			"missing properties", "tools[0].parameters", "invalid_function_parameters"},
		"odd grammar": {with(
			`"tools":[{"type":"custom","name":"a","format":{"type":"grammar","syntax":"bnf","definition":"x"}}]`),
			"'bnf'", "tools[0].format.syntax", "invalid_value"},
		"format without a name": {with(`"text":{"format":{"type":"json_schema","schema":{}}}`), "text.format.name",
			"text.format.name", "missing_required_parameter"},
		"odd role": {item(`{"role":"tool","content":"x"}`), "Invalid value: 'tool'", "input[1].role",
			"invalid_value"},
		"the model's part": {item(`{"role":"user","content":[{"type":"output_text","text":"x"}]}`),
			"Invalid value: 'output_text'", "input[1].content[0]", "invalid_value"},
		"the user's part": {item(`{"role":"assistant","content":[{"type":"input_text","text":"x"}]}`),
			"Invalid value: 'input_text'", "input[1].content[0]", "invalid_value"},
		"unknown member of part": {item(
			`{"role":"user","content":[{"type":"input_text","text":"x","cache_control":{}}]}`), "unknown field",
			"input[1].content", "invalid_type"},
		"odd phase": {item(`{"role":"assistant","phase":"x","content":"x"}`), "commentary",
			"input[1].phase", "invalid_value"},
		"image without a source": {item(`{"role":"user","content":[{"type":"input_image"}]}`), "image_url",
			"input[1].content[0]", "missing_required_parameter"},
		"broken image": {item(
			`{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,%"}]}`), "base64",
			"input[1].content[0]", "invalid_base64"},
		"file without a name": {item(
			`{"role":"user","content":[{"type":"input_file","file_data":"data:x;base64,AQID"}]}`), "filename",
			"input[1].content[0].filename", "missing_required_parameter"},
		"item without a type": {item(`{"name":"x"}`), "input[1].type", "input[1].type",
			"missing_required_parameter"},
		"call without arguments": {item(`{"type":"function_call","call_id":"a","name":"n"}`), "arguments",
			"input[1].arguments", "missing_required_parameter"},
		"free call without text": {item(`{"type":"custom_tool_call","call_id":"a","name":"n"}`), "input",
			"input[1].input", "missing_required_parameter"},
		"long call id": {item(`{"type":"function_call","call_id":"` + strings.Repeat("x",
			65) + `","name":"n","arguments":""}`), "maximum length 64", "input[1].call_id", "string_above_max_length"},
		"call without output": {input(round + out("custom_tool_call", "b")),
			"No tool output found for function call a", "input", ""},
		"free call without one": {input(round + out("function_call", "a")),
			"No tool output found for custom tool call b", "input", ""},
		"output without call": {input(both + out("function_call", "c")),
			"No tool call found for function call output with call_id c", "input", ""},
		"output twice": {input(both + out("function_call", "a")), "No tool call found", "input", ""},
		"output of another kind": {input(round + out("function_call", "a") + out("function_call", "b")),
			"No tool call found", "input", ""},
		"output without text": {input(round + `,{"type":"function_call_output","call_id":"a"}`), "output",
			"input[3].output", "missing_required_parameter"},
		"call twice": {input(round + `,{"type":"function_call","call_id":"a","name":"n","arguments":""}`),
			"Duplicate", "input", ""},
		"reasoning in the open": {reasoning(`,"summary":[]`), "Items are not persisted", "input", ""},
		"foreign reasoning": {reasoning(`,"summary":[],"encrypted_content":"gAAAx"`), "could not be verified", "",
			"invalid_encrypted_content"},
		"reasoning, no summary": {reasoning(`,"encrypted_content":"gAAAx"`), "summary", "input[1].summary",
			"missing_required_parameter"},
		"a reference": {item(`{"type":"item_reference","id":"msg_1"}`), "Items are not persisted", "input",
			""},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := post(t, srv, "/v1/responses", c.body, bearer)
			if c.want == "" {
				if status != 200 {
					t.Errorf("%d %s", status, body)
				}
				return
			}
			var e struct {
				Error struct{ Message, Type, Param, Code string }
			}
			if err := json.Unmarshal([]byte(body), &e); err != nil || status/100 != 4 ||
				e.Error.Type != "invalid_request_error" ||
				!strings.Contains(e.Error.Message, c.want) || e.Error.Param != c.param || e.Error.Code != c.code {
				t.Errorf("%d %s, want %q, %q, %q", status, body, c.want, c.param, c.code)
			}
		})
	}
	for _, header := range []map[string]string{{"x-api-key": "k"}, {"Authorization": "Bearer "},
		{"Authorization": "k"}} {
		if status, body := post(t, srv, "/v1/responses", with(`"stream":true`), header); status != 401 {
			t.Errorf("%v: %d %s", header, status, body)
		}
	}
}

// The server recognizes its own reasoning and detects changes in it.
func TestOpenAIReasoning(t *testing.T) {
	srv := serve(t, fakellm.New(fakellm.Script(fakellm.Turn{Thinking: "Hm.", Text: "Yes."}), fakellm.Options{}))
	_, body := post(t, srv, "/v1/responses", `{"model":"m","input":"hi","include":["reasoning.encrypted_content"]}`,
		bearer)
	var got struct{ Output []json.RawMessage }
	if err := json.Unmarshal([]byte(body), &got); err != nil || len(got.Output) != 2 {
		t.Fatal(body)
	}
	item := string(got.Output[0])
	for change, want := range map[[2]string]int{{"", ""}: 200, {"Hm.", "Hm!"}: 400, {`"rs_`, `"rs_x`}: 400,
		{"gAAAA", "gAAAB"}: 400, {`"encrypted_content"`, `"status"`}: 404} {
		changed := strings.Replace(item, change[0], change[1], 1)
		status, body := post(t, srv, "/v1/responses", `{"model":"m","input":[{"role":"user","content":"hi"},`+changed+
			`,`+string(got.Output[1])+`]}`, bearer)
		if status != want {
			t.Errorf("%v: %d %s", change, status, body)
		}
	}
	status, body := post(t, srv, "/v1/responses", `{"model":"m","input":[{"role":"user","content":"hi"},`+item+
		`,{"role":"user","content":"x"}]}`, bearer)
	if status != 400 || !strings.Contains(body, "required following item") {
		t.Errorf("reasoning by itself: %d %s", status, body)
	}
	if _, body := post(t, srv, "/v1/responses", `{"model":"m","input":"hi"}`, bearer); strings.Contains(body,
		"encrypted_content") {
		t.Errorf("encrypted reasoning that nobody asked for: %s", body)
	}
}

// The events have the order and the form of the real API.
func TestOpenAIEvents(t *testing.T) {
	srv := serve(t, fakellm.New(fakellm.Script(fakellm.Turn{Thinking: "Hm.", Text: "I look.", Calls: []fakellm.Call{
		{Name: "look", Args: json.RawMessage(`{"at":1}`)}, {Name: "patch", Raw: "*** Begin"}}}), fakellm.Options{}))
	_, body := post(t, srv, "/v1/responses",
		`{"model":"m","input":"hi","stream":true,"tools":[{"type":"custom","name":"patch"}]}`, bearer)
	var types []string
	for block := range strings.SplitSeq(strings.TrimSpace(body), "\n\n") {
		head, data, _ := strings.Cut(block, "\ndata: ")
		var ev struct {
			Type     string
			Sequence int    `json:"sequence_number"`
			Index    int    `json:"output_index"`
			ItemID   string `json:"item_id"`
		}
		if err := json.Unmarshal([]byte(data), &ev); err != nil || head != "event: "+ev.Type ||
			ev.Sequence != len(types) {
			t.Errorf("%s: %v", block, err)
		}
		types = append(types, strings.TrimPrefix(ev.Type, "response."))
		if strings.HasSuffix(ev.Type, ".delta") && ev.ItemID != []string{"rs_resp_1_0", "msg_resp_1_1", "fc_resp_1_2",
			"ctc_resp_1_3"}[ev.Index] {
			t.Errorf("item %s at %d", ev.ItemID, ev.Index)
		}
	}
	want := "created in_progress " +
		"output_item.added reasoning_summary_part.added reasoning_summary_text.delta reasoning_summary_text.done " +
		"reasoning_summary_part.done output_item.done output_item.added content_part.added output_text.delta " +
		"output_text.done content_part.done output_item.done output_item.added function_call_arguments.delta " +
		"function_call_arguments.done output_item.done output_item.added custom_tool_call_input.delta " +
		"custom_tool_call_input.done output_item.done completed"
	if got := strings.Join(types, " "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// The server decodes of a request what the model sees.
func TestOpenAIRequest(t *testing.T) {
	s := fakellm.New(fakellm.Script(), fakellm.Options{})
	srv := serve(t, s)
	body := `{"model":"m","instructions":"Be brief.","max_output_tokens":20,"reasoning":{"effort":"low"},"tools":[{"type":"custom","name":"p"}],"input":[` + round +
		`,{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"x"},{"type":"input_image","image_url":"data:image/png;base64,AQID"}]},` +
		`{"type":"custom_tool_call_output","call_id":"b","output":"y"}]}`
	if status, answer := post(t, srv, "/v1/responses", body, bearer); status != 200 {
		t.Fatal(answer)
	}
	r := s.Requests()[0]
	if r.Model != "m" || r.System != "Be brief." || r.MaxTokens != 20 || r.Effort != "low" || len(r.Tools) != 1 ||
		r.Turn() != 1 || len(r.Messages) != 3 {
		t.Fatalf("%+v", r)
	}
	calls := r.Messages[1].Parts.ToolCalls()
	if r.Messages[1].Role != llm.RoleAssistant || len(calls) != 2 || calls[0].Args != "{" || !calls[1].Free ||
		calls[1].Args != "x" {
		t.Errorf("%+v", r.Messages[1])
	}
	results := r.Messages[2].Parts
	first, ok := results[0].(llm.ToolResult)
	if !ok || r.Messages[2].Role != llm.RoleTool || len(results) != 2 || first.Content.Text() != "x" {
		t.Fatalf("%+v", r.Messages[2])
	}
	if m, ok := first.Content[1].(llm.Media); !ok || m.MIME != "image/png" || string(m.Data) != "\x01\x02\x03" {
		t.Errorf("%+v", first.Content[1])
	}
}

// Tokens that count as read from the cache were in it, in steps of 128 tokens from 1,024 on.
func TestOpenAICache(t *testing.T) {
	srv := serve(t, fakellm.New(fakellm.Script(), fakellm.Options{}))
	read := func(model, text string) int {
		status, body := post(t, srv, "/v1/responses", `{"model":"`+model+`","input":[{"role":"user","content":"`+text+
			`"}]}`, bearer)
		var w struct {
			Usage struct {
				Details struct {
					Cached int `json:"cached_tokens"`
				} `json:"input_tokens_details"`
			}
		}
		if err := json.Unmarshal([]byte(body), &w); err != nil || status != 200 {
			t.Fatal(status, body)
		}
		return w.Usage.Details.Cached
	}
	const kilo = 4 * 1024
	for _, c := range []struct {
		name, model, text string
		want              int
	}{
		{"short", "m", strings.Repeat("s", kilo-100), 0}, {"short again", "m", strings.Repeat("s", kilo-100), 0},
		{"first", "m", strings.Repeat("x", kilo+600), 0}, {"again", "m", strings.Repeat("x", kilo+600), 1152},
		{"longer", "m", strings.Repeat("x", 2*kilo), 1152}, {"the longer one again, longer", "m",
			strings.Repeat("x", 2*kilo) + "y", 2048},
		{"another beginning", "m", "y" + strings.Repeat("x", 2*kilo), 0},
		{"another model", "n", strings.Repeat("x", 2*kilo), 0},
		{"a shared beginning", "m", strings.Repeat("x", kilo+600) + strings.Repeat("z", kilo), 1152},
	} {
		if got := read(c.model, c.text); got != c.want {
			t.Errorf("%s: %d tokens read, want %d", c.name, got, c.want)
		}
	}
}
