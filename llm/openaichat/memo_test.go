package openaichat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
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

// joined is a body as it goes out; prefix is its part before the parameters, without the end of the messages.
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
	at := strings.LastIndex(body, `],"stream"`)
	return body, strings.TrimSuffix(body[:at], `"}`) // the leading system message may go on
}

// conversationGen draws rounds of a session: what one request has more than the one before.
func conversationGen(t *rapid.T) [][]llm.Message {
	text := rapid.SampledFrom([]string{"go on", "line\n\"quoted\" <b>\u2028", "né 😀", `],"stream":`, ""})
	first := []llm.Message{llm.System(text.Draw(t, "system")), llm.System(text.Draw(t, "system")), llm.User("start " + text.Draw(t, "user"))}
	rounds := [][]llm.Message{first}
	for i := range rapid.IntRange(1, 6).Draw(t, "rounds") {
		answer := llm.Message{Role: llm.RoleAssistant, Provider: rapid.SampledFrom([]string{defaultName, "openai"}).Draw(t, "author")}
		if rapid.Bool().Draw(t, "thinks") {
			answer.Parts = append(answer.Parts, llm.Thinking{Text: "hm", ID: "reasoning_content"})
		}
		answer.Parts = append(answer.Parts, llm.Text{Text: text.Draw(t, "text")})
		var results []llm.ToolResult
		for j := range rapid.IntRange(0, 3).Draw(t, "calls") {
			id := fmt.Sprintf("call_%d_%d", i, j)
			answer.Parts = append(answer.Parts, llm.ToolCall{ID: id, Name: "look", Args: rapid.SampledFrom([]string{`{"a":1}`, "", "{"}).Draw(t, "args")})
			result := llm.ToolResult{CallID: id, Content: llm.TextParts(text.Draw(t, "result"))}
			if rapid.Bool().Draw(t, "pictures") {
				result.Content = append(result.Content, llm.Media{MIME: "image/png", Data: []byte("x")})
			}
			results = append(results, result)
		}
		round := []llm.Message{answer}
		if len(results) > 0 {
			cut := rapid.IntRange(0, len(results)-1).Draw(t, "cut") // the results may come in two messages
			round = append(round, llm.ToolResults(results[:cut]...), llm.ToolResults(results[cut:]...))
		}
		if len(results) == 0 || rapid.Bool().Draw(t, "steers") {
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
// handed out for an earlier request never change. A strict server takes all of them.
func TestG3_Prefix(t *testing.T) {
	p := provider(t, Options{})
	rapid.Check(t, func(rt *rapid.T) {
		memo := new(llm.Memo)
		tools := []llm.ToolDefinition{{Name: "look", Description: "Looks."}}
		var messages []llm.Message
		var before string
		var sent [][][]byte
		var copies []string
		for _, round := range conversationGen(rt) {
			messages = append(messages, round...)
			req := &llm.Request{Model: "m", Messages: messages, Tools: tools, Memo: memo}
			body, prefix := joined(t, p, req)
			if !strings.HasPrefix(prefix, before) {
				rt.Fatalf("not a prefix:\n%s\n%s", before, prefix)
			}
			before = prefix
			fresh, _ := joined(t, p, &llm.Request{Model: "m", Messages: messages, Tools: tools})
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
		accepted(t, []byte(copies[len(copies)-1]))
	})
}

func TestMemoStartsAfresh(t *testing.T) {
	p := provider(t, Options{})
	memo := new(llm.Memo)
	messages := []llm.Message{llm.System("a"), llm.User("one"), llm.Assistant("two"), llm.User("three")}
	joined(t, p, &llm.Request{Model: "m", Messages: messages, Memo: memo})
	edited := []llm.Message{llm.User("summary"), messages[3]}
	body, _ := joined(t, p, &llm.Request{Model: "m", Messages: edited, Memo: memo})
	if strings.Contains(body, "one") || !strings.Contains(body, "summary") {
		t.Errorf("other messages: %s", body)
	}
	tools := []llm.ToolDefinition{{Name: "a", Parameters: json.RawMessage(`{"type":"object"}`)}}
	for _, name := range []string{"a", "b", "a"} { // the caller may build its list anew, or in place
		tools[0].Name = name
		body, _ := joined(t, p, &llm.Request{Model: "m", Messages: edited, Memo: memo, Tools: tools})
		if !strings.Contains(body, `"function":{"name":"`+name+`"`) {
			t.Errorf("tool %s: %s", name, body)
		}
	}
	tools[0].Parameters = json.RawMessage(`{`)
	if _, err := p.encode(&llm.Request{Model: "m", Messages: edited, Memo: memo, Tools: tools}); !errors.Is(err, llm.ErrInvalidRequest) {
		t.Errorf("parameters that are no JSON: %v", err)
	}
	bad := append(edited[:2:2], llm.User("x", llm.Media{MIME: "audio/midi"}))
	if _, err := p.encode(&llm.Request{Model: "m", Messages: bad, Memo: memo}); !errors.Is(err, llm.ErrUnsupported) {
		t.Errorf("midi was encoded: %v", err)
	}
	want, _ := joined(t, p, &llm.Request{Model: "m", Messages: edited})
	if got, _ := joined(t, p, &llm.Request{Model: "m", Messages: edited, Memo: memo}); got != want {
		t.Errorf("after an error: %s, want %s", got, want)
	}
	other := provider(t, Options{NoReasoning: true}) // of the same name
	thinking := []llm.Message{llm.User("x"), {Role: llm.RoleAssistant, Provider: defaultName, Parts: llm.Parts{
		llm.Thinking{Text: "hm", ID: "reasoning"}, llm.ToolCall{ID: "a", Name: "b"}}}, llm.ToolResults(llm.ToolResult{CallID: "a"})}
	joined(t, p, &llm.Request{Model: "m", Messages: thinking, Memo: memo})
	if body, _ := joined(t, other, &llm.Request{Model: "m", Messages: thinking, Memo: memo}); strings.Contains(body, "hm") {
		t.Errorf("another encoding: %s", body)
	}
}

// A server's prefix cache finds everything that it was sent before, and the meter finds nothing changed.
func TestG7_CacheIsHit(t *testing.T) {
	turns := make([]fakellm.Turn, 12)
	for i := range turns {
		turns[i] = fakellm.Turn{Thinking: "Hm, " + strings.Repeat("thinking ", i), Text: "Turn.", Calls: []fakellm.Call{{Name: "look"}, {Name: "look"}}}
	}
	meter := llmtest.NewMeter(fakellm.New(fakellm.Script(turns...), fakellm.Options{}))
	p := provider(t, Options{HTTPClient: llmtest.PipeClient(t, meter)})
	req := llm.Request{Model: "m", Tools: []llm.ToolDefinition{{Name: "look"}}, Memo: new(llm.Memo),
		Messages: []llm.Message{llm.System(strings.Repeat("You are careful. ", 50)), llm.User("Go.")}}
	before := 0
	for i := range turns {
		resp, err := llm.Collect(p.Stream(t.Context(), &req))
		if err != nil {
			t.Fatal(err)
		}
		// Everything but the body's frame and parameters, some 120 bytes, was there before.
		if i > 0 && resp.Usage.CacheRead < before-40 {
			t.Errorf("turn %d: %d tokens read from the cache; the request before had %d", i, resp.Usage.CacheRead, before)
		}
		before = resp.Usage.Input
		var results []llm.ToolResult
		for _, c := range resp.ToolCalls() {
			results = append(results, llm.ToolResult{CallID: c.ID, Content: llm.Parts{llm.Text{Text: "seen"}, llm.Media{MIME: "image/png", Data: []byte("x")}}})
		}
		req.Messages = append(req.Messages, resp.Message, llm.ToolResults(results...))
		if i%3 == 0 {
			req.Messages = append(req.Messages, llm.User("Steering."))
		}
	}
	if breaks := meter.Breaks(); len(breaks) > 0 || meter.Requests() != len(turns) {
		t.Errorf("%d requests, breaks: %v", meter.Requests(), breaks)
	}
}

// BenchmarkEncodeTurn1000 encodes the 1000th request of a conversation: what is new in it, and nothing of the rest.
func BenchmarkEncodeTurn1000(b *testing.B) {
	p := provider(b, Options{})
	tools := make([]llm.ToolDefinition, 12)
	for i := range tools {
		tools[i] = llm.ToolDefinition{Name: fmt.Sprintf("tool_%d", i), Description: strings.Repeat("Does things. ", 60),
			Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}}}`)}
	}
	round := func(i int) []llm.Message {
		id := fmt.Sprintf("call_%d", i)
		return []llm.Message{
			{Role: llm.RoleAssistant, Provider: defaultName, Parts: llm.Parts{llm.Text{Text: "I look at the next file."},
				llm.ToolCall{ID: id, Name: "tool_1", Args: `{"path":"internal/x/y.go"}`}}},
			llm.ToolResults(llm.ToolResult{CallID: id, Content: llm.TextParts(strings.Repeat("a line of code\n", 100))}),
		}
	}
	memo := new(llm.Memo)
	messages := []llm.Message{llm.System(strings.Repeat("Be careful. ", 1000)), llm.User("Go.")}
	for i := range 1000 {
		messages = append(messages, round(i)...)
	}
	encode := func() {
		if _, err := p.encode(&llm.Request{Model: "m", Messages: messages, Tools: tools, Memo: memo, MaxTokens: 1000}); err != nil {
			b.Fatal(err)
		}
	}
	encode()
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
