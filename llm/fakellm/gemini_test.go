package fakellm_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

var geminiKey = map[string]string{"x-goog-api-key": "k"}

const geminiPath = "/v1beta/models/gemini-3-x:generateContent"

// geminiRound is a conversation whose last response has two calls.
const geminiRound = `{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[` +
	`{"functionCall":{"id":"a","name":"n","args":{}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"id":"b","name":"n","args":{}}}]}`

func TestGeminiRefusals(t *testing.T) {
	srv := serve(t, fakellm.New(fakellm.Script(), fakellm.Options{}))
	contents := func(c string) string { return `{"contents":[` + c + `]}` }
	with := func(more string) string { return `{"contents":[{"role":"user","parts":[{"text":"hi"}]}],` + more + `}` }
	config := func(c string) string { return with(`"generationConfig":{` + c + `}`) }
	tools := func(f string) string { return `"tools":[{"functionDeclarations":[` + f + `]}]` }
	response := func(id string) string {
		return `{"functionResponse":{"id":"` + id + `","name":"n","response":{"output":"x"}}}`
	}
	user := func(parts ...string) string { return `,{"role":"user","parts":[` + strings.Join(parts, ",") + `]}` }
	model := func(parts ...string) string {
		return `{"role":"user","parts":[{"text":"x"}]},{"role":"model","parts":[` + strings.Join(parts, ",") + `]}`
	}
	const image = `{"inlineData":{"mimeType":"image/png","data":"aGk="}}`
	nested := func(id string) string { return strings.Replace(response(id), `"}}}`, `"},"parts":[`+image+`]}}`, 1) }
	unsigned := strings.Replace(geminiRound, `,"thoughtSignature":"skip_thought_signature_validator"`, "", 1)
	const old, latest = "/v1beta/models/gemini-2.5-x:generateContent",
		"/v1beta/models/gemini-pro-latest:generateContent"
	for name, c := range map[string]struct{ path, body, want string }{
		"good": {"", contents(geminiRound + user(response("a"), response("b"))), ""},
		"good, another order": {"", contents(geminiRound + user(response("b"), response("a"), `{"text":"x"}`)),
			""},
		"good, schema of a result": {"", with(tools(`{"name":"a","responseJsonSchema":{"type":"object"}}`)), ""},
		"good, media after": {"", contents(geminiRound + user(response("a"), response("b")) + user(image)),
			""},
		"good, media within":    {"", contents(geminiRound + user(nested("a"), response("b"))), ""},
		"good, an earlier turn": {"", contents(unsigned + user(response("a"), response("b"), `{"text":"x"}`)), ""},
		"good, an older model":  {old, contents(unsigned + user(response("a"), response("b"))), ""},
		"good, responses by order": {"", strings.NewReplacer(`"id":"a",`, "", `"id":"b",`,
			"").Replace(contents(geminiRound + user(response("a"), response("b")))), ""},
		"good, choice": {"",
			with(tools(`{"name":"x"}`) +
				`,"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["x"]}}`), ""},
		"good, cached":   {"", with(`"cachedContent":"cachedContents/x"`), ""},
		"no JSON":        {"", `{"contents":`, "Invalid JSON payload"},
		"unknown member": {"", with(`"stream":true`), `Unknown name \"stream\"`},
		"unknown member of a part": {"", contents(`{"role":"user","parts":[{"text":"x","txt":"y"}]}`),
			`Unknown name \"txt\"`},
		"unknown member of config": {"", config(`"max_tokens":1`), `Unknown name \"max_tokens\"`},
		"no contents":              {"", contents(""), "contents is not specified"},
		"model first": {"", contents(`{"role":"model","parts":[{"text":"x"}]}`),
			"begin with a user turn"},
		"odd role": {"",
			contents(`{"role":"user","parts":[{"text":"x"}]},{"role":"tool","parts":[{"text":"x"}]}`), "valid role"},
		"no parts":   {"", contents(`{"role":"user","parts":[]}`), "must not be empty"},
		"empty part": {"", contents(`{"role":"user","parts":[{}]}`), "one initialized field"},
		"two in one part": {"",
			contents(`{"role":"user","parts":[{"text":"x","fileData":{"fileUri":"y"}}]}`), "one initialized field"},
		"empty text": {"", contents(`{"role":"user","parts":[{"text":""}]}`), "text parameter"},
		"broken data": {"",
			contents(`{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"?"}}]}`), "Base64"},
		"calls without responses": {"", contents(geminiRound), "number of function response parts"},
		"one response is missing": {"", contents(geminiRound + user(response("a"))),
			"number of function response parts"},
		"one too many": {"", contents(geminiRound + user(response("a"), response("b"), response("b"))),
			"number of function response parts"},
		"another call's response": {"", contents(geminiRound + user(response("a"), response("c"))),
			"number of function response parts"},
		"responses too late": {"", contents(geminiRound + user(`{"text":"x"}`) + user(response("a"),
			response("b"))), "number of function response parts"},
		"response without a call": {"", contents(`{"role":"user","parts":[` + response("a") + `]}`),
			"immediately after a function call turn"},
		"call by the user": {"", contents(`{"role":"user","parts":[{"functionCall":{"name":"n"}}]}`),
			"immediately after a user turn"},
		"thought by the user": {"", contents(`{"role":"user","parts":[{"text":"x","thought":true}]}`),
			"immediately after a user turn"},
		"arguments are no object": {"", strings.Replace(contents(geminiRound+user(response("a"), response("b"))),
			`"args":{}`, `"args":"x"`, 1), "function_call"},
		"response is no object": {"",
			contents(geminiRound + user(strings.Replace(response("a"), `{"output":"x"}`, `"x"`, 1), response("b"))),
			"function_response.response"},
		"response without a name": {"", contents(geminiRound + user(strings.Replace(response("a"), `"n"`, `""`, 1),
			response("b"))), "Name cannot be empty"},
		"media beside responses": {"", contents(geminiRound + user(response("a"), response("b"), image)),
			"invalid argument"},
		"media within, older model": {old, contents(unsigned + user(nested("a"), response("b"))), "Multimodal"},
		"missing signature": {"", contents(unsigned + user(response("a"), response("b"))),
			"missing a thought_signature"},
		"missing signature, latest": {latest, contents(unsigned + user(response("a"), response("b"))),
			"missing a thought_signature"},
		"foreign signature": {"", contents(model(`{"text":"x","thoughtSignature":"y"}`)),
			"Invalid thought signature"},
		"dummy for an older model": {old, contents(geminiRound + user(response("a"), response("b"))),
			"Invalid thought signature"},
		"odd tool name": {"", with(tools(`{"name":"a b"}`)), "Invalid function name"},
		"tool twice":    {"", with(tools(`{"name":"a"},{"name":"a"}`)), "Duplicate"},
		"odd schema": {"", with(tools(`{"name":"a","parametersJsonSchema":{"type":"string"}}`)),
			"type object"},
		"odd mode": {"",
			with(tools(`{"name":"x"}`) + `,"toolConfig":{"functionCallingConfig":{"mode":"REQUIRED"}}`), "mode"},
		"choice of no tool": {"",
			with(tools(`{"name":"x"}`) +
				`,"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["y"]}}`),
			"allowed_function_names"},
		"cached and system": {"", with(`"cachedContent":"c","systemInstruction":{"parts":[{"text":"x"}]}`),
			"CachedContent"},
		"level and budget": {"", config(`"thinkingConfig":{"thinkingLevel":"LOW","thinkingBudget":1}`),
			"only one of"},
		"level for an older model": {old, config(`"thinkingConfig":{"thinkingLevel":"LOW"}`), "not supported"},
		"odd level":                {"", config(`"thinkingConfig":{"thinkingLevel":"MAX"}`), "thinking_level"},
		"budget too large":         {"", config(`"thinkingConfig":{"thinkingBudget":99999}`), "budget"},
		"negative limit":           {"", config(`"maxOutputTokens":-1`), "maxOutputTokens"},
		"schema without a type":    {"", config(`"responseJsonSchema":{}`), "response_mime_type"},
		"an action that is not here": {"/v1beta/models/m:countTokens",
			contents(`{"role":"user","parts":[{"text":"x"}]}`), "Not found"},
	} {
		t.Run(name, func(t *testing.T) {
			path := c.path
			if path == "" {
				path = geminiPath
			}
			status, body := post(t, srv, path, c.body, geminiKey)
			if c.want == "" {
				if status != 200 {
					t.Errorf("%d %s", status, body)
				}
				return
			}
			var e struct {
				Error struct {
					Code            int
					Message, Status string
				}
			}
			if err := json.Unmarshal([]byte(body), &e); err != nil || status != 400 && status != 404 ||
				e.Error.Code != status ||
				e.Error.Status == "" || !strings.Contains(body, c.want) {
				t.Errorf("%d %s, want %q", status, body, c.want)
			}
		})
	}
}

func TestGeminiKey(t *testing.T) {
	srv := serve(t, fakellm.New(fakellm.Script(), fakellm.Options{}))
	const body = `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`
	// every proxy on the way would log a key in the URL
	for _, path := range []string{geminiPath, geminiPath + "?key=k"} {
		if status, text := post(t, srv, path, body, nil); status != 403 ||
			!strings.Contains(text, "PERMISSION_DENIED") {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
}

func TestGeminiWhole(t *testing.T) {
	srv := serve(t, fakellm.New(fakellm.Script(fakellm.Turn{Thinking: "Hm.", Text: "Yes.",
		Calls: []fakellm.Call{{Name: "look", Args: json.RawMessage(`{"at":"a"}`)}}}), fakellm.Options{}))
	type answer struct {
		Candidates []struct {
			Content struct {
				Parts []struct {
					Text             string
					Thought          bool
					ThoughtSignature string
					FunctionCall     *struct{ ID, Name string }
				}
			}
			FinishReason string
		}
		UsageMetadata            map[string]any
		ModelVersion, ResponseID string
	}
	const body = `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`
	status, text := post(t, srv, geminiPath, body, geminiKey)
	var got answer
	if err := json.Unmarshal([]byte(text), &got); err != nil || status != 200 || len(got.Candidates) != 1 {
		t.Fatalf("%d %s: %v", status, text, err)
	}
	parts := got.Candidates[0].Content.Parts
	if len(parts) != 3 || !parts[0].Thought || parts[1].Text != "Yes." || parts[2].FunctionCall.ID != "call_0_0" ||
		parts[2].ThoughtSignature == "" ||
		got.Candidates[0].FinishReason != "STOP" || got.UsageMetadata["promptTokenCount"] == 0.0 ||
		got.ModelVersion != "gemini-3-x" || got.ResponseID != "msg_1" {
		t.Errorf("%s", text)
	}
	// A stream without alt=sse is an array, with it events. Models before Gemini 3 send no ids.
	const stream = "/v1beta/models/gemini-2.5-x:streamGenerateContent"
	var list []answer
	if _, text = post(t, srv, stream, body, geminiKey); json.Unmarshal([]byte(text), &list) != nil || len(list) != 1 ||
		list[0].Candidates[0].Content.Parts[2].FunctionCall.ID != "" {
		t.Errorf("%s", text)
	}
	if _, text = post(t, srv, stream+"?alt=sse", body, geminiKey); !strings.HasPrefix(text, "data: {") ||
		strings.Contains(text, "event:") {
		t.Errorf("%s", text)
	}
}

// Prefixes shorter than 1,024 tokens are not cached. Longer ones are, up to the first difference.
func TestGeminiCache(t *testing.T) {
	srv := serve(t, fakellm.New(fakellm.Script(), fakellm.Options{}))
	cached := func(first, more string) float64 {
		body := `{"contents":[{"role":"user","parts":[{"text":"` + first + `"},{"text":"` + more + `"}]}]}`
		var got struct{ UsageMetadata map[string]any }
		if _, text := post(t, srv, geminiPath, body, geminiKey); json.Unmarshal([]byte(text), &got) != nil {
			t.Fatal(text)
		}
		n, _ := got.UsageMetadata["cachedContentTokenCount"].(float64)
		return n
	}
	short, long := strings.Repeat("word ", 700), strings.Repeat("word ", 900)
	for i, c := range []struct {
		first, more string
		hit         bool
	}{{short, "a", false}, {short, "a", false}, {long, "a", false}, {long, "b", true}, {long + "x", "a", true},
		{"x" + long, "a", false}} {
		if n := cached(c.first, c.more); (n >= 1024) != c.hit || !c.hit && n != 0 {
			t.Errorf("request %d: %v tokens from the cache", i, n)
		}
	}
}
