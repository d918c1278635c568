package providers_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// deferredTools returns a tool that finds others, one that calls them, and n deferred ones.
func deferredTools(n int) []llm.ToolDefinition {
	tools := []llm.ToolDefinition{{Name: "tool_call", Description: "Calls a tool.",
		Parameters: json.RawMessage(`{"type":"object"}`)},
		{Name: "tool_search", Description: "Finds tools.", Finds: true,
			Parameters: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}}}`)}}
	for i := range n {
		tools = append(tools, llm.ToolDefinition{Name: fmt.Sprintf("hidden_%d", i),
			Description: strings.Repeat("It does hidden things. ", 20),
			Parameters:  json.RawMessage(`{"type":"object","properties":{"secretly":{"type":"boolean"}}}`),
			Deferred:    true})
	}
	return tools
}

// found holds what tool_search returns.
var found = llm.Parts{llm.Text{Text: "hidden_7 hides secretly"}, llm.ToolReference{Name: "hidden_7"}}

// hiding is a vendor whose models load tools, or do not.
type hiding struct {
	vendor
	loads bool
}

func hidings() []hiding {
	return []hiding{
		{vendor{"anthropic", "claude-opus-5-5", ""}, true},
		{vendor{"anthropic", "model-of-a-gateway", ""}, false},
		{vendor{"openai", "gpt-5.5", "/v1"}, true},
		{vendor{"openai", "gpt-5.2", "/v1"}, false},
		{vendor{"gemini", "gemini-3.1-pro-preview", ""}, false},
		{compatible(), false},
	}
}

// turns is a session in which the model searches, calls what it found, and searches in vain.
func hidingTurns() []fakellm.Turn {
	search := fakellm.Call{Name: "tool_search", Args: []byte(`{"query":"hide"}`)}
	return []fakellm.Turn{{Calls: []fakellm.Call{search}},
		{Calls: []fakellm.Call{{Name: "hidden_7", Args: []byte(`{"secretly":true}`)}}},
		{Calls: []fakellm.Call{search}}, {Text: "Done."}}
}

// run sends the requests of such a session and returns them.
func (b *bench) run(t *testing.T, req *llm.Request) []*fakellm.Request {
	t.Helper()
	results := []llm.Parts{found, llm.TextParts("hidden"), llm.TextParts("No tool does that."), nil}
	for i := range results {
		resp, err := llm.Collect(b.client.Stream(t.Context(), req))
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		req.Messages = append(req.Messages, resp.Message)
		for _, c := range resp.ToolCalls() {
			if i != 1 && (c.Name != "tool_search" || c.Args != `{"query":"hide"}`) {
				t.Errorf("request %d: the call is %+v", i, c)
			}
			req.Messages = append(req.Messages, llm.ToolResults(llm.ToolResult{CallID: c.ID, Name: c.Name,
				Content: results[i]}))
		}
	}
	return b.server.Requests()
}

func TestM4_DeferredTools(t *testing.T) {
	for _, v := range hidings() {
		t.Run(v.name+" "+v.model, func(t *testing.T) {
			b := newBench(t, v.vendor, "k", nil, hidingTurns()...)
			req := b.request(llm.Text{Text: "Hide."})
			req.Tools, req.Memo, req.MaxTokens = deferredTools(500), new(llm.Memo), 1000
			sent := b.run(t, req)
			if breaks := b.meter.Breaks(); breaks != nil {
				t.Errorf("the prefix changed: %q", breaks)
			}
			last := sent[len(sent)-1]
			references, says := []string(nil), ""
			for _, m := range last.Messages {
				for _, part := range m.Parts {
					if r, ok := part.(llm.ToolResult); ok {
						references = append(references, r.Content.ToolReferences()...)
						says += r.Content.Text()
					}
				}
				if m.Role == llm.RoleUser {
					says += m.Parts.Text()
				}
			}
			if want := v.loads; slices.Equal(references, []string{"hidden_7"}) != want ||
				strings.Contains(says, "hides secretly") == want {
				t.Errorf("loads %v: references %q, text %q", v.loads, references, says)
			}
			if !strings.Contains(says, "No tool does that.") {
				t.Errorf("the model is not told that nothing was found: %q", says)
			}
			if v.loads && v.name == "anthropic" {
				return // its API takes all definitions, and keeps the deferred ones from the model
			}
			if strings.Contains(string(last.Body), "hidden_8") || strings.Contains(string(sent[0].Body), "hidden") {
				t.Errorf("deferred definitions were sent: %.2000s", last.Body)
			}
		})
	}
}

// What is deferred costs nothing: the model's tokens are those of a session without it, and the
// cache is hit after each find.
func TestM4_DeferredToolsAreFree(t *testing.T) {
	cost := func(v vendor, tools []llm.ToolDefinition) (inputs []int) {
		b := newBench(t, v, "k", nil, hidingTurns()...)
		req := b.request(llm.Text{Text: "Hide."})
		req.Tools, req.Memo, req.MaxTokens = tools, new(llm.Memo), 1000
		written := 0
		for range 3 {
			resp, err := llm.Collect(b.client.Stream(t.Context(), req))
			if err != nil {
				t.Fatal(err)
			}
			if resp.Usage.CacheRead < written {
				t.Errorf("%d tokens were read from the cache, which holds %d", resp.Usage.CacheRead, written)
			}
			written = resp.Usage.CacheRead + resp.Usage.CacheWrite
			inputs = append(inputs, written)
			req.Messages = append(req.Messages, resp.Message,
				llm.ToolResults(llm.ToolResult{CallID: resp.ToolCalls()[0].ID, Content: found}))
		}
		return inputs
	}
	claude := vendor{"anthropic", "claude-opus-5-5", ""}
	if few, many := cost(claude, deferredTools(8)), cost(claude, deferredTools(500)); !slices.Equal(few, many) ||
		few[2] == 0 {
		t.Errorf("the prompts have %v tokens with 8 deferred tools, %v with 500", few, many)
	}
}

// A session can go to another vendor and come back: each gets the history in its own form.
func TestM4_DeferredToolsFallBack(t *testing.T) {
	search := slices.Repeat([]fakellm.Turn{{Calls: []fakellm.Call{{Name: "tool_search"}}}}, 20)
	var req *llm.Request
	for i, v := range append(hidings(), hidings()...) {
		b := newBench(t, v.vendor, "k", nil, search...)
		if req == nil {
			req = b.request(llm.Text{Text: "Hide."})
			req.Tools, req.Memo, req.MaxTokens = deferredTools(9), new(llm.Memo), 1000
		}
		req.Model = v.model
		resp, err := llm.Collect(b.client.Stream(t.Context(), req))
		if err != nil {
			t.Fatalf("%s %s after %d others: %v", v.name, v.model, i, err)
		}
		body := string(b.server.Requests()[0].Body)
		if loads := strings.Contains(body, "tool_reference") ||
			strings.Contains(body, "tool_search_output"); loads != (v.loads && i > 0) {
			t.Errorf("%s %s after %d others: %s", v.name, v.model, i, body)
		}
		call := resp.ToolCalls()[0]
		req.Messages = append(req.Messages, resp.Message,
			llm.ToolResults(llm.ToolResult{CallID: call.ID, Name: call.Name, Content: found}))
	}
}

// The API refuses a request whose history refers to a tool that is gone.
func TestM4_FoundToolIsRemoved(t *testing.T) {
	b := newBench(t, vendor{"anthropic", "claude-opus-5-5", ""}, "k", nil, hidingTurns()...)
	req := b.request(llm.Text{Text: "Hide."})
	req.Tools, req.Memo, req.MaxTokens = deferredTools(9), new(llm.Memo), 1000
	for i, gone := range []int{0, 0, 1} {
		if gone == 1 {
			req.Tools = slices.DeleteFunc(slices.Clone(req.Tools),
				func(d llm.ToolDefinition) bool { return d.Name == "hidden_7" })
		}
		resp, err := llm.Collect(b.client.Stream(t.Context(), req))
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		req.Messages = append(req.Messages, resp.Message,
			llm.ToolResults(llm.ToolResult{CallID: resp.ToolCalls()[0].ID, Content: found}))
	}
	if body := string(b.server.Requests()[2].Body); strings.Contains(body, "tool_reference") ||
		!strings.Contains(body, "hides secretly") {
		t.Errorf("the result of the search is not text: %s", body)
	}
}

// Without a tool that could find them, deferred tools are no tools.
func TestM4_OnlyDeferredTools(t *testing.T) {
	for _, v := range hidings() {
		b := newBench(t, v.vendor, "k", nil, fakellm.Turn{Text: "Hello."})
		req := b.request(llm.Text{Text: "Hello?"})
		req.Tools, req.MaxTokens, req.ToolChoice, req.Sequential = deferredTools(9)[2:], 1000,
			llm.ToolChoice{Mode: llm.ToolAuto}, true
		if _, err := llm.Collect(b.client.Stream(t.Context(), req)); err != nil {
			t.Errorf("%s %s: %v", v.name, v.model, err)
		}
		if body := string(b.server.Requests()[0].Body); strings.Contains(body, "tool") {
			t.Errorf("%s %s: %s", v.name, v.model, body)
		}
		req.ToolChoice = llm.ToolChoice{Mode: llm.ToolRequired}
		if err := req.Validate(); err == nil {
			t.Error("the model has to call a tool, and has none")
		}
	}
}
