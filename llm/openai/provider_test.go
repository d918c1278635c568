package openai

import (
	"encoding/json"
	"io"
	"net/http"
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
	providertest.Refuses(t, func(key, baseURL string) error {
		_, err := New(Options{APIKey: key, BaseURL: baseURL})
		return err
	})
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

// Requests have the headers of the API and of the options, and the caller's parameters.
func TestHeaders(t *testing.T) {
	server := fakellm.New(fakellm.Script(), fakellm.Options{})
	p := provider(t, Options{Name: "mine", APIKey: "key-1", BaseURL: "http://x.test/v1",
		HTTPClient: llmtest.PipeClient(t, server), Organization: "org-1", Project: "proj-1",
		Header: http.Header{"x-team": {"a"}}})
	req := &llm.Request{Model: "m", Messages: []llm.Message{llm.User("Go.")}, Effort: "low",
		CacheKey: strings.Repeat("long", 20),
		Options:  map[string]json.RawMessage{"mine": json.RawMessage(`{"service_tier":"flex"}`)}}
	if _, err := llm.Collect(p.Stream(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	got := server.Requests()[0]
	h := got.Header
	if h.Get("Authorization") != "Bearer key-1" || h.Get("X-Team") != "a" || h.Get("OpenAI-Organization") != "org-1" ||
		h.Get("OpenAI-Project") != "proj-1" || h.Get("Content-Type") != "application/json" || got.Effort != "low" ||
		!strings.Contains(string(got.Body), `"service_tier":"flex"`) {
		t.Errorf("headers %v, body %s", h, got.Body)
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
	req.Messages = append(req.Messages, r.Message,
		llm.ToolResults(llm.ToolResult{CallID: r.ToolCalls()[0].ID, Content: llm.TextParts("x")}))
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
