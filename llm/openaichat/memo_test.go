package openaichat

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/seed"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/llm/providertest"
)

func provider(t testing.TB, o Options) *Provider {
	t.Helper()
	if o.BaseURL == "" {
		o.BaseURL = "http://api.test/v1"
	}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func encodingOf(p *Provider) providertest.Encoding {
	// the leading system message may continue
	return providertest.Encoding{Encode: p.encode, End: `],"stream"`, Open: `"}`}
}

// A strict server accepts all of them.
func TestG3_Prefix(t *testing.T) {
	e := encodingOf(provider(t, Options{}))
	like := providertest.Conversations{Author: defaultName, ThinkingID: "reasoning_content",
		Text: []string{`],"stream":`}}
	seed.Check(t, func(rt *rapid.T) {
		rounds := like.Rounds(func(label string, n int) int { return rapid.IntRange(0, n-1).Draw(rt, label) })
		bodies := e.Prefixes(rt,
			llm.Request{Model: "m", Tools: []llm.ToolDefinition{{Name: "look", Description: "Looks."}}}, rounds)
		accepted(t, []byte(bodies[len(bodies)-1]))
	})
}

func TestMemoStartsAfresh(t *testing.T) {
	p := provider(t, Options{})
	e := encodingOf(p)
	e.StartsAfresh(t, llm.Request{Model: "m"}, `"function":{"name":`, llm.Media{MIME: "audio/midi"})
	req := llm.Request{Model: "m", Memo: new(llm.Memo), Messages: []llm.Message{llm.User("x")},
		Tools: []llm.ToolDefinition{{Name: "a", Parameters: json.RawMessage(`{}`)}}}
	e.Body(t, &req)
	req.Tools[0].Parameters = json.RawMessage(`{`)
	if _, err := p.encode(&req); !errors.Is(err, llm.ErrInvalidRequest) {
		t.Errorf("parameters that are no JSON: %v", err)
	}
	req.Tools = nil
	req.Messages = []llm.Message{llm.User("x"), {Role: llm.RoleAssistant, Provider: defaultName, Parts: llm.Parts{
		llm.Thinking{Text: "hm", ID: "reasoning"}, llm.ToolCall{ID: "a", Name: "b"}}},
		llm.ToolResults(llm.ToolResult{CallID: "a"})}
	e.Body(t, &req)
	other := provider(t, Options{NoReasoning: true}) // with the same name
	if body, _ := encodingOf(other).Body(t, &req); strings.Contains(body, "hm") {
		t.Errorf("another encoding: %s", body)
	}
}

// A server's prefix cache finds everything that it was sent before, and the meter finds no change.
func TestG7_CacheIsHit(t *testing.T) {
	turns := make([]fakellm.Turn, 12)
	for i := range turns {
		turns[i] = fakellm.Turn{Thinking: "Hm, " + strings.Repeat("thinking ", i), Text: "Turn.",
			Calls: []fakellm.Call{{Name: "look"}, {Name: "look"}}}
	}
	meter := llmtest.NewMeter(fakellm.New(fakellm.Script(turns...), fakellm.Options{}))
	p := provider(t, Options{HTTPClient: llmtest.PipeClient(t, meter)})
	req := llm.Request{Model: "m", Tools: []llm.ToolDefinition{{Name: "look"}}, Memo: new(llm.Memo),
		Messages: []llm.Message{llm.System(strings.Repeat("You are careful. ", 50)), llm.User("Go.")}}
	before := 0
	content := llm.Parts{llm.Text{Text: "seen"}, llm.Media{MIME: "image/png", Data: []byte("x")}}
	providertest.Session(t, p, &req, len(turns), content, func(i int, resp *llm.Response) {
		// Everything but the body's frame and parameters, about 120 bytes, was sent before.
		if i > 0 && resp.Usage.CacheRead < before-40 {
			t.Errorf("turn %d: %d tokens read from the cache; the request before had %d", i, resp.Usage.CacheRead,
				before)
		}
		before = resp.Usage.Input
	})
	if breaks := meter.Breaks(); len(breaks) > 0 || meter.Requests() != len(turns) {
		t.Errorf("%d requests, breaks: %v", meter.Requests(), breaks)
	}
}
