package openai

import (
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
	return providertest.Encoding{Encode: p.encode, End: `],"tool_choice"`}
}

func TestG7_Prefix(t *testing.T) {
	e := encodingOf(provider(t, Options{}))
	like := providertest.Conversations{Author: defaultName, ThinkingID: "rs_1", Late: true,
		Text: []string{`],"tool_choice"`, `{"type":"message"}`}}
	seed.Check(t, func(rt *rapid.T) {
		rounds := like.Rounds(func(label string, n int) int { return rapid.IntRange(0, n-1).Draw(rt, label) })
		e.Prefixes(rt, llm.Request{Model: "m", Tools: []llm.ToolDefinition{{Name: "look", Description: "Looks."}}},
			rounds)
	})
}

func TestMemoStartsAfresh(t *testing.T) {
	e := encodingOf(provider(t, Options{}))
	e.StartsAfresh(t, llm.Request{Model: "m"}, `"tools":[{"type":"function","name":`, llm.Media{MIME: "audio/wav"})
	req := llm.Request{Model: "m", Memo: new(llm.Memo), Messages: []llm.Message{llm.User("x")},
		Tools: []llm.ToolDefinition{{Name: "a"}}}
	e.Body(t, &req)
	req.Tools[0].Grammar = &llm.Grammar{Syntax: "lark", Definition: "x"}
	if body, _ := e.Body(t, &req); !strings.Contains(body, `"lark"`) {
		t.Errorf("a grammar: %s", body)
	}
}

// The server finds everything that it was sent before in its cache, up to the last full step.
func TestG7_CacheIsHit(t *testing.T) {
	turns := make([]fakellm.Turn, 12)
	for i := range turns {
		turns[i] = fakellm.Turn{Thinking: "Hm, " + strings.Repeat("thinking ", i), Text: "Turn.",
			Calls: []fakellm.Call{{Name: "look"}, {Name: "patch", Raw: "*** Begin\n"}}}
	}
	server := fakellm.New(fakellm.Script(turns...), fakellm.Options{})
	p := provider(t, Options{BaseURL: "http://x.test/v1", HTTPClient: llmtest.PipeClient(t, server)})
	req := llm.Request{Model: "m", Memo: new(llm.Memo), CacheKey: "session-1",
		Tools: []llm.ToolDefinition{{Name: "look"},
			{Name: "patch", Grammar: &llm.Grammar{Syntax: "lark", Definition: "start: /.+/"}}},
		Messages: []llm.Message{llm.System(strings.Repeat("You are careful. ", 400)), llm.User("Go.")}}
	held := 0
	providertest.Session(t, p, &req, len(turns), llm.TextParts(strings.Repeat("seen ", 100)),
		func(i int, resp *llm.Response) {
			if resp.Usage.CacheRead != held || resp.Usage.CacheRead%128 != 0 {
				t.Errorf("turn %d: %d tokens read from the cache, which holds %d", i, resp.Usage.CacheRead, held)
			}
			if held = resp.Usage.CacheRead + resp.Usage.CacheWrite; held < 1024 || held > resp.Usage.Input {
				t.Errorf("turn %d: %+v", i, resp.Usage)
			}
		})
	// The server got back what it sent: its reasoning under its id, and both kinds of calls.
	last := server.Requests()[len(turns)-1]
	thoughts, free := 0, 0
	for _, m := range last.Messages {
		for _, part := range m.Parts {
			switch part := part.(type) {
			case llm.Thinking:
				thoughts++
			case llm.ToolCall:
				if part.Free {
					free++
				}
			}
		}
	}
	if thoughts != len(turns)-1 || free != len(turns)-1 || last.Turn() != len(turns)-1 {
		t.Errorf("%d thoughts and %d free calls came back", thoughts, free)
	}
}
