package anthropic

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
)

// Thinking does not stay at the end of a response from which a search without a result was left
// out, and a conversation begins with the same bytes until then.
func TestV7_PendingSearchAfterThinking(t *testing.T) {
	p := provider(t, Options{})
	paused := llm.Message{Role: llm.RoleAssistant, Provider: defaultName, Parts: llm.Parts{
		llm.Thinking{Text: "hm", Signature: "s"},
		llm.Opaque{Provider: defaultName,
			Data: `{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"x"}}`}}}
	req := &llm.Request{Model: "m", Memo: new(llm.Memo), Messages: []llm.Message{llm.User("Go."), paused},
		Tools: []llm.ToolDefinition{{Name: llm.HostedWebSearch, Hosted: llm.HostedWebSearch}}}
	var bodies []string
	for range 2 {
		pieces, err := p.encode(req)
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, string(bytes.Join(pieces, nil)))
		req.Messages = append(req.Messages, llm.User("Stop."))
	}
	if !strings.Contains(bodies[0], "server_tool_use") || strings.Contains(bodies[1], "server_tool_use") ||
		strings.Contains(bodies[1], `"thinking"`) {
		t.Errorf("%s\n%s", bodies[0], bodies[1])
	}
	if at := strings.Index(bodies[0], `"Go."`); at < 0 || !strings.HasPrefix(bodies[1], bodies[0][:at]) {
		t.Errorf("the beginnings differ: %s\n%s", bodies[0], bodies[1])
	}
}

// A server that answers one search many times does not get its query kept each time.
func TestV7_RepeatedResults(t *testing.T) {
	body := `{"type":"message","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"` +
		strings.Repeat("x", 1<<20) + `"}}`
	for range 200 {
		body += `,{"type":"web_search_tool_result","tool_use_id":"s","content":[]}`
	}
	d := newDecoder(defaultName, "m", nil)
	if err := d.Whole([]byte(body + `],"stop_reason":"end_turn"}`)); err != nil {
		t.Fatal(err)
	}
	size, searches := 0, 0
	for _, part := range d.Finish().Response.Message.Parts {
		if o, ok := part.(llm.Opaque); ok && o.Search != nil {
			size += len(fmt.Sprint(*o.Search))
			searches++
		}
	}
	if searches != 200 || size > 16<<10 {
		t.Errorf("%d searches with %d bytes", searches, size)
	}
}

// A request that ends with a search which the API would go on with is not sent again to renew the
// cache: the search would run once more, and be billed.
func TestV7_PendingSearchRenewsNothing(t *testing.T) {
	search := llm.Opaque{Provider: defaultName,
		Data: `{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"x"}}`}
	found := llm.Opaque{Provider: defaultName,
		Data: `{"type":"web_search_tool_result","tool_use_id":"s1","content":[]}`}
	hosted := []llm.ToolDefinition{{Name: llm.HostedWebSearch, Hosted: llm.HostedWebSearch}}
	answer := func(parts ...llm.Part) llm.Message {
		return llm.Message{Role: llm.RoleAssistant, Provider: defaultName, Parts: parts}
	}
	mixed := answer(search, llm.ToolCall{ID: "c", Name: "read", Args: "{}"})
	for name, tt := range map[string]struct {
		messages []llm.Message
		options  Options
		want     bool
	}{
		"a pause":          {[]llm.Message{answer(search)}, Options{}, false},
		"results of calls": {[]llm.Message{mixed, llm.ToolResults(llm.ToolResult{CallID: "c"})}, Options{}, false},
		"an answered one": {[]llm.Message{answer(search, found, llm.Text{Text: "a"}), llm.User("b")}, Options{},
			true},
		"one that is left":  {[]llm.Message{answer(search), llm.User("b")}, Options{}, true},
		"a server without":  {[]llm.Message{answer(search)}, Options{NoWebSearch: true}, true},
		"none in the words": {[]llm.Message{llm.User("b")}, Options{}, true},
	} {
		req := &llm.Request{Model: "claude-sonnet-5-5", MaxTokens: 1, Tools: hosted,
			Messages: append([]llm.Message{llm.User("a")}, tt.messages...)}
		if got := provider(t, tt.options).RenewsCache(req); got != tt.want {
			t.Errorf("%s: it renews: %v", name, got)
		}
	}
}
