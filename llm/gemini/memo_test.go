package gemini

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/internal/seed"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/providertest"
)

func provider(t testing.TB, o Options) *Provider {
	t.Helper()
	if o.APIKey == "" {
		o.APIKey = "k"
	}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func encodingOf(p *Provider) providertest.Encoding {
	return providertest.Encoding{Encode: p.encode, End: `],"generationConfig"`, Open: "]}"}
}

func TestPrefix(t *testing.T) {
	e := encodingOf(provider(t, Options{}))
	models := []string{"gemini-2.5-pro", "gemini-3-pro", "m"}
	like := providertest.Conversations{Author: defaultName, Models: models, Text: []string{`],"generationConfig":{}`,
		`{"text":"x"}`}}
	seed.Check(t, func(rt *rapid.T) {
		rounds := like.Rounds(func(label string, n int) int { return rapid.IntRange(0, n-1).Draw(rt, label) })
		e.Prefixes(rt, llm.Request{Model: rapid.SampledFrom(models).Draw(rt, "target"), MaxTokens: 100,
			Tools: []llm.ToolDefinition{{Name: "look", Description: "Looks."}}}, rounds)
	})
}

func TestMemoStartsAfresh(t *testing.T) {
	e := encodingOf(provider(t, Options{}))
	e.StartsAfresh(t, llm.Request{Model: "m", MaxTokens: 1}, `"functionDeclarations":[{"name":`,
		llm.Media{MIME: "image/gif"})
	req := llm.Request{Model: "gemini-2.5-pro", MaxTokens: 1, Memo: new(llm.Memo),
		Messages: []llm.Message{llm.User("one"),
			{Role: llm.RoleAssistant, Provider: "openai", Parts: llm.Parts{llm.ToolCall{ID: "a", Name: "look"}}},
			llm.ToolResults(llm.ToolResult{CallID: "a"})}}
	if body, _ := e.Body(t, &req); strings.Contains(body, noSignature) {
		t.Errorf("2.5 needs no signatures: %s", body)
	}
	req.Model = "gemini-3-pro"
	if body, _ := e.Body(t, &req); !strings.Contains(body, noSignature) {
		t.Errorf("another generation: %s", body)
	}
}

// The server finds everything that it was sent before in its implicit cache, including the model's
// own responses, signed or not.
func TestG7_ImplicitCacheIsHit(t *testing.T) {
	for _, model := range []string{"gemini-2.5-flash", "gemini-3-flash"} {
		turns := make([]fakellm.Turn, 12)
		for i := range turns {
			turns[i] = fakellm.Turn{Thinking: "Hm, " + strings.Repeat("thinking ", i), Text: "Turn.",
				Calls: []fakellm.Call{{Name: "look", Args: json.RawMessage(`{"at": "a <b>"}`)}, {Name: "look"}}}
		}
		server := fakellm.New(fakellm.Script(turns...), fakellm.Options{})
		p := connect(t, server)
		req := llm.Request{Model: model, Tools: []llm.ToolDefinition{{Name: "look"}}, Memo: new(llm.Memo),
			Effort:   "low",
			Messages: []llm.Message{llm.System(strings.Repeat("You are careful. ", 400)), llm.User("Go.")}}
		input := 0
		providertest.Session(t, p, &req, len(turns), llm.TextParts("seen"), func(i int, resp *llm.Response) {
			// Member names and parameters also count as input, so the cache holds a little less.
			if i > 0 && (resp.Usage.CacheRead < input*7/10 || resp.Usage.CacheRead > input ||
				resp.Usage.CacheWrite != 0) {
				t.Errorf("%s, turn %d: %+v, after a turn with an input of %d", model, i, resp.Usage, input)
			}
			input = resp.Usage.Input
		})
	}
}
