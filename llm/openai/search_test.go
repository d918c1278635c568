package openai

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/providertest"
)

// searching returns a request whose model loads tools.
func searching() *llm.Request {
	object := json.RawMessage(`{"type":"object","properties":{}}`)
	return &llm.Request{Model: "m", Facts: &llm.Model{LoadsTools: true}, Messages: []llm.Message{llm.User("x")},
		Tools: []llm.ToolDefinition{
			{Name: "find", Finds: true, Parameters: object}, {Name: "hidden", Deferred: true, Parameters: object}}}
}

// The API gives a search another id when it is done than when it begins. In its responses nothing
// else about it is streamed.
func TestM4_SearchHasTheLastID(t *testing.T) {
	item := func(status, id, args string) string {
		return `{"id":"tsc_1","type":"tool_search_call","status":"` + status + `","arguments":` + args +
			`,"call_id":"` + id + `","execution":"client"}`
	}
	event := func(kind, members string) string { return `data: {"type":"` + kind + `",` + members + "}\n\n" }
	done := item("completed", "call_b", `{"query":"weather"}`)
	whole := `"response":{"object":"response","id":"r","model":"m","status":"completed","output":[` + done + `]}`
	begun := event("response.output_item.added", `"output_index":0,"item":`+item("in_progress", "call_a", "{}"))
	end := event("response.output_item.done", `"output_index":0,"item":`+done)
	for name, stream := range map[string]string{"streamed": begun + end, "only its end": end,
		"only in the response": ""} {
		p := answering(t, providertest.Recording{Status: 200, ContentType: "text/event-stream",
			Body: []byte(stream + event("response.completed", whole))})
		events, err := providertest.Contract(t, p.Stream(t.Context(), searching()))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		r := events[len(events)-1].Response
		if want := (llm.ToolCall{ID: "call_b", Name: "find", Args: `{"query":"weather"}`}); !slices.Equal(r.ToolCalls(),
			[]llm.ToolCall{want}) ||
			r.Finish.Reason != llm.FinishToolCalls {
			t.Errorf("%s: %+v, %v", name, r.ToolCalls(), r.Finish)
		}
		req := searching()
		req.Messages = append(req.Messages, r.Message, llm.ToolResults(llm.ToolResult{CallID: "call_b", Name: "find",
			Content: llm.Parts{llm.Text{Text: "hidden hides"}, llm.ToolReference{Name: "hidden"},
				llm.ToolReference{Name: "gone"}}}))
		pieces, err := p.encode(req)
		if err != nil {
			t.Fatal(err)
		}
		body := bytes.Join(pieces, nil)
		accepted(t, body)
		want := `{"type":"tool_search_call","execution":"client","status":"completed","call_id":"call_b","arguments":{"query":"weather"}},` +
			`{"type":"tool_search_output","execution":"client","status":"completed","call_id":"call_b","tools":[` +
			`{"type":"function","name":"hidden","parameters":{"type":"object","properties":{}},"strict":false,"defer_loading":true}]}]`
		if !strings.Contains(string(body), want) || !strings.Contains(string(body),
			`"tools":[{"type":"tool_search","execution":"client","parameters":{"type":"object","properties":{}}}]`) {
			t.Errorf("%s: %s", name, body)
		}
	}
}

// Recordings of the real API in which its model searches.
func TestM4_RecordedSearches(t *testing.T) {
	ran := 0
	for _, rec := range providertest.StreamCorpus(t, corpora+"provider_streams", "openai") {
		if !strings.Contains(rec.Name, "client-tool-search.1") {
			continue
		}
		ran++
		r, err := llm.Collect(answering(t, rec).Stream(t.Context(), searching()))
		if err != nil {
			t.Fatalf("%s: %v", rec.Name, err)
		}
		calls := r.ToolCalls()
		if len(calls) != 1 || calls[0].Name != "find" || !strings.HasPrefix(calls[0].Args, `{"goal":"`) ||
			bytes.Count(rec.Body, []byte(calls[0].ID)) < 1 {
			t.Errorf("%s: %+v", rec.Name, calls)
		}
	}
	if ran < 2 {
		t.Errorf("%d recordings ran", ran)
	}
}

// Without a tool of ours for it, a search is none of our calls.
func TestM4_ForeignSearch(t *testing.T) {
	whole := `{"object":"response","id":"r","model":"m","status":"completed","output":[{"id":"tsc_1","type":"tool_search_call","status":"completed",` +
		`"arguments":{"paths":["a"]},"call_id":null,"execution":"server"}]}`
	p := answering(t, providertest.Recording{Status: 200, ContentType: "text/event-stream",
		Body: []byte(`data: {"type":"response.completed","response":` + whole + "}\n\n")})
	r, err := llm.Collect(p.Stream(t.Context(), &llm.Request{Model: "m", Messages: []llm.Message{llm.User("x")}}))
	if err != nil || len(r.ToolCalls()) > 0 || len(r.Message.Parts) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}
