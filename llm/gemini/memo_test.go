package gemini

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
)

func provider(t testing.TB) *Provider {
	t.Helper()
	p, err := New(Options{APIKey: "k"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// joined is a body as it goes out; prefix is its part before the parameters, which is what a cache can hold, without the end of
// the contents.
func joined(t testing.TB, p *Provider, req *llm.Request) (body, prefix string) {
	t.Helper()
	segments, err := p.encode(req)
	if err != nil {
		t.Fatal(err)
	}
	body = string(bytes.Join(segments, nil))
	if !json.Valid([]byte(body)) {
		t.Fatalf("no JSON: %s", body)
	}
	at := strings.LastIndex(body, `],"generationConfig"`)
	if at < 0 {
		t.Fatalf("no parameters: %s", body)
	}
	return body, strings.TrimSuffix(body[:at], "]}")
}

// conversationGen draws rounds of a session: what one request has more than the one before.
func conversationGen(t *rapid.T) [][]llm.Message {
	text := rapid.SampledFrom([]string{"go on", "line\n\"quoted\" <b>\u2028", "né 😀", `],"generationConfig":{}`, `{"text":"x"}`, ""})
	first := []llm.Message{llm.System(text.Draw(t, "system")), llm.User("start " + text.Draw(t, "user"))}
	rounds := [][]llm.Message{first}
	for i := range rapid.IntRange(1, 6).Draw(t, "rounds") {
		answer := llm.Message{Role: llm.RoleAssistant, Provider: rapid.SampledFrom([]string{"gemini", "openai"}).Draw(t, "author"),
			Model: rapid.SampledFrom([]string{"gemini-2.5-pro", "gemini-3-pro", "m"}).Draw(t, "model")}
		if rapid.Bool().Draw(t, "thinks") {
			answer.Parts = append(answer.Parts, llm.Thinking{Text: "hm", Signature: "s"})
		}
		answer.Parts = append(answer.Parts, llm.Text{Text: text.Draw(t, "text"), Signature: rapid.SampledFrom([]string{"", "t"}).Draw(t, "signature")})
		results := llm.Message{Role: llm.RoleTool}
		for j := range rapid.IntRange(0, 3).Draw(t, "calls") {
			id := fmt.Sprintf("call_%d_%d", i, j)
			answer.Parts = append(answer.Parts, llm.ToolCall{ID: id, Name: "look", Args: rapid.SampledFrom([]string{`{"a":1}`, "", "{"}).Draw(t, "args")})
			content := llm.TextParts(text.Draw(t, "result"))
			if rapid.IntRange(0, 3).Draw(t, "image") == 0 {
				content = append(content, llm.Media{MIME: "image/png", Data: []byte("png")})
			}
			results.Parts = append(results.Parts, llm.ToolResult{CallID: id, Content: content})
		}
		round := []llm.Message{answer}
		if len(results.Parts) > 0 {
			round = append(round, results)
		}
		if len(results.Parts) == 0 || rapid.Bool().Draw(t, "steers") {
			round = append(round, llm.User("and "+text.Draw(t, "more")))
		}
		rounds = append(rounds, round)
		if rapid.IntRange(0, 4).Draw(t, "retries") == 0 { // a request that failed is followed by one with a little more
			rounds = append(rounds, []llm.Message{llm.User("also")})
		}
	}
	return rounds
}

// What was sent stays as it was sent: request n is a byte-prefix of request n+1, with a memo and without one alike, and bytes
// handed out for an earlier request never change.
func TestPrefix(t *testing.T) {
	p := provider(t)
	rapid.Check(t, func(rt *rapid.T) {
		memo := new(llm.Memo)
		model := rapid.SampledFrom([]string{"gemini-2.5-pro", "gemini-3-pro", "m"}).Draw(rt, "target")
		tools := []llm.ToolDefinition{{Name: "look", Description: "Looks."}}
		var messages []llm.Message
		var before string
		var sent [][][]byte
		var copies []string
		for _, round := range conversationGen(rt) {
			messages = append(messages, round...)
			req := &llm.Request{Model: model, Messages: messages, Tools: tools, Memo: memo, MaxTokens: 100}
			body, prefix := joined(t, p, req)
			if !strings.HasPrefix(prefix, before) {
				rt.Fatalf("not a prefix:\n%s\n%s", before, prefix)
			}
			before = prefix
			fresh, _ := joined(t, p, &llm.Request{Model: model, Messages: messages, Tools: tools, MaxTokens: 100})
			if fresh != body {
				rt.Fatalf("with the memo %s\nwithout it   %s", body, fresh)
			}
			segments, err := p.encode(req)
			if err != nil {
				rt.Fatal(err)
			}
			sent, copies = append(sent, segments), append(copies, body)
		}
		for i := range sent {
			if string(bytes.Join(sent[i], nil)) != copies[i] {
				rt.Fatalf("request %d changed after it was sent", i)
			}
		}
	})
}

func TestMemoStartsAfresh(t *testing.T) {
	p := provider(t)
	memo := new(llm.Memo)
	messages := []llm.Message{llm.User("one"),
		{Role: llm.RoleAssistant, Provider: "openai", Parts: llm.Parts{llm.ToolCall{ID: "a", Name: "look"}}},
		llm.ToolResults(llm.ToolResult{CallID: "a"})}
	request := func(model string, messages []llm.Message, tools ...llm.ToolDefinition) *llm.Request {
		return &llm.Request{Model: model, Messages: messages, Memo: memo, MaxTokens: 1, Tools: tools}
	}
	if body, _ := joined(t, p, request("gemini-2.5-pro", messages)); strings.Contains(body, noSignature) {
		t.Errorf("2.5 needs no signatures: %s", body)
	}
	if body, _ := joined(t, p, request("gemini-3-pro", messages)); !strings.Contains(body, noSignature) {
		t.Errorf("another generation: %s", body)
	}
	edited := []llm.Message{llm.User("summary"), llm.User("three")}
	if body, _ := joined(t, p, request("m", edited)); strings.Contains(body, "one") || !strings.Contains(body, "summary") {
		t.Errorf("other messages: %s", body)
	}
	tools := []llm.ToolDefinition{{Name: "a", Parameters: json.RawMessage(`{"type":"object"}`)}}
	for _, name := range []string{"a", "b", "a"} { // the caller may build its list anew, or in place
		tools[0].Name = name
		body, _ := joined(t, p, request("m", edited, tools...))
		if !strings.Contains(body, `"functionDeclarations":[{"name":"`+name+`"`) {
			t.Errorf("tool %s: %s", name, body)
		}
	}
	bad := append(edited[:2:2], llm.User("x", llm.Media{MIME: "image/gif"}))
	if _, err := p.encode(request("m", bad)); err == nil {
		t.Error("a gif was encoded")
	}
	want, _ := joined(t, p, &llm.Request{Model: "m", Messages: edited, MaxTokens: 1})
	if got, _ := joined(t, p, request("m", edited)); got != want {
		t.Errorf("after an error: %s, want %s", got, want)
	}
}

// Appending does what it is for: the server finds everything that it was sent before in its implicit cache, the model's own
// answers included, signed or not.
func TestG7_ImplicitCacheIsHit(t *testing.T) {
	for _, model := range []string{"gemini-2.5-flash", "gemini-3-flash"} {
		turns := make([]fakellm.Turn, 12)
		for i := range turns {
			turns[i] = fakellm.Turn{Thinking: "Hm, " + strings.Repeat("thinking ", i), Text: "Turn.",
				Calls: []fakellm.Call{{Name: "look", Args: json.RawMessage(`{"at": "a <b>"}`)}, {Name: "look"}}}
		}
		server := fakellm.New(fakellm.Script(turns...), fakellm.Options{})
		p, err := New(Options{APIKey: "k", BaseURL: "http://x.test", HTTPClient: llmtest.PipeClient(t, server)})
		if err != nil {
			t.Fatal(err)
		}
		req := llm.Request{Model: model, Tools: []llm.ToolDefinition{{Name: "look"}}, Memo: new(llm.Memo), Effort: "low",
			Messages: []llm.Message{llm.System(strings.Repeat("You are careful. ", 400)), llm.User("Go.")}}
		input := 0
		for i := range turns {
			resp, err := llm.Collect(p.Stream(t.Context(), &req))
			if err != nil {
				t.Fatalf("%s, turn %d: %v", model, i, err)
			}
			// What is not content (names of members, parameters) is counted as input, so the cache holds a little less.
			if i > 0 && (resp.Usage.CacheRead < input*7/10 || resp.Usage.CacheRead > input || resp.Usage.CacheWrite != 0) {
				t.Errorf("%s, turn %d: %+v, after a turn with an input of %d", model, i, resp.Usage, input)
			}
			input = resp.Usage.Input
			var results []llm.ToolResult
			for _, c := range resp.ToolCalls() {
				results = append(results, llm.ToolResult{CallID: c.ID, Content: llm.TextParts("seen")})
			}
			req.Messages = append(req.Messages, resp.Message, llm.ToolResults(results...))
			if i%3 == 0 {
				req.Messages = append(req.Messages, llm.User("Steering."))
			}
		}
	}
}

// BenchmarkEncodeTurn1000 encodes the 1000th request of a conversation: what is new in it, and nothing of the rest.
func BenchmarkEncodeTurn1000(b *testing.B) {
	p := provider(b)
	tools := make([]llm.ToolDefinition, 12)
	for i := range tools {
		tools[i] = llm.ToolDefinition{Name: fmt.Sprintf("tool_%d", i), Description: strings.Repeat("Does things. ", 60),
			Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}
	}
	round := func(i int) []llm.Message {
		id := fmt.Sprintf("call_%d", i)
		return []llm.Message{
			{Role: llm.RoleAssistant, Provider: "gemini", Parts: llm.Parts{llm.Text{Text: "I look at the next file."},
				llm.ToolCall{ID: id, Name: "tool_1", Args: `{"path":"internal/x/y.go"}`, Signature: strings.Repeat("c2ln", 100)}}},
			llm.ToolResults(llm.ToolResult{CallID: id, Content: llm.TextParts(strings.Repeat("a line of code\n", 100))}),
		}
	}
	memo := new(llm.Memo)
	messages := []llm.Message{llm.System(strings.Repeat("Be careful. ", 1000)), llm.User("Go.")}
	for i := range 1000 {
		messages = append(messages, round(i)...)
	}
	encode := func() {
		if _, err := p.encode(&llm.Request{Model: "gemini-3-pro", Messages: messages, Tools: tools, Memo: memo, MaxTokens: 1000}); err != nil {
			b.Fatal(err)
		}
	}
	encode()
	b.ReportAllocs()
	i := 1000
	for b.Loop() {
		if i == 1100 { // stay around turn 1000 however often this runs
			b.StopTimer()
			messages, memo, i = messages[:2002:2002], new(llm.Memo), 1000
			encode()
			b.StartTimer()
		}
		messages = append(messages, round(i)...)
		i++
		encode()
	}
}
