package providers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/catalog"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/generate"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/llm/providers"
	"github.com/attractor-go/attractor/llm/providertest"
)

// vendor is a provider in the matrix, with the model to request.
type vendor struct{ name, model, version string }

func vendors() []vendor {
	return []vendor{
		{"openai", "gpt-5.2", "/v1"},
		{"anthropic", "claude-opus-5-5", ""},
		{"gemini", "gemini-3.1-pro-preview", ""},
	}
}

func compatible() vendor { return vendor{"openai-compatible", "local-model", "/v1"} }

// bench is a client of one vendor with the scripted model behind it.
type bench struct {
	vendor
	client *llm.Client
	server *fakellm.Server
	meter  *llmtest.Meter
}

func newBench(t *testing.T, v vendor, key string, faults map[int]fakellm.Fault, turns ...fakellm.Turn) *bench {
	t.Helper()
	b := &bench{vendor: v, server: fakellm.New(fakellm.Script(turns...), fakellm.Options{Faults: faults})}
	b.meter = llmtest.NewMeter(b.server)
	web := httptest.NewServer(b.meter)
	t.Cleanup(web.Close)
	kind, err := providers.Find(v.name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := kind.New(providers.Config{APIKey: key, BaseURL: web.URL + v.version})
	if err != nil {
		t.Fatal(err)
	}
	b.client = &llm.Client{Providers: []llm.Provider{p}, Models: catalog.New().Get}
	return b
}

func (b *bench) request(parts ...llm.Part) *llm.Request {
	return &llm.Request{Model: b.model,
		Messages: []llm.Message{llm.System("Be brief."), {Role: llm.RoleUser, Parts: parts}}}
}

type city struct {
	City string `json:"city" jsonschema:"the city's name"`
}

func weather(ran *[]string) generate.Tool {
	var mu sync.Mutex
	return generate.Func("weather", "Tells the weather.", func(_ context.Context, c city) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		*ran = append(*ran, c.City)
		return "sunny in " + c.City, nil
	})
}

func ask(cities ...string) fakellm.Turn {
	var t fakellm.Turn
	for _, c := range cities {
		t.Calls = append(t.Calls, fakellm.Call{Name: "weather", Args: json.RawMessage(fmt.Sprintf(`{"city":%q}`, c))})
	}
	return t
}

// parity holds the validation matrix of the client's specification (section 8.9): each case on each
// of the three native APIs.
var parity = []struct {
	name   string
	key    string
	faults map[int]fakellm.Fault
	turns  []fakellm.Turn
	check  func(t *testing.T, b *bench)
}{
	{name: "simple text", turns: []fakellm.Turn{{Text: "Four."}}, check: func(t *testing.T, b *bench) {
		r, err := b.client.Complete(t.Context(), b.request(llm.Text{Text: "2+2?"}))
		if err != nil || r.Text() != "Four." || r.Finish.Reason != llm.FinishStop || r.Provider != b.name {
			t.Errorf("%+v, %v", r, err)
		}
	}},
	{name: "streamed text", turns: []fakellm.Turn{{Text: "One two three four five six seven."}},
		check: func(t *testing.T, b *bench) {
			events, err := providertest.Contract(t, b.client.Stream(t.Context(), b.request(llm.Text{Text: "count"})))
			deltas := 0
			for _, ev := range events {
				if ev.Type == llm.EventTextDelta {
					deltas++
				}
			}
			if err != nil || deltas < 2 {
				t.Errorf("%d deltas, %v", deltas, err)
			}
		}},
	{name: "image by data", turns: []fakellm.Turn{{Text: "A cat."}}, check: func(t *testing.T, b *bench) {
		path := filepath.Join(t.TempDir(), "cat")
		if err := os.WriteFile(path, []byte("\x89PNG\r\n\x1a\nthe rest"), 0o600); err != nil {
			t.Fatal(err)
		}
		image, err := llm.FilePart(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.client.Complete(t.Context(), b.request(llm.Text{Text: "what is it?"}, image)); err != nil {
			t.Fatal(err)
		}
		if body := string(b.server.Requests()[0].Body); !strings.Contains(body, "iVBORw0KGgp0aGUgcmVzdA==") ||
			!strings.Contains(body, "image/png") {
			t.Errorf("no image in %s", body)
		}
	}},
	{name: "image by URL", turns: []fakellm.Turn{{Text: "A cat."}}, check: func(t *testing.T, b *bench) {
		const url = "https://example.com/cat.png"
		if _, err := b.client.Complete(t.Context(), b.request(llm.Text{Text: "what is it?"},
			llm.Media{MIME: "image/png", URL: url})); err != nil {
			t.Fatal(err)
		}
		if body := string(b.server.Requests()[0].Body); !strings.Contains(body, url) {
			t.Errorf("no image in %s", body)
		}
	}},
	{name: "one tool call and its execution", turns: []fakellm.Turn{ask("Oslo"), {Text: "Sunny."}},
		check: func(t *testing.T, b *bench) {
			checkLoop(t, b, 1, []string{"Oslo"}, "Sunny.")
		}},
	{name: "parallel tool calls", turns: []fakellm.Turn{ask("Oslo", "Rome", "Lima"), {Text: "Sunny."}},
		check: func(t *testing.T, b *bench) {
			checkLoop(t, b, 1, []string{"Lima", "Oslo", "Rome"}, "Sunny.")
			if n := len(b.server.Requests()); n != 2 {
				t.Errorf("%d requests, want all results in one continuation", n)
			}
		}},
	{name: "a tool loop of three rounds", turns: []fakellm.Turn{ask("Oslo"), ask("Rome"), ask("Lima"),
		{Text: "Sunny."}}, check: func(t *testing.T, b *bench) {
		checkLoop(t, b, 5, []string{"Lima", "Oslo", "Rome"}, "Sunny.")
	}},
	{name: "streaming with tool calls", turns: []fakellm.Turn{{Text: "I ask.", Calls: ask("Oslo", "Rome").Calls}},
		check: func(t *testing.T, b *bench) {
			req := b.request(llm.Text{Text: "the weather?"})
			req.Tools = []llm.ToolDefinition{weather(new([]string)).ToolDefinition}
			events, err := providertest.Contract(t, b.client.Stream(t.Context(), req))
			if err != nil {
				t.Fatal(err)
			}
			r := events[len(events)-1].Response
			if calls := r.ToolCalls(); len(calls) != 2 || calls[1].Args != `{"city":"Rome"}` ||
				calls[0].ID == calls[1].ID || r.Text() != "I ask." {
				t.Errorf("%+v", r)
			}
		}},
	{name: "structured output", turns: []fakellm.Turn{{Text: `{"city":"Rome"}`, Calls: nil}},
		check: func(t *testing.T, b *bench) {
			c, _, err := generate.Object[city](t.Context(), b.client,
				generate.Options{Model: b.model, Prompt: "which city?", ObjectMode: generate.ObjectNative})
			if err != nil || c.City != "Rome" {
				t.Errorf("%+v, %v", c, err)
			}
		}},
	{name: "reasoning", turns: []fakellm.Turn{{Thinking: "Let me think about that for a while.", Text: "Four."}},
		check: func(t *testing.T, b *bench) {
			req := b.request(llm.Text{Text: "2+2?"})
			req.Effort = "high"
			r, err := b.client.Complete(t.Context(), req)
			if err != nil || r.Reasoning() == "" || r.Usage.Reasoning <= 0 || r.Usage.Reasoning > r.Usage.Output {
				t.Errorf("%+v, %v", r, err)
			}
			if b.server.Requests()[0].Effort != "high" {
				t.Errorf("the server was asked for effort %q", b.server.Requests()[0].Effort)
			}
		}},
	{name: "a wrong key", faults: map[int]fakellm.Fault{1: {Kind: fakellm.FaultStatus, Status: 401}},
		check: func(t *testing.T, b *bench) {
			_, err := b.client.Complete(t.Context(), b.request(llm.Text{Text: "x"}))
			if !errors.Is(err, llm.ErrAuthentication) || llm.Retryable(err) || strings.Contains(err.Error(), testKey) {
				t.Errorf("%v", err)
			}
		}},
	{name: "a rate limit", faults: map[int]fakellm.Fault{1: {Kind: fakellm.FaultStatus, Status: 429,
		Header: map[string]string{"Retry-After": "7"}}},
		check: func(t *testing.T, b *bench) {
			_, err := b.client.Complete(t.Context(), b.request(llm.Text{Text: "x"}))
			var e *llm.Error
			if !errors.As(err, &e) || !errors.Is(err, llm.ErrRateLimit) || !llm.Retryable(err) ||
				e.RetryAfter != 7*time.Second {
				t.Errorf("%+v", err)
			}
		}},
	{name: "usage", turns: []fakellm.Turn{{Text: "x", Usage: &llm.Usage{Input: 1000, CacheRead: 600, Output: 50,
		Reasoning: 20}}}, check: func(t *testing.T, b *bench) {
		r, err := b.client.Complete(t.Context(), b.request(llm.Text{Text: "x"}))
		if want := (llm.Usage{Input: 1000, CacheRead: 600, Output: 50, Reasoning: 20}); err != nil || r.Usage != want {
			t.Errorf("usage %+v, want %+v; %v", r.Usage, want, err)
		}
	}},
	{name: "prompt caching", turns: slices.Repeat([]fakellm.Turn{{Text: strings.Repeat("word ", 50)}}, 8),
		check: checkCaching},
	{name: "provider options", turns: []fakellm.Turn{{Text: "x"}}, check: func(t *testing.T, b *bench) {
		option := map[string]string{"openai": `{"service_tier":"flex"}`,
			"anthropic": `{"service_tier":"auto","beta_headers":["one","two"]}`,
			"gemini":    `{"safetySettings":[{"category":"HARM_CATEGORY_HARASSMENT","threshold":"BLOCK_NONE"}]}`}[b.name]
		req := b.request(llm.Text{Text: "x"})
		req.Options = map[string]json.RawMessage{b.name: json.RawMessage(option),
			"another": json.RawMessage(`{"never":"sent"}`)}
		if _, err := b.client.Complete(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		sent := b.server.Requests()[0]
		want := map[string]string{"openai": `"flex"`, "anthropic": `"auto"`, "gemini": "BLOCK_NONE"}[b.name]
		if !strings.Contains(string(sent.Body), want) || strings.Contains(string(sent.Body), "never") {
			t.Errorf("sent %s", sent.Body)
		}
		if b.name == "anthropic" && sent.Header.Get("anthropic-beta") != "one,two" {
			t.Errorf("beta headers %q", sent.Header.Get("anthropic-beta"))
		}
	}},
}

const testKey = "key-of-the-tests"

func TestG_ParityMatrix(t *testing.T) {
	if len(parity) != 15 {
		t.Fatalf("%d cases, the matrix has 15", len(parity))
	}
	for _, row := range parity {
		for _, v := range vendors() {
			t.Run(row.name+"/"+v.name, func(t *testing.T) {
				t.Parallel()
				row.check(t, newBench(t, v, testKey, row.faults, row.turns...))
			})
		}
	}
}

func checkLoop(t *testing.T, b *bench, rounds int, cities []string, text string) {
	t.Helper()
	var ran []string
	result, err := generate.Generate(t.Context(), b.client, generate.Options{Model: b.model, System: "Be brief.",
		Prompt: "the weather?", Tools: []generate.Tool{weather(&ran)}, MaxToolRounds: generate.Rounds(rounds)})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(ran)
	if !slices.Equal(ran, cities) || result.Text() != text {
		t.Errorf("ran for %q, said %q", ran, result.Text())
	}
	requests := b.server.Requests()
	for _, c := range cities {
		if !strings.Contains(string(requests[len(requests)-1].Body), "sunny in "+c) {
			t.Errorf("the model was not told of %s", c)
		}
	}
}

// checkCaching runs a conversation of eight turns. What was sent stays as it was sent, and from the
// fifth turn on more than half of the input comes from the cache, which the scripted server
// computes from what it received.
func checkCaching(t *testing.T, b *bench) {
	memo := new(llm.Memo)
	messages := []llm.Message{llm.System(strings.Repeat("The rules of the house are many. ", 200))}
	for turn := 1; turn <= 8; turn++ {
		messages = append(messages, llm.User(fmt.Sprintf("question %d: %s", turn, strings.Repeat("more words ", 40))))
		r, err := b.client.Complete(t.Context(),
			&llm.Request{Model: b.model, Messages: messages, Memo: memo, CacheKey: "conversation"})
		if err != nil {
			t.Fatal(err)
		}
		if ratio := r.Usage.CacheHitRatio(); turn >= 5 && ratio <= 0.5 {
			t.Errorf("turn %d: %.0f %% of the input from the cache", turn, 100*ratio)
		}
		messages = append(messages, r.Message)
	}
	if breaks := b.meter.Breaks(); len(breaks) > 0 || b.meter.Requests() != 8 {
		t.Errorf("after %d requests: %q", b.meter.Requests(), breaks)
	}
}

// A conversation that began on one provider, with thinking, calls and results, continues on each of
// the others, and their strict servers accept it.
func TestG11_SwitchingProviders(t *testing.T) {
	all := append(vendors(), compatible())
	for _, from := range all {
		for _, to := range all {
			t.Run(from.name+" to "+to.name, func(t *testing.T) {
				t.Parallel()
				first := newBench(t, from, testKey, nil,
					fakellm.Turn{Thinking: "I need the weather.", Text: "I ask.", Calls: ask("Oslo", "Rome").Calls})
				messages := []llm.Message{llm.System("Be brief."), llm.User("the weather?")}
				tools := []llm.ToolDefinition{weather(new([]string)).ToolDefinition}
				r, err := first.client.Complete(t.Context(),
					&llm.Request{Model: from.model, Messages: messages, Tools: tools, Effort: "high"})
				if err != nil {
					t.Fatal(err)
				}
				messages = append(messages, r.Message)
				var results []llm.ToolResult
				for _, c := range r.ToolCalls() {
					results = append(results,
						llm.ToolResult{CallID: c.ID, Name: c.Name, Content: llm.TextParts("sunny")})
				}
				messages = append(messages, llm.ToolResults(results...))
				second := newBench(t, to, testKey, nil, fakellm.Turn{}, fakellm.Turn{Thinking: "Both are known.",
					Text: "Sunny in both."}, fakellm.Turn{Text: "You are welcome."})
				for _, want := range []string{"Sunny in both.", "You are welcome."} {
					r, err := second.client.Complete(t.Context(),
						&llm.Request{Model: to.model, Messages: messages, Tools: tools, Effort: "high"})
					if err != nil {
						t.Fatal(err)
					}
					if r.Text() != want {
						t.Errorf("%q, want %q", r.Text(), want)
					}
					messages = append(messages, r.Message, llm.User("thanks"))
				}
				for _, r := range second.server.Requests() {
					if from.name != to.name && strings.Contains(string(r.Body), "I need the weather") {
						t.Errorf("%s was sent the thinking of %s", to.name, from.name)
					}
				}
			})
		}
	}
}
