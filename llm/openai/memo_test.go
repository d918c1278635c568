package openai

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

// joined is a body as it goes out; prefix is its part before the parameters and the end of the input, which is what a cache can
// hold.
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
	at := strings.LastIndex(body, `],"tool_choice"`)
	return body, body[:at]
}

// conversationGen draws rounds of a session: what one request has more than the one before.
func conversationGen(t *rapid.T) [][]llm.Message {
	text := rapid.SampledFrom([]string{"go on", "line\n\"quoted\" <b>\u2028", "né 😀", `],"tool_choice"`, `{"type":"message"}`, "", "\xff"})
	first := []llm.Message{llm.System(text.Draw(t, "system")), llm.User("start " + text.Draw(t, "user"))}
	rounds := [][]llm.Message{first}
	for i := range rapid.IntRange(1, 6).Draw(t, "rounds") {
		answer := llm.Message{Role: llm.RoleAssistant, Provider: rapid.SampledFrom([]string{"anthropic", "openai"}).Draw(t, "author")}
		for j := range rapid.IntRange(0, 2).Draw(t, "thoughts") {
			answer.Parts = append(answer.Parts, llm.Thinking{ID: "rs_1", Text: "hm", Signature: strings.Repeat("s", j)})
		}
		answer.Parts = append(answer.Parts, llm.Text{Text: text.Draw(t, "text"), Signature: "commentary"})
		results := llm.Message{Role: llm.RoleTool}
		for j := range rapid.IntRange(0, 3).Draw(t, "calls") {
			id := fmt.Sprintf("call_%d_%d", i, j)
			free := rapid.Bool().Draw(t, "free")
			answer.Parts = append(answer.Parts, llm.ToolCall{ID: id, Name: "look", Free: free, Args: rapid.SampledFrom([]string{`{"a":1}`, "", "{"}).Draw(t, "args")})
			results.Parts = append(results.Parts, llm.ToolResult{CallID: id, Content: llm.TextParts(text.Draw(t, "result"))})
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
			rounds = append(rounds, []llm.Message{llm.System("also")})
		}
	}
	return rounds
}

// What was sent stays as it was sent: request n is a byte-prefix of request n+1, with a memo and without one alike, and bytes
// handed out for an earlier request never change.
func TestG7_Prefix(t *testing.T) {
	p := provider(t)
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
	})
}

func TestMemoStartsAfresh(t *testing.T) {
	p := provider(t)
	memo := new(llm.Memo)
	messages := []llm.Message{llm.User("one"), llm.Assistant("two"), llm.User("three")}
	tools := []llm.ToolDefinition{{Name: "a"}}
	joined(t, p, &llm.Request{Model: "m", Messages: messages, Memo: memo, Tools: tools})
	edited := []llm.Message{llm.User("summary"), messages[2]}
	body, _ := joined(t, p, &llm.Request{Model: "m", Messages: edited, Memo: memo, Tools: tools})
	if strings.Contains(body, "one") || !strings.Contains(body, "summary") {
		t.Errorf("other messages: %s", body)
	}
	for _, name := range []string{"a", "b", "a"} { // the caller may build its list anew, or in place
		tools[0].Name = name
		body, _ := joined(t, p, &llm.Request{Model: "m", Messages: edited, Memo: memo, Tools: tools})
		if !strings.Contains(body, `"tools":[{"type":"function","name":"`+name+`"`) {
			t.Errorf("tool %s: %s", name, body)
		}
	}
	tools[0].Grammar = &llm.Grammar{Syntax: "lark", Definition: "x"}
	if body, _ := joined(t, p, &llm.Request{Model: "m", Messages: edited, Memo: memo, Tools: tools}); !strings.Contains(body, `"lark"`) {
		t.Errorf("a grammar: %s", body)
	}
	bad := append(edited[:2:2], llm.User("x", llm.Media{MIME: "audio/wav"}))
	if _, err := p.encode(&llm.Request{Model: "m", Messages: bad, Memo: memo}); err == nil {
		t.Error("audio was encoded")
	}
	want, _ := joined(t, p, &llm.Request{Model: "m", Messages: edited, Tools: tools})
	if got, _ := joined(t, p, &llm.Request{Model: "m", Messages: edited, Memo: memo, Tools: tools}); got != want {
		t.Errorf("after an error: %s, want %s", got, want)
	}
}

// The bytes do what they are for: the server finds what it was sent before in its cache, to the last full step.
func TestG7_CacheIsHit(t *testing.T) {
	turns := make([]fakellm.Turn, 12)
	for i := range turns {
		turns[i] = fakellm.Turn{Thinking: "Hm, " + strings.Repeat("thinking ", i), Text: "Turn.",
			Calls: []fakellm.Call{{Name: "look"}, {Name: "patch", Raw: "*** Begin\n"}}}
	}
	server := fakellm.New(fakellm.Script(turns...), fakellm.Options{})
	p, err := New(Options{APIKey: "k", BaseURL: "http://x.test/v1", HTTPClient: llmtest.PipeClient(t, server)})
	if err != nil {
		t.Fatal(err)
	}
	req := llm.Request{Model: "m", Memo: new(llm.Memo), CacheKey: "session-1",
		Tools:    []llm.ToolDefinition{{Name: "look"}, {Name: "patch", Grammar: &llm.Grammar{Syntax: "lark", Definition: "start: /.+/"}}},
		Messages: []llm.Message{llm.System(strings.Repeat("You are careful. ", 400)), llm.User("Go.")}}
	held := 0
	for i := range turns {
		resp, err := llm.Collect(p.Stream(t.Context(), &req))
		if err != nil {
			t.Fatal(err)
		}
		if resp.Usage.CacheRead != held || resp.Usage.CacheRead%128 != 0 {
			t.Errorf("turn %d: %d tokens read from the cache, which holds %d", i, resp.Usage.CacheRead, held)
		}
		if held = resp.Usage.CacheRead + resp.Usage.CacheWrite; held < 1024 || held > resp.Usage.Input {
			t.Errorf("turn %d: %+v", i, resp.Usage)
		}
		var results []llm.ToolResult
		for _, c := range resp.ToolCalls() {
			results = append(results, llm.ToolResult{CallID: c.ID, Content: llm.TextParts(strings.Repeat("seen ", 100))})
		}
		req.Messages = append(req.Messages, resp.Message, llm.ToolResults(results...))
		if i%3 == 0 {
			req.Messages = append(req.Messages, llm.User("Steering."))
		}
	}
	// What the server got back is what it said: its thinking under its id, and both kinds of call.
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
			{Role: llm.RoleAssistant, Provider: "openai", Parts: llm.Parts{
				llm.Thinking{ID: "rs_1", Text: "Where is it?", Signature: strings.Repeat("gAAAA", 100)},
				llm.Text{Text: "I look at the next file."}, llm.ToolCall{ID: id, Name: "tool_1", Args: `{"path":"internal/x/y.go"}`}}},
			llm.ToolResults(llm.ToolResult{CallID: id, Content: llm.TextParts(strings.Repeat("a line of code\n", 100))}),
		}
	}
	memo := new(llm.Memo)
	messages := []llm.Message{llm.System(strings.Repeat("Be careful. ", 1000)), llm.User("Go.")}
	for i := range 1000 {
		messages = append(messages, round(i)...)
	}
	encode := func() {
		if _, err := p.encode(&llm.Request{Model: "m", Messages: messages, Tools: tools, Memo: memo, MaxTokens: 1000, Effort: "high"}); err != nil {
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
