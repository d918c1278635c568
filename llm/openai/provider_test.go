package openai

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/llm/providertest"
)

func TestSuite(t *testing.T) {
	providertest.Suite(t, func(t *testing.T, c providertest.Config) llm.Provider {
		p, err := New(Options{APIKey: c.APIKey, BaseURL: c.BaseURL + "/v1", HTTPClient: c.Client, IdleTimeout: c.Idle})
		if err != nil {
			t.Fatal(err)
		}
		return p
	})
}

func TestG12_New(t *testing.T) {
	for name, o := range map[string]Options{
		"no key": {}, "key with a line end": {APIKey: "k\n"}, "no URL": {APIKey: "k", BaseURL: "api.test"},
		"another scheme": {APIKey: "k", BaseURL: "ftp://api.test"},
		"broken URL":     {APIKey: "k", BaseURL: "http://u:secret@[::1"},
	} {
		_, err := New(o)
		if !errors.Is(err, llm.ErrConfiguration) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for base, want := range map[string]string{"": "https://api.openai.com/v1/responses",
		"http://x.test/v1":  "http://x.test/v1/responses",
		"http://x.test/v1/": "http://x.test/v1/responses", "http://x.test": "http://x.test/responses",
		"http://x.test/openai/v1?api-version=9": "http://x.test/openai/v1/responses?api-version=9"} {
		if p, err := New(Options{APIKey: "k", BaseURL: base}); err != nil || p.call.URL != want ||
			p.Name() != "openai" {
			t.Errorf("%q: %+v, %v", base, p, err)
		}
	}
}

// A session over a real connection: a call, its result, a second response, and a fault in between.
func TestOverLoopback(t *testing.T) {
	server := fakellm.New(fakellm.Script(
		fakellm.Turn{Thinking: "Where is it?", Text: "I look.",
			Calls: []fakellm.Call{{Name: "look", Args: json.RawMessage(`{"at":"a"}`)}}},
		fakellm.Turn{Text: "Done."},
	), fakellm.Options{Faults: map[int]fakellm.Fault{2: {Kind: fakellm.FaultCut, After: 1}}})
	srv := httptest.NewServer(server)
	defer srv.Close()
	p, err := New(Options{Name: "mine", APIKey: "key-1", BaseURL: srv.URL + "/v1", HTTPClient: srv.Client(),
		Organization: "org-1",
		Project:      "proj-1", Header: http.Header{"x-team": {"a"}}})
	if err != nil {
		t.Fatal(err)
	}
	req := &llm.Request{Model: "m", Messages: []llm.Message{llm.System("Be brief."), llm.User("Go.")},
		Memo: new(llm.Memo), Effort: "low",
		Tools: []llm.ToolDefinition{{Name: "look"}}, CacheKey: strings.Repeat("long", 20),
		Options: map[string]json.RawMessage{"mine": json.RawMessage(`{"service_tier":"flex"}`)}}
	first, err := llm.Collect(p.Stream(t.Context(), req))
	if err != nil {
		t.Fatal(err)
	}
	req.Messages = append(req.Messages, first.Message, llm.ToolResults(llm.ToolResult{CallID: first.ToolCalls()[0].ID,
		Content: llm.TextParts("seen")}))
	if _, err := llm.Collect(p.Stream(t.Context(), req)); !errors.Is(err, llm.ErrStream) {
		t.Errorf("the cut: %v", err)
	}
	second, err := llm.Collect(p.Stream(t.Context(), req))
	if err != nil || second.Text() != "Done." || second.Provider != "mine" {
		t.Fatalf("%+v, %v", second, err)
	}
	got := server.Requests()
	h := got[0].Header
	if h.Get("Authorization") != "Bearer key-1" || h.Get("X-Team") != "a" || h.Get("OpenAI-Organization") != "org-1" ||
		h.Get("OpenAI-Project") != "proj-1" || h.Get("Content-Type") != "application/json" {
		t.Errorf("headers %v", h)
	}
	if string(got[1].Body) != string(got[2].Body) {
		t.Error("the retry was another request")
	}
	if got[0].System != "Be brief." || got[0].Effort != "low" || got[2].Turn() != 1 {
		t.Errorf("%+v", got[0])
	}
}

// The model gets back what it said, also from a server that sends one JSON value instead of a
// stream.
func TestG1_WholeAnswer(t *testing.T) {
	turn := fakellm.Turn{Thinking: "Hm.", Text: "Yes.",
		Calls: []fakellm.Call{{Name: "look", Args: json.RawMessage(`{"at":"a"}`)}}}
	server := fakellm.New(fakellm.Script(turn), fakellm.Options{})
	client := llmtest.PipeClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(strings.NewReader(strings.Replace(string(body), `"stream":true`, `"stream":false`, 1)))
		server.ServeHTTP(w, r)
	}))
	p, err := New(Options{APIKey: "k", BaseURL: "http://x.test/v1", HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	req := &llm.Request{Model: "m", Messages: []llm.Message{llm.User("Go.")},
		Tools: []llm.ToolDefinition{{Name: "look"}}}
	events, err := providertest.Contract(t, p.Stream(t.Context(), req))
	if err != nil {
		t.Fatal(err)
	}
	r := events[len(events)-1].Response
	if r.Text() != "Yes." || r.Reasoning() != "Hm." || len(r.ToolCalls()) != 1 ||
		r.Finish.Reason != llm.FinishToolCalls || r.Usage.Input == 0 {
		t.Errorf("%+v", r)
	}
	req.Messages = append(req.Messages, r.Message, llm.ToolResults(llm.ToolResult{CallID: r.ToolCalls()[0].ID,
		Content: llm.TextParts("x")}))
	if _, err := llm.Collect(p.Stream(t.Context(), req)); err != nil { // the server recognizes its reasoning
		t.Error(err)
	}
}

func TestG6_RateLimitHeaders(t *testing.T) {
	p := answering(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for name, value := range map[string]string{"x-ratelimit-limit-requests": "60",
			"x-ratelimit-remaining-requests": "59",
			"x-ratelimit-limit-tokens":       "150000", "x-ratelimit-remaining-tokens": "149984",
			"x-ratelimit-reset-tokens": "6m0s",
			"Content-Type":             "application/json", "x-request-id": "req_9"} {
			w.Header().Set(name, value)
		}
		io.WriteString(w, `{"object":"response","id":"resp_1","model":"m","status":"completed","output":[]}`)
	}))
	r, err := llm.Collect(p.Stream(t.Context(), &llm.Request{Model: "m", Messages: []llm.Message{llm.User("x")}}))
	if err != nil {
		t.Fatal(err)
	}
	l := r.RateLimit
	if l == nil || l.RequestsLimit != 60 || l.RequestsRemaining != 59 || l.TokensLimit != 150000 ||
		l.TokensRemaining != 149984 ||
		time.Until(l.Reset) < 5*time.Minute {
		t.Errorf("%+v", l)
	}
}

// answering returns a provider whose server always sends the same response.
func answering(t *testing.T, answer http.Handler) *Provider {
	return provider(t, Options{BaseURL: "http://x.test/v1", HTTPClient: llmtest.PipeClient(t, answer),
		IdleTimeout: time.Minute})
}
