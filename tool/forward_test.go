package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// forwarding returns a registry with a tool that forwards calls, an ordinary tool and two deferred
// ones, and what the tools were called with.
func forwarding(t *testing.T) (r *tool.Registry, ran *[]tool.Call) {
	t.Helper()
	ran = new([]tool.Call)
	record := func(_ context.Context, call *tool.Call, _ map[string]any) (tool.Result, error) {
		*ran = append(*ran, *call)
		return tool.Text("done by " + call.Name), nil
	}
	schema := json.RawMessage(
		`{"type":"object","properties":{"count":{"type":"integer"},"path":{"type":"string"}},"required":["count"]}`)
	one := tool.New(llm.ToolDefinition{Name: "mcp__a__one", Deferred: true, Parameters: schema}, record)
	one.Access = func(args string) (tool.Access, error) {
		var a struct{ Path string }
		return tool.Access{Effect: tool.ReadOnly, Paths: []string{a.Path}}, json.Unmarshal([]byte(args), &a)
	}
	two := tool.New(llm.ToolDefinition{Name: "mcp__a__two", Deferred: true,
		Parameters: json.RawMessage(`{"type":"object"}`)}, record)
	plain := tool.New(llm.ToolDefinition{Name: "shell", Parameters: json.RawMessage(`{"type":"object"}`)}, record)
	search := tool.New(llm.ToolDefinition{Name: "tool_search", Finds: true,
		Parameters: json.RawMessage(`{"type":"object"}`)}, record)
	call := tool.New(llm.ToolDefinition{Name: "tool_call", Parameters: json.RawMessage(
		`{"type":"object","properties":{"name":{"type":"string"},"arguments":{"type":"object"}},"required":["name"]}`)},
		func(context.Context, *tool.Call, tool.Forwarded) (tool.Result, error) {
			panic("it is never run itself")
		})
	call.Forwards = true
	r, err := tool.NewRegistry(one, two, plain, search, call)
	if err != nil {
		t.Fatal(err)
	}
	return r, ran
}

func forwarded(args string) llm.ToolCall { return llm.ToolCall{ID: "c", Name: "tool_call", Args: args} }

func TestM4_ForwardedCalls(t *testing.T) {
	for _, c := range []struct{ args, name, ran, result string }{
		{`{"name":"mcp__a__one","arguments":{"count":1}}`, "mcp__a__one", `{"count":1}`, "done by mcp__a__one"},
		{`{"name":"mcp__a__one","arguments":{"count":"1"}}`, "mcp__a__one", `{"count":1}`, "done by mcp__a__one"},
		{`{"name":"mcp__a__one","arguments":"{\"count\":1}"}`, "mcp__a__one", `{"count":1}`, "done by mcp__a__one"},
		{`{"name":"mcp__a__two"}`, "mcp__a__two", `{}`, "done by mcp__a__two"},
		{`{"name":"mcp__a__one","arguments":{}}`, "", "",
			`Error: invalid arguments for mcp__a__one: parameter "count" is missing; it is required (an integer)`},
		{`{"name":"mcp__a__one"}`, "", "", `parameter "count" is missing`},
		{`{"name":"mcp__a__onee","arguments":{"count":1}}`, "", "",
			`Error: there is no tool "mcp__a__onee". Similar names are: mcp__a__one`},
		{`{"name":"two"}`, "", "", `Similar names are: mcp__a__two.`},
		{`{"name":"weather"}`, "", "", `there is no tool "weather". Call tool_search to find tools.`},
		{`{"name":""}`, "", "", `there is no tool "". Call tool_search`},
		{`{"name":"` + strings.Repeat("x", 9999) + `"}`, "", "", `Call tool_search`},
		{`{"name":"shell","arguments":{}}`, "", "", "Error: shell is among your tools: call it by its own name"},
		{`{"name":"tool_call","arguments":{"name":"mcp__a__two"}}`, "", "", "tool_call is among your tools"},
		{`{"arguments":{}}`, "", "", `invalid arguments for tool_call: parameter "name" is missing`},
		{`{"name":"mcp__a__one","arguments":{"count":1},"count":2}`, "", "", `invalid arguments for tool_call: `},
		{`[]`, "", "", `invalid arguments for tool_call: `},
	} {
		r, ran := forwarding(t)
		var judged, around tool.Call
		hook := func(_ context.Context, req tool.Request) (tool.Decision, error) {
			judged = tool.Call{ID: req.Call.ID, Name: req.Call.Name, Args: req.Call.Args, Access: req.Access}
			return tool.Decision{Verdict: tool.Allow}, nil
		}
		watch := func(next tool.Handler) tool.Handler {
			return func(ctx context.Context, call *tool.Call) (tool.Result, error) {
				around = *call
				return next(ctx, call)
			}
		}
		o := r.Run(t.Context(), forwarded(c.args), tool.Call{}, hook, watch)
		if text := o.Model.Text(); !strings.Contains(text, c.result) || o.IsError != (c.name == "") {
			t.Errorf("%s: %q, want %q", c.args, text, c.result)
		}
		for _, saw := range append(*ran, judged, around) {
			if saw.Name != c.name || saw.Args != c.ran || c.name != "" && saw.ID != "c" {
				t.Errorf("%s: %+v, want %s %s", c.args, saw, c.name, c.ran)
			}
		}
		if (len(*ran) == 1) != (c.name != "") || c.name == "mcp__a__one" && judged.Access.Effect != tool.ReadOnly {
			t.Errorf("%s: it ran %d times, with the access %+v", c.args, len(*ran), judged.Access)
		}
	}
}

// The record has the model's call, with the arguments that are in effect.
func TestM4_ForwardedCallsAreRecorded(t *testing.T) {
	r, ran := forwarding(t)
	edit := func(_ context.Context, req tool.Request) (tool.Decision, error) {
		if _, err := req.WithArgs(t.Context(), `{"count":"many"}`); err == nil || !strings.Contains(err.Error(),
			"mcp__a__one") {
			t.Errorf("invalid arguments are no error: %v", err)
		}
		other, err := req.WithArgs(t.Context(), `{"count":"2"}`)
		if err != nil || other.Call.Name != "mcp__a__one" || other.Call.Args != `{"count":2}` {
			t.Errorf("%+v, %v", other.Call, err)
		}
		return tool.Decision{Verdict: tool.Ask, Args: `{"count":"3"}`}, nil
	}
	p := r.Prepare(forwarded(`{ "name": "mcp__a__one", "arguments": { "count": 1 } }`))
	if p.Call.Name != "tool_call" || p.Call.Args != `{ "name": "mcp__a__one", "arguments": { "count": 1 } }` {
		t.Errorf("%+v was not left as it was", p.Call)
	}
	p, asks := r.Authorize(t.Context(), p, tool.Call{}, edit)
	if want := `{"name":"mcp__a__one","arguments":{"count":3}}`; !asks || p.Call.Name != "tool_call" ||
		p.Call.Args != want {
		t.Errorf("asks %v: %+v, want %s", asks, p.Call, want)
	}
	if text := p.Unapproved().Outcome.Model.Text(); !strings.Contains(text, "the call of mcp__a__one needs") {
		t.Error(text)
	}
	if o := p.Run(t.Context(), tool.Call{}, nil, nil); o.IsError || (*ran)[0].Args != `{"count":3}` {
		t.Errorf("%+v ran with %+v", o.Model, *ran)
	}
	again := r.Prepare(p.Call) // what a resumed session does
	if again.Outcome != nil || again.Call != p.Call {
		t.Errorf("%+v", again)
	}
}

func TestM4_ForwardedToolIsRemoved(t *testing.T) {
	r, ran := forwarding(t)
	p := r.Prepare(forwarded(`{"name":"mcp__a__two"}`))
	r.Retire("mcp__a__two", "was removed from this session; use another way")
	p, _ = r.Authorize(t.Context(), p, tool.Call{}, nil)
	if o := p.Run(t.Context(), tool.Call{}, nil, nil); !o.IsError || len(*ran) > 0 ||
		o.Model.Text() != `Error: the tool "mcp__a__two" was removed from this session; use another way.` {
		t.Errorf("%q, %v", o.Model.Text(), *ran)
	}
}

// A forwarded call needs the approvals of the other tool.
func TestM4_ForwardedCallsAreGuarded(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "locked"), nil, 0o400); err != nil {
		t.Fatal(err)
	}
	guarded, err := env.NewLocal(dir, env.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = guarded.Close() })
	r, ran := forwarding(t)
	one, _ := r.Get("mcp__a__one")
	one.Access = func(string) (tool.Access, error) {
		return tool.Access{Effect: tool.Writes, Paths: []string{"locked"}}, nil
	}
	if err := r.Register(one); err != nil {
		t.Fatal(err)
	}
	o := r.Run(t.Context(), forwarded(`{"name":"mcp__a__one","arguments":{"count":1}}`), tool.Call{Env: guarded}, nil)
	if !o.IsError || len(*ran) > 0 || !strings.Contains(o.Model.Text(), "needs a person's approval") {
		t.Errorf("%q", o.Model.Text())
	}
}

// The names of hundreds of deferred tools are not listed.
func TestM4_UnknownTool(t *testing.T) {
	r, _ := forwarding(t)
	for i := range 500 {
		if err := r.Register(tool.New(llm.ToolDefinition{Name: fmt.Sprint("mcp__b__", i), Deferred: true,
			Parameters: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *tool.Call, map[string]any) (tool.Result, error) {
				return tool.Text(""),
					nil
			})); err != nil {
			t.Fatal(err)
		}
	}
	text := r.Prepare(llm.ToolCall{Name: "fly"}).Outcome.Model.Text()
	if !strings.HasSuffix(text,
		"The tools are: shell, tool_search, tool_call. There are 502 more. Call tool_search to find tools.") {
		t.Error(text)
	}
	// a model can call what it has found by its name
	if o := r.Run(t.Context(), llm.ToolCall{Name: "mcp__b__7"}, tool.Call{}, nil); o.IsError {
		t.Errorf("%q", o.Model.Text())
	}
}
