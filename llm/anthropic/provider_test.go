package anthropic

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/llm/providertest"
)

func TestNew(t *testing.T) {
	providertest.Refuses(t, func(key, baseURL string) error {
		_, err := New(Options{APIKey: key, BaseURL: baseURL})
		return err
	})
	for base, want := range map[string]string{"": "https://api.anthropic.com/v1/messages",
		"http://x.test":  "http://x.test/v1/messages",
		"http://x.test/": "http://x.test/v1/messages", "http://x.test/proxy/v1/": "http://x.test/proxy/v1/messages",
		"http://x.test/a%2Fb?tenant=x": "http://x.test/a%2Fb/v1/messages?tenant=x",
		"http://x.test/v1?tenant=x":    "http://x.test/v1/messages?tenant=x"} {
		if p, err := New(Options{APIKey: "k", BaseURL: base}); err != nil || p.call.URL != want ||
			p.Name() != "anthropic" {
			t.Errorf("%q: %+v, %v", base, p, err)
		}
	}
}

// Requests have the headers of the API, those of the options, and the beta features.
func TestHeaders(t *testing.T) {
	server := fakellm.New(fakellm.Script(), fakellm.Options{})
	p := provider(t, Options{Name: "mine", APIKey: "key-1", BaseURL: "http://x.test",
		HTTPClient: llmtest.PipeClient(t, server), Header: http.Header{"x-team": {"a"}}})
	req := &llm.Request{Model: "m", Messages: []llm.Message{llm.User("Go.")}, Effort: "low",
		Options: map[string]json.RawMessage{"mine": json.RawMessage(`{"beta_headers":["b"]}`)}}
	if _, err := llm.Collect(p.Stream(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	got := server.Requests()[0]
	h := got.Header
	if h.Get("X-Api-Key") != "key-1" || h.Get("Anthropic-Version") != apiVersion || h.Get("X-Team") != "a" ||
		h.Get("Anthropic-Beta") != "b" || h.Get("Content-Type") != "application/json" || got.Effort != "budget:4096" {
		t.Errorf("effort %s, headers %v", got.Effort, h)
	}
}
