package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	wire "github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

// hiddenTools returns a tool that finds others, one that calls them, and 300 deferred ones whose
// definitions are larger than the window.
func hiddenTools() []tool.Tool {
	object := json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object"}}}`)
	nothing := func(context.Context, *tool.Call) (tool.Result, error) { return tool.Text("never"), nil }
	tools := []tool.Tool{
		newTool("tool_search", readOnly, func(context.Context, *tool.Call) (tool.Result, error) {
			return tool.Result{Content: llm.Parts{llm.Text{Text: "hidden_7 hides"},
				llm.ToolReference{Name: "hidden_7"}}}, nil
		}),
		newTool("tool_call", writes, nothing),
	}
	tools[0].Finds, tools[1].Forwards, tools[1].Parameters = true, true, object
	for i := range 300 {
		hidden := newTool(fmt.Sprint("hidden_", i), writes, func(_ context.Context, call *tool.Call) (tool.Result,
			error) {
			return tool.Text(call.Name + " ran with " + call.Args), nil
		})
		hidden.Parameters = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)
		hidden.Description, hidden.Deferred = strings.Repeat("hides ", 700), true
		tools = append(tools, hidden)
	}
	return tools
}

// A session with deferred tools costs what it costs without them, and finding one begins no epoch.
// It goes on after a resume, and its replay is the same, as for every session of these tests.
func TestM4_DeferredToolsInASession(t *testing.T) {
	for _, loads := range []bool{true, false} {
		direct := fakellm.Call{Name: "hidden_7", Args: []byte(`{"n":1}`)}
		other := fakellm.Call{Name: "tool_call", Args: []byte(`{"name":"hidden_8","arguments":{"n":2}}`)}
		server := fakellm.New(fakellm.Script(fakellm.Turn{Calls: []fakellm.Call{{Name: "tool_search"}}},
			fakellm.Turn{Calls: []fakellm.Call{direct, other}},
			fakellm.Turn{Text: "one"}, fakellm.Turn{Calls: []fakellm.Call{direct}}, fakellm.Turn{Text: "two"}),
			fakellm.Options{})
		meter := llmtest.NewMeter(server)
		provider, err := wire.New(wire.Options{Name: "test", APIKey: "test", BaseURL: "http://x.test",
			HTTPClient: llmtest.PipeClient(t, meter)})
		if err != nil {
			t.Fatal(err)
		}
		var judged []string
		s := setup{tools: hiddenTools(), models: model(llm.Model{Window: 100_000, LoadsTools: loads}),
			wrap: func(llm.Provider) llm.Provider { return provider },
			options: agent.Options{Journal: new(journal.Memory),
				Hooks: agent.Hooks{Authorize: func(_ context.Context, req tool.Request) (tool.Decision, error) {
					judged = append(judged, req.Call.Name+req.Call.Args)
					return tool.Decision{Verdict: tool.Allow, Args: strings.Replace(req.Call.Args, `"n":2`, `"n":3`,
							1)},
						nil
				}}}}
		h := open(t, s)
		if result := h.submit(t, "hide", agent.ReasonCompleted); result.Text != "one" || h.warned() != "" ||
			h.windowWarnings() != nil {
			t.Errorf("loads %v: %q, warnings %s %v", loads, result.Text, h.warned(), h.windowWarnings())
		}
		if want := []string{`tool_search{}`, `hidden_7{"n":1}`, `hidden_8{"n":2}`}; !slices.Equal(judged, want) {
			t.Errorf("judged %q, want %q", judged, want)
		}
		var outputs []string
		for _, e := range only[*agent.ToolCallEnd](h) {
			outputs = append(outputs, e.Name+": "+e.Output)
		}
		slices.Sort(outputs) // two of the calls run at the same time
		if want := []string{`hidden_7: hidden_7 ran with {"n":1}`, `tool_call: hidden_8 ran with {"n":3}`,
			"tool_search: hidden_7 hides"}; !slices.Equal(outputs, want) {
			t.Errorf("results %q, want %q", outputs, want)
		}
		if epochs := h.epochs(); slices.Max(epochs) != slices.Min(epochs) {
			t.Errorf("epochs %v", epochs)
		}
		if start := only[*agent.ToolCallStart](h)[2]; string(
			start.Effective) != `{"name":"hidden_8","arguments":{"n":3}}` {
			t.Errorf("the forwarded call began as %s with %s", start.Name, start.Effective)
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		checkReplay(t, s.options.Journal.(*journal.Memory), h.events)
		h = open(t, s)
		if result := h.submit(t, "again", agent.ReasonCompleted); result.Text != "two" || h.warned() != "" {
			t.Errorf("resumed: %q, %s", result.Text, h.warned())
		}
		if breaks := meter.Breaks(); breaks != nil || meter.Requests() != 5 {
			t.Errorf("loads %v: the prefix changed: %q", loads, breaks)
		}
		last := string(server.Requests()[4].Body)
		if strings.Contains(last, "tool_reference") != loads || strings.Contains(last, `"hidden_8","desc`) != loads {
			t.Errorf("loads %v: %.3000s", loads, last)
		}
	}
}

// A history may hold references.
func TestM4_HistoryWithReferences(t *testing.T) {
	found := llm.Parts{llm.Text{Text: "hidden_7 hides"}, llm.ToolReference{Name: "hidden_7"}}
	h := open(t, setup{tools: hiddenTools(), steps: []llmtest.Step{llmtest.Text("done")},
		options: agent.Options{History: []llm.Message{llm.User("hide"),
			{Role: llm.RoleAssistant, Parts: llm.Parts{llm.ToolCall{ID: "c", Name: "tool_search", Args: "{}"}}},
			llm.ToolResults(llm.ToolResult{CallID: "c", Name: "tool_search", Content: found}),
			llm.Assistant("hidden")}}})
	h.submit(t, "go", agent.ReasonCompleted)
	if got := h.model.Requests()[0].Messages[3].Parts[0].(llm.ToolResult).Content.ToolReferences(); len(got) != 1 {
		t.Errorf("references %q", got)
	}
}
