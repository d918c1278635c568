package fakellm_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/fakellm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func serve(t *testing.T, s *fakellm.Server) *httptest.Server {
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return srv
}

// post sends a body without using a provider of ours.
func post(t *testing.T, srv *httptest.Server, path, body string, header map[string]string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", srv.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"x-api-key": "k", "anthropic-version": "2023-06-01"} {
		r.Header.Set(name, value)
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	resp, err := srv.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func TestWhole(t *testing.T) {
	srv := serve(t, fakellm.New(fakellm.Script(fakellm.Turn{Thinking: "Hm.", Text: "Yes.",
		Calls: []fakellm.Call{{Name: "look", Args: json.RawMessage(`{"at":"a"}`)}}}), fakellm.Options{}))
	status, body := post(t, srv, "/v1/messages",
		`{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"hi"}]}`, nil)
	var got struct {
		ID, Model  string
		Content    []struct{ Type, ID, Text, Signature string }
		StopReason string `json:"stop_reason"`
		Usage      struct {
			Input  int `json:"input_tokens"`
			Output int `json:"output_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || status != 200 {
		t.Fatalf("%d %s: %v", status, body, err)
	}
	if got.ID != "msg_1" || got.Model != "m" || len(got.Content) != 3 || got.Content[0].Signature == "" ||
		got.Content[1].Text != "Yes." ||
		got.Content[2].ID != "call_0_0" || got.StopReason != "tool_use" || got.Usage.Input == 0 ||
		got.Usage.Output == 0 {
		t.Errorf("%s", body)
	}
}

// turn is a conversation whose last response has two calls.
const turn = `{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"n","input":{}},` +
	`{"type":"tool_use","id":"b","name":"n","input":{}}]}`

func TestRefusals(t *testing.T) {
	srv := serve(t, fakellm.New(fakellm.Script(), fakellm.Options{}))
	messages := func(m string) string { return `{"model":"m","max_tokens":5000,"messages":[` + m + `]}` }
	with := func(more string) string {
		return `{"model":"m","max_tokens":5000,"messages":[{"role":"user","content":"hi"}],` + more + `}`
	}
	result := func(id string) string { return `{"type":"tool_result","tool_use_id":"` + id + `","content":"x"}` }
	user := func(blocks ...string) string { return `,{"role":"user","content":[` + strings.Join(blocks, ",") + `]}` }
	for name, c := range map[string]struct{ body, want string }{
		"good":                     {messages(turn + user(result("a"), result("b"))), ""},
		"good, text after results": {messages(turn + user(result("b"), result("a"), `{"type":"text","text":"x"}`)), ""},
		"good, a mark": {with(`"system":[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}]`),
			""},
		"no JSON": {`{"model":`, "not valid JSON"},
		"no model": {`{"max_tokens":5,"messages":[{"role":"user","content":"hi"}]}`,
			"model: Field required"},
		"no max_tokens": {`{"model":"m","messages":[{"role":"user","content":"hi"}]}`,
			"max_tokens: Field required"},
		"unknown member":  {with(`"effort":"high"`), "effort: Extra inputs are not permitted"},
		"no messages":     {messages(""), "at least one message"},
		"assistant first": {messages(`{"role":"assistant","content":"hi"}`), "first message"},
		"odd role": {messages(`{"role":"user","content":"x"},{"role":"tool","content":"x"}`),
			"Unexpected role"},
		"no content":            {messages(`{"role":"user","content":[]}`), "non-empty content"},
		"blank text":            {messages(`{"role":"user","content":" \n"}`), "non-whitespace"},
		"call without result":   {messages(turn), "without `tool_result` blocks"},
		"one result is missing": {messages(turn + user(result("a"))), "immediately after: b"},
		"result after text": {messages(turn + user(`{"type":"text","text":"x"}`, result("a"), result("b"))),
			"must come first"},
		"unexpected result": {messages(turn + user(result("a"), result("c"))), "unexpected `tool_use_id`"},
		"result twice": {messages(turn + user(result("a"), result("b"), result("b"))),
			"without `tool_result`"},
		"results too late": {messages(turn + user(`{"type":"text","text":"x"}`) + user(result("a"),
			result("b"))), "without `tool_result`"},
		"call by the user": {messages(
			`{"role":"user","content":[{"type":"tool_use","id":"a","name":"n","input":{}}]}`), "not allowed"},
		"input is no object": {strings.Replace(messages(turn+user(result("a"), result("b"))), `"input":{}`,
			`"input":"x"`, 1), "valid dictionary"},
		"odd call id": {messages(
			`{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"tool_use","id":"a|b","name":"n","input":{}}]}`), "pattern"},
		"ids not unique": {strings.Replace(messages(turn+user(result("a"))), `"id":"b"`, `"id":"a"`, 1),
			"unique"},
		"foreign thinking": {messages(
			`{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"thinking","thinking":"x","signature":"y"}]}`), "Invalid `signature`"},
		"five marks": {with(`"system":[` +
			strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"x","cache_control":{"type":"ephemeral"}},`, 5),
				",") + `]`),
			"maximum of 4 blocks"},
		"small budget": {with(`"thinking":{"type":"enabled","budget_tokens":1000}`),
			"greater than or equal to 1024"},
		"budget over the limit": {with(`"thinking":{"type":"enabled","budget_tokens":5000}`), "must be greater than"},
		"thinking and heat":     {with(`"thinking":{"type":"adaptive"},"temperature":0.5`), "may only be set to 1"},
		"thinking and force": {with(`"thinking":{"type":"adaptive"},"tool_choice":{"type":"any"}`),
			"forces tool use"},
		"odd choice":             {with(`"tool_choice":{"type":"required"}`), "tool_choice"},
		"tool without a schema":  {with(`"tools":[{"name":"x"}]`), "input_schema"},
		"odd tool name":          {with(`"tools":[{"name":"a b","input_schema":{"type":"object"}}]`), "pattern"},
		"image without a source": {messages(`{"role":"user","content":[{"type":"image"}]}`), "image.source"},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := post(t, srv, "/v1/messages", c.body, nil)
			if c.want == "" {
				if status != 200 {
					t.Errorf("%d %s", status, body)
				}
				return
			}
			var e struct {
				Type  string
				Error struct{ Type, Message string }
			}
			if err := json.Unmarshal([]byte(body), &e); err != nil || status != 400 || e.Type != "error" ||
				e.Error.Type != "invalid_request_error" ||
				!strings.Contains(e.Error.Message, c.want) {
				t.Errorf("%d %s, want %q", status, body, c.want)
			}
		})
	}
	for _, c := range []struct {
		path   string
		header map[string]string
		status int
	}{{"/v1/messages", map[string]string{"x-api-key": ""}, 401},
		{"/v1/messages", map[string]string{"anthropic-version": ""}, 400}, {"/v1/other", nil, 404}} {
		if status, body := post(t, srv, c.path, with(`"stream":true`), c.header); status != c.status {
			t.Errorf("%s %v: %d %s", c.path, c.header, status, body)
		}
	}
}

func client(t *testing.T, srv *httptest.Server) llm.Provider {
	p, err := anthropic.New(anthropic.Options{APIKey: "k", BaseURL: srv.URL, HTTPClient: srv.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Many sessions use one script at the same time: each gets its turns in order, and a session that
// starts over gets the first turn.
func TestScriptIsStateless(t *testing.T) {
	turns := make([]fakellm.Turn, 5)
	for i := range turns {
		turns[i] = fakellm.Turn{Thinking: "Hm.", Text: fmt.Sprintf("turn %d", i), Calls: []fakellm.Call{{Name: "look"}}}
	}
	s := fakellm.New(fakellm.Script(turns...), fakellm.Options{})
	srv := serve(t, s)
	var sessions sync.WaitGroup
	for n := range 20 {
		sessions.Go(func() {
			messages := []llm.Message{llm.User(fmt.Sprintf("session %d", n))}
			for i := range 6 {
				resp, err := llm.Collect(client(t, srv).Stream(t.Context(),
					&llm.Request{Model: "m", Messages: messages}))
				if err != nil {
					t.Error(err)
					return
				}
				want := fmt.Sprintf("turn %d", i)
				if i == 5 {
					want = "The script is over."
				}
				if resp.Text() != want {
					t.Errorf("session %d: %q, want %q", n, resp.Text(), want)
				}
				messages = append(messages, resp.Message)
				for _, c := range resp.ToolCalls() {
					if c.ID != fmt.Sprintf("call_%d_0", i) {
						t.Errorf("id %s", c.ID)
					}
					messages = append(messages, llm.ToolResults(llm.ToolResult{CallID: c.ID}))
				}
			}
		})
	}
	sessions.Wait()
	got := s.Requests()
	for i, r := range got {
		if r.N != i+1 {
			t.Fatalf("request %d is number %d", i, r.N)
		}
	}
	if len(got) != 120 {
		t.Errorf("%d requests", len(got))
	}
}

func TestTurnFromJSON(t *testing.T) {
	var turns []fakellm.Turn
	script := `[{"text":"a","calls":[{"name":"x","args":{"p":1}},{"id":"i","name":"y","raw":"{broken"}],"finish":"length","usage":{"input":9,"output":8}}]`
	if err := json.Unmarshal([]byte(script), &turns); err != nil {
		t.Fatal(err)
	}
	srv := serve(t, fakellm.New(fakellm.Script(turns...), fakellm.Options{Words: 1}))
	resp, err := llm.Collect(client(t, srv).Stream(t.Context(),
		&llm.Request{Model: "m", Messages: []llm.Message{llm.User("x")}}))
	if err != nil {
		t.Fatal(err)
	}
	calls := resp.ToolCalls()
	if resp.Text() != "a" || len(calls) != 2 || calls[0].Args != `{"p":1}` || calls[1].Args != "{broken" ||
		calls[1].ID != "i" ||
		resp.Finish.Reason != llm.FinishLength || resp.Usage != (llm.Usage{Input: 9, Output: 8}) {
		t.Errorf("%+v", resp)
	}
}

// Tokens that count as read from the cache were in it: the same prefix, with a breakpoint.
func TestCacheRemembersPrefixes(t *testing.T) {
	srv := serve(t, fakellm.New(fakellm.Script(), fakellm.Options{}))
	block := func(text string, marked bool) string {
		if marked {
			return `{"type":"text","text":"` + text + `","cache_control":{"type":"ephemeral"}}`
		}
		return `{"type":"text","text":"` + text + `"}`
	}
	read := func(model string, blocks ...string) int {
		status, body := post(t, srv, "/v1/messages",
			`{"model":"`+model+`","max_tokens":5,"messages":[{"role":"user","content":[`+
				strings.Join(blocks, ",")+`]}]}`, nil)
		var w struct {
			Usage struct {
				Read int `json:"cache_read_input_tokens"`
			}
		}
		if err := json.Unmarshal([]byte(body), &w); err != nil || status != 200 {
			t.Fatal(status, body)
		}
		return w.Usage.Read
	}
	long := strings.Repeat("long ", 100)
	if n := read("m", block(long, true)); n != 0 {
		t.Errorf("the first request read %d", n)
	}
	if n := read("m", block(long, false), block("b", true)); n < 125 || n > 140 {
		t.Errorf("a longer request read %d", n)
	}
	if n := read("m", block("x"+long, false), block("b", true)); n != 0 {
		t.Errorf("another beginning read %d", n)
	}
	if n := read("other", block(long, true)); n != 0 {
		t.Errorf("another model read %d", n)
	}
	if n := read("m", block(long, false), block("b", false)); n != 0 {
		t.Errorf("a request without a breakpoint read %d", n)
	}
	many := []string{block(long, false)}
	for i := range 25 {
		many = append(many, block(fmt.Sprint(i), i == 24))
	}
	if n := read("m", many...); n != 0 {
		t.Errorf("a breakpoint more than 20 blocks away read %d", n)
	}
}

// No more output is reported than the request allows, as a budget relies on that.
func TestQ2_UsageKeepsWithinTheLimit(t *testing.T) {
	srv := serve(t, fakellm.New(fakellm.Script(fakellm.Turn{Text: strings.Repeat("long ", 100)},
		fakellm.Turn{Text: "short", Usage: &llm.Usage{Input: 7, Output: 1000}}), fakellm.Options{}))
	for _, messages := range []string{`{"role":"user","content":"a"}`,
		`{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}`} {
		status, body := post(t, srv, "/v1/messages", `{"model":"m","max_tokens":20,"messages":[`+messages+`]}`, nil)
		var w struct {
			Usage struct {
				Output int `json:"output_tokens"`
			}
		}
		if err := json.Unmarshal([]byte(body), &w); err != nil || status != 200 || w.Usage.Output != 20 {
			t.Errorf("%v, status %d: %s", err, status, body)
		}
	}
}
