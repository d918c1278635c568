package gemini

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/llm/providertest"
)

func TestNew(t *testing.T) {
	create := func(key, baseURL string) error {
		_, err := New(Options{APIKey: key, BaseURL: baseURL})
		return err
	}
	providertest.Refuses(t, create)
	if err := create("k", "http://api.test?key=secret"); !errors.Is(err, llm.ErrConfiguration) ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("a key in the URL: %v", err)
	}
	for base, want := range map[string]string{"": "https://generativelanguage.googleapis.com/v1beta/",
		"http://x.test":  "http://x.test/v1beta/",
		"http://x.test/": "http://x.test/v1beta/", "http://x.test/proxy/v1beta/": "http://x.test/proxy/v1beta/"} {
		if p, err := New(Options{APIKey: "k", BaseURL: base}); err != nil || p.call.URL != want ||
			p.Name() != "gemini" {
			t.Errorf("%q: %+v, %v", base, p, err)
		}
	}
}

func TestEndpoint(t *testing.T) {
	p := provider(t, Options{})
	for model, want := range map[string]string{
		"gemini-2.5-pro":   "models/gemini-2.5-pro",
		"models/gemini-3":  "models/gemini-3",
		"tunedModels/mine": "tunedModels/mine",
		"a?b#c%d":          "models/a%3Fb%23c%25d",
	} {
		if got := p.endpoint(model); got != defaultBaseURL+"/v1beta/"+want+":streamGenerateContent?alt=sse" {
			t.Errorf("%s: %s", model, got)
		}
	}
}

func TestFamily(t *testing.T) {
	for model, want := range map[string]family{
		"gemini-2.5-flash": gemini2, "gemini-1.5-flash-latest": gemini2, "gemini-2.0-flash-exp": gemini2,
		"models/gemini-2.5-pro": gemini2,
		"gemini-3-pro-preview":  gemini3, "gemini-3.1-flash-lite": gemini3, "gemini-4-argon": gemini3,
		"gemini-25-x":         gemini3,
		"gemini-flash-latest": gemini3, "gemini-pro-latest": gemini3, "gemini-robotics-er-2-preview": otherFamily,
		"gemma-4-31b-it": otherFamily,
		"":               otherFamily, "gemini-": otherFamily, "my-model": otherFamily,
	} {
		if got := familyOf(model); got != want {
			t.Errorf("%q: %d, want %d", model, got, want)
		}
	}
}

// connect returns a provider that talks to a scripted model.
func connect(t *testing.T, s *fakellm.Server) *Provider {
	t.Helper()
	return provider(t, Options{BaseURL: "http://x.test", HTTPClient: llmtest.PipeClient(t, s)})
}

// answered returns a conversation with a response and the results of its calls added.
func answered(messages []llm.Message, resp *llm.Response, content ...llm.Part) []llm.Message {
	messages = append(messages, resp.Message)
	var results []llm.ToolResult
	for _, c := range resp.ToolCalls() {
		results = append(results, llm.ToolResult{CallID: c.ID, Content: content})
	}
	if len(results) > 0 {
		messages = append(messages, llm.ToolResults(results...))
	}
	return messages
}

// A session over a real connection: a call, its result, a second response, and a fault in between.
// The key is only in the header.
func TestG12_OverLoopback(t *testing.T) {
	server := fakellm.New(fakellm.Script(
		fakellm.Turn{Thinking: "Where is it?", Text: "I look.",
			Calls: []fakellm.Call{{Name: "look", Args: json.RawMessage(`{"at": "<a>"}`)}, {Name: "look"}}},
		fakellm.Turn{Thinking: "Ah.", Text: "Done."},
		fakellm.Turn{Text: "Bye."},
	), fakellm.Options{Faults: map[int]fakellm.Fault{2: {Kind: fakellm.FaultCut, After: 1}}})
	srv := httptest.NewServer(server)
	defer srv.Close()
	p, err := New(Options{Name: "mine", APIKey: "key-1", BaseURL: srv.URL, HTTPClient: srv.Client(),
		Header: http.Header{"x-team": {"a"}}})
	if err != nil {
		t.Fatal(err)
	}
	req := &llm.Request{Model: "gemini-3-pro", Messages: []llm.Message{llm.System("Be brief."), llm.User("Go.")},
		Memo: new(llm.Memo), Effort: "low", Tools: []llm.ToolDefinition{{Name: "look"}}}
	first, err := llm.Collect(p.Stream(t.Context(), req))
	if err != nil {
		t.Fatal(err)
	}
	if calls := first.ToolCalls(); len(calls) != 2 || calls[0].Signature == "" || calls[1].Signature != "" ||
		calls[0].Args != `{"at": "<a>"}` {
		t.Errorf("%+v", calls)
	}
	req.Messages = answered(req.Messages, first, llm.Text{Text: "seen"})
	if _, err := llm.Collect(p.Stream(t.Context(), req)); !errors.Is(err, llm.ErrStream) {
		t.Errorf("the cut: %v", err)
	}
	second, err := llm.Collect(p.Stream(t.Context(), req))
	if err != nil || second.Text() != "Done." || second.Provider != "mine" || second.Model != "gemini-3-pro" {
		t.Fatalf("%+v, %v", second, err)
	}
	req.Messages = append(answered(req.Messages, second), llm.User("Thanks."))
	// the signature of a text was correct
	if third, err := llm.Collect(p.Stream(t.Context(), req)); err != nil || third.Text() != "Bye." {
		t.Fatalf("%+v, %v", third, err)
	}
	got := server.Requests()
	for _, r := range got {
		if r.Header.Get("X-Goog-Api-Key") != "key-1" || r.Header.Get("X-Team") != "a" ||
			r.Query.Encode() != "alt=sse" ||
			strings.Contains(r.Path+string(r.Body), "key-1") {
			t.Errorf("request %d: %s?%s %v", r.N, r.Path, r.Query.Encode(), r.Header)
		}
	}
	if string(got[1].Body) != string(got[2].Body) {
		t.Error("the retry was another request")
	}
	if got[0].System != "Be brief." || got[0].Effort != "low" || got[2].Turn() != 1 {
		t.Errorf("%+v", got[0])
	}
}

// Calls of models that send no ids get ours: the same for the same response, and unique in a
// conversation.
func TestG3_SyntheticCallIDs(t *testing.T) {
	two := fakellm.Turn{Calls: []fakellm.Call{{Name: "look"}, {Name: "look"}}}
	p := connect(t, fakellm.New(fakellm.Script(two, two, two), fakellm.Options{}))
	req := &llm.Request{Model: "gemini-2.5-flash", Messages: []llm.Message{llm.User("Go.")},
		Tools: []llm.ToolDefinition{{Name: "look"}}}
	seen := map[string]bool{}
	for range 3 {
		resp, err := llm.Collect(p.Stream(t.Context(), req))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range resp.ToolCalls() {
			if c.ID == "" || seen[c.ID] {
				t.Errorf("id %q", c.ID)
			}
			seen[c.ID] = true
		}
		req.Messages = answered(req.Messages, resp, llm.Text{Text: "ok"})
	}

	const nameless = `{"candidates": [{"content": {"parts": [{"functionCall": {"name": "a"}},{"functionCall": {"name": "b"}}]},"finishReason": "STOP"}]}`
	ids := func(messages ...llm.Message) (ids []string) {
		p := answering(t, providertest.Recording{Status: 200, ContentType: "application/json", Body: []byte(nameless)})
		resp, err := llm.Collect(p.Stream(t.Context(), &llm.Request{Model: "m", Messages: messages}))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range resp.ToolCalls() {
			ids = append(ids, c.ID)
		}
		return ids
	}
	if diff := cmp.Diff([]string{"call_1_0", "call_1_1"}, ids(llm.User("x"))); diff != "" {
		t.Error(diff)
	}
	// A conversation that was cut may contain an id that its length would produce again.
	old := llm.Message{Role: llm.RoleAssistant, Parts: llm.Parts{llm.ToolCall{ID: "call_3_1", Name: "a"}}}
	if diff := cmp.Diff([]string{"call_3_0", "call_3_2"},
		ids(llm.User("x"), old, llm.ToolResults(llm.ToolResult{CallID: "call_3_1"}))); diff != "" {
		t.Error(diff)
	}
}

// A model that requires signatures of its own accepts a history of another provider.
func TestG11_OtherProvidersHistory(t *testing.T) {
	p := connect(t, fakellm.New(fakellm.Script(fakellm.Turn{}, fakellm.Turn{}, fakellm.Turn{Text: "Fine."}),
		fakellm.Options{}))
	step := func(provider, model, id string) []llm.Message {
		return []llm.Message{
			{Role: llm.RoleAssistant, Provider: provider, Model: model, Parts: llm.Parts{
				llm.Thinking{Text: "Hm.", Signature: "theirs"}, llm.Text{Text: "I look.", Signature: "theirs"},
				llm.ToolCall{ID: id, Name: "look", Args: `{"at":1}`, Signature: "theirs"},
				llm.ToolCall{ID: id + "x", Name: "apply", Args: "*** Begin", Free: true}}},
			llm.ToolResults(llm.ToolResult{CallID: id, Content: llm.TextParts("a")},
				llm.ToolResult{CallID: id + "x", IsError: true}),
		}
	}
	messages := append([]llm.Message{llm.User("Go.")}, step("openai", "gpt-5", "fc_1|call_1")...)
	messages = append(messages, step("gemini", "gemini-2.5-pro", "call_2")...)
	for _, model := range []string{"gemini-3-pro", "gemini-flash-latest"} {
		resp, err := llm.Collect(p.Stream(t.Context(), &llm.Request{Model: model, Messages: messages}))
		if err != nil || resp.Text() != "Fine." {
			t.Errorf("%s: %v", model, err)
		}
	}
	// they would refuse the dummy, and can judge what 2.5 signed
	for _, model := range []string{"gemini-2.0-flash", "my-model"} {
		body, _ := encodingOf(p).Body(t, &llm.Request{Model: model, Messages: messages[:3], MaxTokens: 1})
		if strings.Contains(body, noSignature) || strings.Contains(body, "theirs") {
			t.Errorf("%s: %s", model, body)
		}
	}
}

// Images of results go into the response for models from Gemini 3 on, and after all responses for
// others.
func TestG3_ImagesOfResults(t *testing.T) {
	two := fakellm.Turn{Calls: []fakellm.Call{{Name: "look"}, {Name: "look"}}}
	server := fakellm.New(fakellm.Script(two, fakellm.Turn{Text: "Seen."}), fakellm.Options{})
	p := connect(t, server)
	image := llm.Media{MIME: "image/png", Data: []byte("png")}
	for model, want := range map[string][]llm.Parts{
		"gemini-3-pro":   {{llm.Text{Text: "a"}, image}},
		"gemini-2.5-pro": {{llm.Text{Text: "a"}}},
	} {
		req := &llm.Request{Model: model, Messages: []llm.Message{llm.User("Go.")}}
		resp, err := llm.Collect(p.Stream(t.Context(), req))
		if err != nil {
			t.Fatal(err)
		}
		req.Messages = append(answered(req.Messages, resp, llm.Text{Text: "a"}, image), llm.User("So?"))
		if _, err = llm.Collect(p.Stream(t.Context(), req)); err != nil {
			t.Fatalf("%s: %v", model, err)
		}
		requests := server.Requests()
		got := requests[len(requests)-1].Messages
		for _, part := range got[2].Parts {
			if diff := cmp.Diff(want[0], part.(llm.ToolResult).Content); diff != "" {
				t.Errorf("%s: %s", model, diff)
			}
		}
		beside := llm.Parts{llm.Text{Text: "So?"}}
		if model == "gemini-2.5-pro" {
			beside = llm.Parts{image, image, llm.Text{Text: "So?"}}
		}
		if diff := cmp.Diff(beside, got[3].Parts); diff != "" {
			t.Errorf("%s: %s", model, diff)
		}
	}
}

// Arguments that are no object cannot be sent in this API. It breaks off the response, which is
// worth another attempt.
func TestMalformedCall(t *testing.T) {
	p := connect(t, fakellm.New(fakellm.Script(fakellm.Turn{Text: "I look.",
		Calls: []fakellm.Call{{Name: "look", Raw: `{"at": "b`}}}), fakellm.Options{}))
	events, err := providertest.Contract(t,
		p.Stream(t.Context(), &llm.Request{Model: "m", Messages: []llm.Message{llm.User("x")}}))
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.ErrStream || e.Code != "MALFORMED_FUNCTION_CALL" || !llm.Retryable(err) {
		t.Errorf("%v after %d events", err, len(events))
	}
}

// answering returns a provider whose server always sends the same response.
func answering(t *testing.T, answer http.Handler) *Provider {
	t.Helper()
	return provider(t, Options{BaseURL: "http://x.test", HTTPClient: llmtest.PipeClient(t, answer)})
}

// An effort between the levels of a model becomes the nearest level, and none the lowest.
func TestG8_NearestLevel(t *testing.T) {
	for effort, want := range map[string]string{"none": "MINIMAL", "low": "MINIMAL", "medium": "HIGH", "max": "HIGH"} {
		facts := &llm.Model{Reasoning: true, Efforts: []string{"minimal", "high"}}
		got, err := think(&llm.Request{Effort: effort, Facts: facts})
		if err != nil || !strings.Contains(got.config, `"thinkingLevel":"`+want+`"`) {
			t.Errorf("%s: %s, %v, want %s", effort, got.config, err, want)
		}
	}
}
