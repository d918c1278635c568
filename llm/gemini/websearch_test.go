package gemini

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
)

// A server cannot make the program count or keep endless queries.
func TestV7_EndlessQueries(t *testing.T) {
	var queries []string
	for i := range 40_000 {
		queries = append(queries, fmt.Sprintf(`"q%d"`, i))
	}
	list := "[" + strings.Join(queries, ",") + "]"
	for name, candidate := range map[string]string{
		"grounding": `"content":{"parts":[{"text":"a"}]},"groundingMetadata":{"webSearchQueries":` + list + `}`,
		"call": `"content":{"parts":[{"toolCall":{"id":"1","toolType":"GOOGLE_SEARCH_WEB","args":{"queries":` + list +
			`}}},{"toolResponse":{"id":"1","toolType":"GOOGLE_SEARCH_WEB"}},{"text":"a"}]}`,
	} {
		d := newDecoder(defaultName, &llm.Request{Model: "gemini-3-pro"}, nil)
		if err := d.Whole([]byte(`{"candidates":[{"finishReason":"STOP",` + candidate + `}]}`)); err != nil {
			t.Fatal(err)
		}
		resp := d.Finish().Response
		if resp.Usage.Searches != maxQueries {
			t.Errorf("%s: %d searches", name, resp.Usage.Searches)
		}
		for _, part := range resp.Message.Parts {
			if o, ok := part.(llm.Opaque); ok && o.Search != nil && len(o.Search.Query) > 4<<10 {
				t.Errorf("%s: a query of %d bytes", name, len(o.Search.Query))
			}
		}
	}
}

// What the API tells of its searches goes back whole and with the search, or not at all; and a
// request that is to call no tool has none.
func TestV7_InvocationsGoBackWhole(t *testing.T) {
	p, err := New(Options{APIKey: "k"})
	if err != nil {
		t.Fatal(err)
	}
	call := llm.Opaque{Provider: defaultName, Data: `{"toolCall":{"id":"1"}}`}
	response := llm.Opaque{Provider: defaultName, Data: `{"toolResponse":{"id":"1"}}`}
	for _, tt := range []struct {
		parts llm.Parts
		tools bool
		mode  llm.ToolMode
		want  bool
	}{
		{llm.Parts{call, response}, true, "", true},
		{llm.Parts{call}, true, "", false},
		{llm.Parts{response}, true, "", false},
		{llm.Parts{call, response}, false, "", false},
		{llm.Parts{call, response}, true, llm.ToolNone, false},
	} {
		req := &llm.Request{Model: "gemini-3-pro", ToolChoice: llm.ToolChoice{Mode: tt.mode}, Messages: []llm.Message{
			llm.User("Go."), {Role: llm.RoleAssistant, Provider: defaultName, Model: "gemini-3-pro", Parts: tt.parts},
			llm.User("On.")}}
		if tt.tools {
			req.Tools = []llm.ToolDefinition{{Name: llm.HostedWebSearch, Hosted: llm.HostedWebSearch}}
		}
		pieces, err := p.encode(req)
		if err != nil {
			t.Fatal(err)
		}
		body := string(bytes.Join(pieces, nil))
		if has := strings.Contains(body, `{"toolCall"`) || strings.Contains(body, `{"toolResponse"`); has != tt.want {
			t.Errorf("%+v: %s", tt, body)
		}
		if offers := strings.Contains(body, "googleSearch"); offers != (tt.tools && tt.mode == "") {
			t.Errorf("%+v: offers %v", tt, offers)
		}
	}
}
