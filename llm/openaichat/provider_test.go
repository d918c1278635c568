package openaichat

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
	for base, want := range map[string]string{"http://x.test/v1": "http://x.test/v1/chat/completions",
		"https://x.test/v1/":                "https://x.test/v1/chat/completions",
		"http://x.test":                     "http://x.test/chat/completions",
		"http://x.test/d/gpt?api-version=1": "http://x.test/d/gpt/chat/completions?api-version=1"} {
		if p, err := New(Options{BaseURL: base}); err != nil || p.call.URL != want || p.Name() != "openai-compatible" {
			t.Errorf("%q: %+v, %v", base, p, err)
		}
	}
}

// Requests have the headers of the API and of the options, and the caller's parameters.
func TestHeaders(t *testing.T) {
	server := fakellm.New(fakellm.Script(), fakellm.Options{})
	p := provider(t, Options{Name: "mine", APIKey: "key-1", HTTPClient: llmtest.PipeClient(t, server),
		Header: http.Header{"x-team": {"a"}}})
	req := &llm.Request{Model: "m", Messages: []llm.Message{llm.User("Go.")}, Effort: "low",
		Options: map[string]json.RawMessage{"mine": json.RawMessage(`{"top_k":1}`)}}
	if _, err := llm.Collect(p.Stream(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	got := server.Requests()[0]
	h := got.Header
	if h.Get("Authorization") != "Bearer key-1" || h.Get("X-Team") != "a" ||
		h.Get("Content-Type") != "application/json" || got.Effort != "low" ||
		!strings.Contains(string(got.Body), `"top_k":1`) {
		t.Errorf("headers %v, body %s", h, got.Body)
	}
}

// Without a key no header is sent: local servers need none, and some refuse an empty one.
func TestNoKeyNoHeader(t *testing.T) {
	server := fakellm.New(fakellm.Script(), fakellm.Options{})
	p := provider(t, Options{HTTPClient: llmtest.PipeClient(t, server)})
	if _, err := llm.Collect(p.Stream(t.Context(),
		&llm.Request{Model: "m", Messages: []llm.Message{llm.User("x")}})); err != nil {
		t.Fatal(err)
	}
	if h := server.Requests()[0].Header; len(h["Authorization"]) != 0 {
		t.Errorf("%v", h)
	}
}

// A free-form call is sent as a function's call and delivered as a free-form call.
func TestFreeFormRoundTrip(t *testing.T) {
	patch := "*** Begin Patch\n\"quoted\" \\ né 😀\n*** End Patch\n"
	server := fakellm.New(fakellm.Script(fakellm.Turn{Calls: []fakellm.Call{{Name: "apply_patch", Raw: wrap(patch)}}}),
		fakellm.Options{})
	p := provider(t, Options{HTTPClient: llmtest.PipeClient(t, server)})
	req := &llm.Request{Model: "m", Messages: []llm.Message{llm.User("x")},
		Tools: []llm.ToolDefinition{{Name: "apply_patch", Grammar: &llm.Grammar{Syntax: "lark", Definition: "x"}}}}
	events, err := providertest.Contract(t, p.Stream(t.Context(), req))
	if err != nil {
		t.Fatal(err)
	}
	answer := events[len(events)-1].Response
	calls := answer.ToolCalls()
	if len(calls) != 1 || !calls[0].Free || calls[0].Args != patch {
		t.Fatalf("%+v", calls)
	}
	req.Messages = append(req.Messages, answer.Message,
		llm.ToolResults(llm.ToolResult{CallID: calls[0].ID, Free: true}))
	if _, err := llm.Collect(p.Stream(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	if back := server.Requests()[1].Messages[1].Parts.ToolCalls()[0].Args; back != wrap(patch) {
		t.Errorf("it went back as %s", back)
	}
}

func TestInvalidSchema(t *testing.T) {
	p := provider(t, Options{})
	req := &llm.Request{Model: "m", Messages: []llm.Message{llm.User("x")}, Format: &llm.Format{Name: "a",
		Schema: []byte(`{`)}}
	if _, err := llm.Collect(p.Stream(t.Context(), req)); !errors.Is(err, llm.ErrInvalidRequest) {
		t.Error(err)
	}
}

// Ids that we make are unique and have the form that the strictest server accepts.
func TestMadeIDs(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		id := newID()
		if len(id) != 9 || strings.Trim(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" || seen[id] {
			t.Fatal(id)
		}
		seen[id] = true
	}
}

// Comments keep the connection alive but are no progress, and neither is an event without a choice.
func TestKeepAlivesAreNoProgress(t *testing.T) {
	for name, ping := range map[string]string{"comment": ": OPENROUTER PROCESSING\n\n",
		"no choice": "data: {\"id\":\"\",\"choices\":[]}\n\n", "no data": "data: \n\n"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := llmtest.PipeClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Type", "text/event-stream")
					tick := time.NewTicker(time.Second)
					defer tick.Stop()
					for r.Context().Err() == nil {
						io.WriteString(w, ping)
						http.NewResponseController(w).Flush()
						select {
						case <-tick.C:
						case <-r.Context().Done():
						}
					}
				}))
				p := provider(t, Options{HTTPClient: client, IdleTimeout: time.Minute})
				begin := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				_, err := llm.Collect(p.Stream(ctx, &llm.Request{Model: "m", Messages: []llm.Message{llm.User("x")}}))
				if took := time.Since(begin); !errors.Is(err, llm.ErrTimeout) || took != time.Minute {
					t.Errorf("%v after %v", err, took)
				}
			})
		})
	}
}
