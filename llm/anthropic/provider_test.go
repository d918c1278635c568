package anthropic

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
)

func TestNew(t *testing.T) {
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

// A session over a real connection: a call, its result, a second response, and a fault in between.
func TestOverLoopback(t *testing.T) {
	server := fakellm.New(fakellm.Script(
		fakellm.Turn{Thinking: "Where is it?", Text: "I look.",
			Calls: []fakellm.Call{{Name: "look", Args: json.RawMessage(`{"at":"a"}`)}}},
		fakellm.Turn{Text: "Done."},
	), fakellm.Options{Faults: map[int]fakellm.Fault{2: {Kind: fakellm.FaultCut, After: 1}}})
	srv := httptest.NewServer(server)
	defer srv.Close()
	p, err := New(Options{Name: "mine", APIKey: "key-1", BaseURL: srv.URL, HTTPClient: srv.Client(),
		Header: http.Header{"x-team": {"a"}}})
	if err != nil {
		t.Fatal(err)
	}
	req := &llm.Request{Model: "m", Messages: []llm.Message{llm.System("Be brief."), llm.User("Go.")},
		Memo: new(llm.Memo), Effort: "low",
		Tools:   []llm.ToolDefinition{{Name: "look"}},
		Options: map[string]json.RawMessage{"mine": json.RawMessage(`{"beta_headers":["b"]}`)}}
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
	if h.Get("X-Api-Key") != "key-1" || h.Get("Anthropic-Version") != apiVersion || h.Get("X-Team") != "a" ||
		h.Get("Anthropic-Beta") != "b" ||
		h.Get("Content-Type") != "application/json" {
		t.Errorf("headers %v", h)
	}
	if string(got[1].Body) != string(got[2].Body) {
		t.Error("the retry was another request")
	}
	if got[0].System != "Be brief." || got[0].Effort != "budget:4096" || got[2].Turn() != 1 {
		t.Errorf("%+v", got[0])
	}
}
