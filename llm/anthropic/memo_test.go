package anthropic

import (
	"encoding/json"
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
	return providertest.Encoding{End: `],"max_tokens"`, Open: "]}", Mark: cacheMark,
		Encode: func(req *llm.Request) ([][]byte, error) { return p.encode(req) }}
}

func TestPrefix(t *testing.T) {
	e := encodingOf(provider(t, Options{}))
	like := providertest.Conversations{Author: defaultName, Text: []string{cacheMark}}
	seed.Check(t, func(rt *rapid.T) {
		rounds := like.Rounds(func(label string, n int) int { return rapid.IntRange(0, n-1).Draw(rt, label) })
		for _, body := range e.Prefixes(rt,
			llm.Request{Model: "m", Tools: []llm.ToolDefinition{{Name: "look", Description: "Looks."}}}, rounds) {
			if n := countMarks(t, body); n > 4 {
				rt.Fatalf("%d marks", n)
			}
		}
	})
}

// countMarks counts the real marks, not the text of a mark inside a string.
func countMarks(t testing.TB, body string) int {
	var w struct {
		System, Tools []struct {
			Mark json.RawMessage `json:"cache_control"`
		}
		Messages []struct {
			Content []struct {
				Mark json.RawMessage `json:"cache_control"`
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &w); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, b := range append(w.System, w.Tools...) {
		n += min(len(b.Mark), 1)
	}
	for _, m := range w.Messages {
		for _, b := range m.Content {
			n += min(len(b.Mark), 1)
		}
	}
	return n
}

func TestMemoStartsAfresh(t *testing.T) {
	encodingOf(provider(t, Options{})).StartsAfresh(t, llm.Request{Model: "m"}, `"tools":[{"name":`,
		llm.Media{MIME: "audio/wav"})
}

// The server finds everything that it was sent before in its cache.
func TestCacheIsHit(t *testing.T) {
	turns := make([]fakellm.Turn, 12)
	for i := range turns {
		turns[i] = fakellm.Turn{Thinking: "Hm, " + strings.Repeat("thinking ", i), Text: "Turn.",
			Calls: []fakellm.Call{{Name: "look"}, {Name: "look"}}}
	}
	server := fakellm.New(fakellm.Script(turns...), fakellm.Options{})
	p := provider(t, Options{BaseURL: "http://x.test", HTTPClient: llmtest.PipeClient(t, server)})
	req := llm.Request{Model: "m", Tools: []llm.ToolDefinition{{Name: "look"}}, Memo: new(llm.Memo),
		Messages: []llm.Message{llm.System(strings.Repeat("You are careful. ", 50)), llm.User("Go.")}}
	written := 0
	providertest.Session(t, p, &req, len(turns), llm.TextParts("seen"), func(i int, resp *llm.Response) {
		if i > 0 && resp.Usage.CacheRead != written {
			t.Errorf("turn %d: %d tokens read from the cache, which holds %d", i, resp.Usage.CacheRead, written)
		}
		written = resp.Usage.CacheRead + resp.Usage.CacheWrite
	})
	if last := server.Requests()[len(turns)-1]; last.CacheMarks != 4 {
		t.Errorf("%d marks", last.CacheMarks)
	}
	req.NoCache = true
	if resp, err := llm.Collect(p.Stream(t.Context(), &req)); err != nil || resp.Usage.CacheWrite != 0 {
		t.Errorf("without marks: %v", err)
	}
}
