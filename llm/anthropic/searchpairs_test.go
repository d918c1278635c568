package anthropic

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
)

// Thinking does not stay at the end of a response from which a search without a result was left out,
// and a conversation begins with the same bytes until then.
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
