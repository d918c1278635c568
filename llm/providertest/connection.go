package providertest

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// Refuses checks that a constructor refuses keys and base URLs that cannot be used, and their
// absence, with an [llm.ErrConfiguration] that quotes no secret.
func Refuses(t *testing.T, create func(key, baseURL string) error) {
	t.Helper()
	for name, c := range map[string]struct{ key, baseURL string }{
		"nothing":             {},
		"a key with line end": {"k\n", "http://x.test/v1"},
		"a key in quotes":     {"'secret'", "http://x.test/v1"},
		"a key with a mark":   {"secret\u200b", "http://x.test/v1"},
		"no scheme":           {"k", "api.test/v1"},
		"another scheme":      {"k", "ftp://api.test"},
		"a broken URL":        {"k", "http://u:secret@[::1"},
	} {
		if err := create(c.key, c.baseURL); !errors.Is(err, llm.ErrConfiguration) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// session checks a conversation over a real connection: a call and its result, a response that
// breaks off, and the same request again.
func (s suite) session(t *testing.T) {
	server := fakellm.New(fakellm.Script(
		fakellm.Turn{Thinking: "Where is it?", Text: "I look.",
			Calls: []fakellm.Call{{Name: "look", Args: []byte(`{"at":"<a>"}`)}}},
		fakellm.Turn{Text: "Done."},
	), fakellm.Options{Faults: map[int]fakellm.Fault{2: {Kind: fakellm.FaultCut, After: 1}}})
	srv := httptest.NewServer(server)
	defer srv.Close()
	p := s.newProvider(t, Config{BaseURL: srv.URL, APIKey: suiteKey, Client: srv.Client(), Idle: time.Minute})
	req := newRequest()
	req.Memo = new(llm.Memo)
	first, err := llm.Collect(p.Stream(t.Context(), req))
	if err != nil || len(first.ToolCalls()) != 1 {
		t.Fatalf("%+v, %v", first, err)
	}
	req.Messages = append(req.Messages, first.Message,
		llm.ToolResults(llm.ToolResult{CallID: first.ToolCalls()[0].ID, Content: llm.TextParts("seen")}))
	if _, err := llm.Collect(p.Stream(t.Context(), req)); !errors.Is(err, llm.ErrStream) {
		t.Errorf("the cut: %v", err)
	}
	second, err := llm.Collect(p.Stream(t.Context(), req))
	if err != nil || second.Text() != "Done." || second.Provider != p.Name() {
		t.Fatalf("%+v, %v", second, err)
	}
	got := server.Requests()
	if string(got[1].Body) != string(got[2].Body) {
		t.Error("the retry was another request")
	}
	said := got[2].Messages[1].Parts
	if got[2].System != "Be brief." || got[2].Turn() != 1 || said.Reasoning() != "Where is it?" ||
		said.Text() != "I look." || said.ToolCalls()[0].Args != `{"at":"<a>"}` {
		t.Errorf("turn %d, system prompt %q, messages %+v", got[2].Turn(), got[2].System, got[2].Messages)
	}
	for _, r := range got {
		if strings.Contains(r.Path+r.Query.Encode()+string(r.Body), suiteKey) {
			t.Errorf("request %d has the key outside of its headers", r.N)
		}
	}
}
