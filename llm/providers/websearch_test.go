package providers_test

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/catalog"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/llm/providers"
)

// searchModels are models with a web search that their vendors run, by provider.
var searchModels = map[string]string{"anthropic": "claude-sonnet-4-5", "openai": "gpt-5.4",
	"gemini": "gemini-3-flash-preview"}

// encryptedData matches what only a vendor can read in a request: encrypted hits and citations, and
// signatures of thoughts and searches.
var encryptedData = regexp.MustCompile(`"(encrypted_content|encrypted_index|thoughtSignature|signature)":"([^"]+)"`)

// searchTalk is a conversation with a provider on a scripted server.
type searchTalk struct {
	provider llm.Provider
	req      llm.Request
	bodies   [][]byte
}

func searching(t *testing.T, provider, model string, turns ...fakellm.Turn) *searchTalk {
	t.Helper()
	a := &searchTalk{}
	script := fakellm.Script(turns...)
	client := llmtest.PipeClient(t, fakellm.New(func(r *fakellm.Request) fakellm.Turn {
		a.bodies = append(a.bodies, bytes.Clone(r.Body))
		return script(r)
	}, fakellm.Options{}))
	kind, err := providers.Find(provider)
	if err != nil {
		t.Fatal(err)
	}
	a.provider, err = kind.New(providers.Config{APIKey: "k", BaseURL: "http://api.test/v1", HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	a.req = llm.Request{Provider: provider, Model: model, Messages: []llm.Message{llm.User("What is new in Go?")},
		Tools: []llm.ToolDefinition{
			{Name: "read", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)},
			{Name: llm.HostedWebSearch, Hosted: llm.HostedWebSearch}}}
	if facts, known := catalog.New().Get(provider, model); known {
		a.req.Facts = &facts
	}
	return a
}

// answer returns the next response and its searches, as they were streamed.
func (a *searchTalk) answer(t *testing.T) (resp *llm.Response, searches []llm.WebSearch) {
	t.Helper()
	for ev, err := range a.provider.Stream(t.Context(), &a.req) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Type == llm.EventSearch {
			searches = append(searches, *ev.Search)
		}
		resp = ev.Response
	}
	return resp, searches
}

func searchTurn() fakellm.Turn {
	return fakellm.Turn{Thinking: "I look it up.",
		Searches: []llm.WebSearch{{Query: `go "release" <notes>`, Hits: []llm.Source{
			{URL: "https://go.dev/doc", Title: "Go\x1b[31m docs"}, {URL: "https://x.test/a"}}}},
		Text:  "Go has a new release with generics everywhere.",
		Cites: []llm.Source{{URL: "https://go.dev/doc", Title: "Go docs"}}}
}

// In each format a search is streamed with what it found, the text has its sources, and what the
// vendor encrypted goes back as it came: the scripted server refuses anything else.
func TestV7_SearchGoesBackUnchanged(t *testing.T) {
	for name, model := range searchModels {
		t.Run(name, func(t *testing.T) {
			a := searching(t, name, model, searchTurn(), fakellm.Turn{Text: "You are welcome."})
			resp, searches := a.answer(t)
			hits := searchTurn().Searches[0].Hits
			switch name {
			case "openai": // which tells no titles of them
				hits = []llm.Source{{URL: hits[0].URL}, {URL: hits[1].URL}}
			case "gemini": // which tells only what the answer cites
				hits = nil
			}
			want := []llm.WebSearch{{Query: `go "release" <notes>`, Hits: hits}}
			if diff := cmp.Diff(want, searches); diff != "" {
				t.Errorf("searches (-want +got):\n%s", diff)
			}
			var texts []llm.Text
			for _, part := range resp.Message.Parts {
				if text, ok := part.(llm.Text); ok && text.Text != "" {
					texts = append(texts, text)
				}
			}
			if len(texts) != 1 || texts[0].Text != searchTurn().Text ||
				!slices.Equal(texts[0].Sources, searchTurn().Cites) {
				t.Errorf("texts: %+v", texts)
			}
			if resp.Usage.Searches != 1 {
				t.Errorf("usage: %+v", resp.Usage)
			}

			written, err := json.Marshal(resp.Message) // as a journal has it
			if err != nil {
				t.Fatal(err)
			}
			var read llm.Message
			if err := json.Unmarshal(written, &read); err != nil {
				t.Fatal(err)
			}
			a.req.Messages = append(a.req.Messages, read, llm.User("Thanks."))
			a.req.Facts = nil // an unknown model gets the tool, too
			a.answer(t)
			sent := encryptedData.FindAllStringSubmatch(string(a.bodies[1]), -1)
			least := map[string]int{"anthropic": 4, "openai": 1, "gemini": 2}[name]
			if len(sent) < least {
				t.Errorf("%d encrypted parts went back, want %d: %s", len(sent), least, a.bodies[1])
			}
			if !bytes.HasPrefix(a.bodies[1], a.bodies[0][:bytes.Index(a.bodies[0], []byte("new in Go?"))]) {
				t.Errorf("the second request does not begin as the first:\n%s\n%s", a.bodies[0], a.bodies[1])
			}
		})
	}
}

// Another provider gets the text of the answer and nothing that only its vendor can read.
func TestV7_OtherProvidersGetNoSearch(t *testing.T) {
	for name, model := range searchModels {
		resp, _ := searching(t, name, model, searchTurn()).answer(t)
		for _, other := range [][2]string{{"anthropic", "claude-sonnet-4-5"}, {"openai", "gpt-5.4"},
			{"gemini", "gemini-3-flash-preview"}, {"deepseek", "x"}, {"xai", "x"}, {"minimax", "x"}} {
			if other[0] == name {
				continue
			}
			b := searching(t, other[0], other[1], fakellm.Turn{}, fakellm.Turn{Text: "Yes."})
			b.req.Messages = append(b.req.Messages, resp.Message, llm.User("Thanks."))
			b.answer(t)
			body := string(b.bodies[0])
			_, hosts := searchModels[other[0]]
			offers := strings.Contains(body, "web_search") || strings.Contains(body, "googleSearch")
			if encryptedData.MatchString(body) || strings.Contains(body, "release") && strings.Contains(body,
				"<notes>") ||
				!strings.Contains(body, "generics everywhere") || offers != hosts {
				t.Errorf("%s gets of %s: %s", other[0], name, body)
			}
		}
	}
}

// A search costs what the catalog says, beside its tokens. Models without one are not offered it.
func TestV7_SearchesCost(t *testing.T) {
	for name, model := range searchModels {
		a := searching(t, name, model, searchTurn())
		resp, _ := a.answer(t)
		with, known := a.req.Facts.Cost(resp.Usage)
		tokens := resp.Usage
		tokens.Searches = 0
		without, _ := a.req.Facts.Cost(tokens)
		if !known || a.req.Facts.WebSearch == 0 || math.Abs(with-without-a.req.Facts.WebSearch) > 1e-9 {
			t.Errorf("%s: %v with and %v without the search, known %v", name, with, without, known)
		}
		facts := *a.req.Facts
		facts.WebSearch = 0
		if usd, known := facts.Cost(resp.Usage); known || math.Abs(usd-without) > 1e-9 {
			t.Errorf("%s without a price: %v, known %v", name, usd, known)
		}
		a.req.Facts = &facts
		resp, searches := a.answer(t)
		if len(searches) > 0 || resp.Usage.Searches > 0 || strings.Contains(string(a.bodies[1]), "earch") {
			t.Errorf("%s without a search is offered one: %s", name, a.bodies[1])
		}
	}
	old := searching(t, "gemini", "gemini-2.5-flash", searchTurn())
	old.req.Facts = nil // nothing is known of it but its name
	if _, searches := old.answer(t); len(searches) > 0 {
		t.Error("Gemini 2.5 is offered a search beside functions")
	}
}

// An error of a search is a part of the answer, which goes on.
func TestV7_SearchesFail(t *testing.T) {
	for _, code := range []string{"max_uses_exceeded", "too_many_requests"} {
		a := searching(t, "anthropic", searchModels["anthropic"],
			fakellm.Turn{Searches: []llm.WebSearch{{Query: "x", Error: code}}, Text: "I could not search."},
			fakellm.Turn{Text: "Yes."})
		resp, searches := a.answer(t)
		if diff := cmp.Diff([]llm.WebSearch{{Query: "x", Error: code}}, searches); diff != "" {
			t.Error(diff)
		}
		if resp.Text() != "I could not search." || resp.Usage.Searches != 0 {
			t.Errorf("%q, %+v", resp.Text(), resp.Usage)
		}
		a.req.Messages = append(a.req.Messages, resp.Message, llm.User("Again."))
		a.answer(t)
		if !strings.Contains(string(a.bodies[1]), code) {
			t.Errorf("the error does not go back: %s", a.bodies[1])
		}
	}
}

// OpenAI refuses the search with the effort minimal, so it is not offered there.
func TestV7_NoSearchWithMinimalEffort(t *testing.T) {
	a := searching(t, "openai", "gpt-5", searchTurn())
	a.req.Effort = "minimal"
	if _, searches := a.answer(t); len(searches) > 0 || strings.Contains(string(a.bodies[0]), "web_search") {
		t.Errorf("it is offered: %s", a.bodies[0])
	}
}
