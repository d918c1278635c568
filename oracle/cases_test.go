package oracle

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/llm/providertest"
)

var png = []byte(llmtest.PNG)

func number(f float64) *float64 { return &f }

var toolset = []llm.ToolDefinition{
	{Name: "read_file", Description: "Reads a \"file\".\nAll of it <b>&\u2028.", Parameters: json.RawMessage(`{
		"type":"object","properties":{"path":{"type":"string","description":"Where."},"offset":{"type":"integer","minimum":1},
		"tags":{"type":"array","items":{"type":"string","enum":["a","b"]}},"mode":{"anyOf":[{"type":"string"},{"type":"null"}]}},
		"required":["path"],"additionalProperties":false}`)},
	{Name: "no_arguments", Description: "Needs none."},
	{Name: "apply_patch", Description: "Takes a patch.",
		Grammar: &llm.Grammar{Syntax: "lark", Definition: "start: \"x\"\n"}},
}

// requests returns the requests that every provider must encode for a model, by subject.
func requests(provider, model string) map[string][]*llm.Request {
	base := func(change func(r *llm.Request)) *llm.Request {
		r := &llm.Request{Model: model, Messages: []llm.Message{llm.System("Be brief."), llm.User("Go on, né 😀.")}}
		change(r)
		return r
	}
	all := map[string][]*llm.Request{
		"plain":   {base(func(*llm.Request) {})},
		"history": history(base(func(*llm.Request) {}), provider, 30),
		"foreign": history(base(func(*llm.Request) {}), "somebody", 3),
	}
	for _, part := range media {
		all["media"] = append(all["media"], base(func(r *llm.Request) { r.Messages[1] = llm.User("Look.", part) }))
	}
	for _, c := range []llm.ToolChoice{{}, {Mode: llm.ToolAuto}, {Mode: llm.ToolNone}, {Mode: llm.ToolRequired},
		{Mode: llm.ToolNamed, Name: "read_file"}, {Mode: llm.ToolNamed, Name: "apply_patch"}} {
		for _, sequential := range []bool{false, true} {
			all["tools"] = append(all["tools"],
				base(func(r *llm.Request) { r.Tools, r.ToolChoice, r.Sequential = toolset, c, sequential }))
		}
	}
	for _, effort := range []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"} {
		for _, facts := range []*llm.Model{nil, {Reasoning: true, MaxOutput: 64000, Efforts: []string{"low", "medium",
			"high", "max"}}} {
			all["effort"] = append(all["effort"], base(func(r *llm.Request) { r.Effort, r.Facts = effort, facts }))
		}
	}
	all["parameters"] = []*llm.Request{
		base(func(r *llm.Request) { r.MaxTokens, r.Temperature, r.TopP = 1000, number(0.5), number(0.25) }),
		base(func(r *llm.Request) { r.Stop = []string{"\n\n", "END"} }),
		base(func(r *llm.Request) {
			r.Format = &llm.Format{Name: "answer",
				Schema: json.RawMessage(
					`{"type":"object","properties":{"n":{"type":"number"}},"required":["n"],"additionalProperties":false}`)}
		}),
		base(func(r *llm.Request) { r.CacheKey = "session-1" }),
		base(func(r *llm.Request) { r.NoCache = true }),
		base(func(r *llm.Request) {
			r.Messages = []llm.Message{llm.System("One."), llm.System("Two."),
				{Role: llm.RoleDeveloper, Parts: llm.TextParts("Three.")}, llm.User("x"), llm.User("y")}
		}),
	}
	return all
}

var media = []llm.Media{
	{MIME: "image/png", Data: png}, {MIME: "image/jpeg", Data: png, Detail: "high"},
	{MIME: "image/webp", URL: "https://x.test/a.webp"},
	{MIME: "application/pdf", Data: []byte("%PDF-1.7"), Name: "a.pdf"},
	{MIME: "application/pdf", URL: "https://x.test/a.pdf"},
	{MIME: "text/plain", Data: []byte("plain"), Name: "notes"}, {MIME: "audio/wav", Data: []byte("RIFF")},
	{MIME: "audio/mpeg", Data: []byte("ID3")},
}

// history returns the requests of a session with a number of turns. In each turn the model thinks,
// writes, calls tools and gets the results. The requests share a memo, as in a session.
func history(first *llm.Request, author string, turns int) []*llm.Request {
	memo := new(llm.Memo)
	messages := append([]llm.Message(nil), first.Messages...)
	var all []*llm.Request
	for i := range turns {
		req := *first
		req.Messages, req.Memo, req.Tools = messages[:len(messages):len(messages)], memo, toolset
		all = append(all, &req)
		messages = append(messages, turn(author, first.Model, i)...)
	}
	return all
}

// turn returns one answer and its results.
func turn(author, model string, i int) []llm.Message {
	signature := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "signature %d", i))
	answer := llm.Message{Role: llm.RoleAssistant, Provider: author, Model: model}
	switch author {
	case "openai-compatible": // its place on the wire, to which it returns
		answer.Parts = append(answer.Parts, llm.Thinking{Text: "Hm \"\\",
			ID: []string{"reasoning_content", "reasoning", "content", "reasoning_details"}[i%4]})
		signature = ""
	case "openai":
		answer.Parts = append(answer.Parts, llm.Thinking{Text: "Hm", ID: fmt.Sprintf("rs_%d", i)},
			llm.Thinking{Text: "ha", ID: fmt.Sprintf("rs_%d", i), Signature: signature})
	default:
		answer.Parts = append(answer.Parts, llm.Thinking{Text: "Hm", Signature: signature})
		if author == "anthropic" {
			answer.Parts = append(answer.Parts, llm.Thinking{Signature: signature, Redacted: true})
		}
	}
	spoken := llm.Text{Text: fmt.Sprintf("Turn %d.\n", i)}
	if author == "openai" {
		spoken.Signature = "commentary"
	}
	answer.Parts = append(answer.Parts, spoken)
	results := llm.Message{Role: llm.RoleTool}
	for j, args := range []string{`{"path":"a \"b\" \\ é"}`, `{}`, "", `{"path":`} {
		c := llm.ToolCall{ID: fmt.Sprintf("call_%d_%d", i, j), Name: "read_file", Args: args}
		if author == "gemini" && j == 0 {
			c.Signature = signature
		}
		answer.Parts = append(answer.Parts, c)
		results.Parts = append(results.Parts, llm.ToolResult{CallID: c.ID, Name: c.Name, Content: result(i, j),
			IsError: j == 3})
	}
	patch := llm.ToolCall{ID: fmt.Sprintf("patch_%d", i), Name: "apply_patch", Args: "*** Begin Patch\n\"x\"",
		Free: true}
	answer.Parts = append(answer.Parts, patch)
	results.Parts = append(results.Parts,
		llm.ToolResult{CallID: patch.ID, Name: patch.Name, Content: llm.TextParts("done"), Free: true})
	list := []llm.Message{answer, results}
	if i%3 == 2 {
		list = append(list, llm.User("Steering."))
	}
	return list
}

// result returns the result of a call: text, nothing, several texts, or text and an image.
func result(i, j int) llm.Parts {
	switch (i + j) % 4 {
	case 0:
		return llm.TextParts(strings.Repeat("line\n", i))
	case 1:
		return nil
	case 2:
		return llm.Parts{llm.Text{Text: "one"}, llm.Text{Text: "two"}}
	}
	return llm.Parts{llm.Text{Text: "see"}, llm.Media{MIME: "image/png", Data: png}}
}

// fixtures returns the requests of a provider's own tests.
func fixtures(t *testing.T, name string) map[string]*llm.Request {
	all := map[string]*llm.Request{}
	for _, c := range providertest.WireCases(t, "../llm/"+name+"/testdata") {
		if c.Section("request.json") == "" {
			continue
		}
		req := new(llm.Request)
		c.Read(t, "request.json", req)
		if c.Section("facts.json") != "" {
			req.Facts = new(llm.Model)
			c.Read(t, "facts.json", req.Facts)
		}
		all[c.Name] = req
	}
	return all
}
