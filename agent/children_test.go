package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	wire "github.com/attractor-go/attractor/llm/anthropic"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/llm/openaichat"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// The agents that one answer starts get their ids and session ids in the order of the calls.
func TestI17_AgentsInTheOrderOfTheirCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 24
		scripts := map[string][]llmtest.Step{}
		var spawns []llm.ToolCall
		for i := range many {
			task := fmt.Sprintf("task %d", i+1)
			scripts[task] = []llmtest.Step{llmtest.Text("ok")}
			spawns = append(spawns, spawn(task))
			if i%5 == 2 {
				spawns = append(spawns, spawn(" ")) // starts no agent
			}
		}
		scripts["go"] = []llmtest.Step{llmtest.Calls(spawns...), llmtest.Text("done")}
		var ids atomic.Int64
		h := openSpawning(t, agent.Options{Subagents: &agent.Subagents{MaxRunning: many},
			NewID: func() string { return fmt.Sprint("s", ids.Add(1)) }}, scripts)
		h.submit(t, "go", agent.ReasonCompleted)
		children := h.FoldedState().Children
		if len(children) != many {
			t.Fatalf("%d agents", len(children))
		}
		for i, c := range children {
			if want := fmt.Sprint("agent-", i+1); c.ID != want || c.Task != fmt.Sprint("task ", i+1) ||
				c.Session != fmt.Sprint("s", i+2) {
				t.Errorf("agent %d is %s, session %s, for %q", i+1, c.ID, c.Session, c.Task)
			}
		}
	})
}

// An interrupt while the agents of an answer are being started does not block the session.
func TestI17_InterruptWhileAgentsStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h *host
		h = openSpawning(t, agent.Options{Hooks: agent.Hooks{Authorize: func(_ context.Context,
			req tool.Request) (tool.Decision, error) {
			if strings.Contains(req.Call.Args, "two") {
				h.Interrupt()
			}
			return tool.Decision{Verdict: tool.Allow}, nil
		}}}, map[string][]llmtest.Step{"go": {llmtest.Calls(spawn("one"), spawn("two"), spawn("three"))},
			"one": {llmtest.Hang()}})
		h.submit(t, "go", agent.ReasonInterrupted)
	})
}

// Subagents send the same request parameters as their session.
func TestI17_ParametersReachTheWireAndChildren(t *testing.T) {
	temperature := 0.25
	o := agent.Options{Effort: "high", Request: agent.RequestOptions{Temperature: &temperature, MaxTokens: 777,
		NoCache: true, ToolChoice: llm.ToolChoice{Mode: llm.ToolRequired},
		ProviderOptions: json.RawMessage(`{"service_tier":"flex"}`)}, Subagents: &agent.Subagents{}}
	for name, want := range map[string]func(r *llm.Request) bool{
		"effort":      func(r *llm.Request) bool { return r.Effort == "high" },
		"temperature": func(r *llm.Request) bool { return r.Temperature != nil && *r.Temperature == 0.25 },
		"max tokens":  func(r *llm.Request) bool { return r.MaxTokens == 777 },
		"no cache":    func(r *llm.Request) bool { return r.NoCache },
		"tool choice": func(r *llm.Request) bool { return r.ToolChoice.Mode == llm.ToolRequired },
		"sequential":  func(r *llm.Request) bool { return r.Sequential },
		"options": func(r *llm.Request) bool {
			return reflect.DeepEqual(r.Options,
				map[string]json.RawMessage{"test": json.RawMessage(`{"service_tier":"flex"}`)})
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, setup{tools: append(coding.Agents(), echo("work")), options: o, serial: true,
				steps: byTask(map[string][]llmtest.Step{
					"go":   {llmtest.Calls(spawn("part")), llmtest.Calls(wait("agent-1")), llmtest.Text("done")},
					"part": {llmtest.Text("ok")},
				})})
			h.submit(t, "go", agent.ReasonCompleted)
			for _, task := range []string{"go", "part"} {
				for _, req := range h.requests(task) {
					if !want(req) {
						t.Errorf("a request of %q has %+v", task, req)
					}
				}
			}
			if n := len(h.requests("part")); n != 1 {
				t.Errorf("%d requests of the child", n)
			}
		})
	}
}

// Subagents do not inherit a tool choice that names a tool which they do not have.
func TestI17_ToolChoiceThatChildrenLack(t *testing.T) {
	h := openSpawning(t, agent.Options{Request: agent.RequestOptions{ToolChoice: llm.ToolChoice{Mode: llm.ToolNamed,
		Name: "spawn_agent"}}}, map[string][]llmtest.Step{
		"go":   {llmtest.Calls(spawn("part")), llmtest.Calls(wait("agent-1")), llmtest.Text("done")},
		"part": {llmtest.Text("ok")},
	}, echo("work"))
	h.submit(t, "go", agent.ReasonCompleted)
	wantOutputs(t, h, "running", `{"output":"ok","success":true,"turns_used":1}`)
	if req := h.requests("part")[0]; req.ToolChoice != (llm.ToolChoice{}) ||
		h.requests("go")[0].ToolChoice.Name != "spawn_agent" {
		t.Errorf("the child's choice is %+v", req.ToolChoice)
	}
}

// By default four subagents of a session may work at the same time.
func TestI17_FourAgentsAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for most, o := range map[int]*agent.Subagents{4: {}, 2: {MaxRunning: 2}} {
			gate := make(chan struct{})
			scripts := map[string][]llmtest.Step{"go": {llmtest.Calls(spawn("1"), spawn("2"), spawn("3"), spawn("4"),
				spawn("5")),
				llmtest.Func(func(context.Context, *llm.Request) llmtest.Step {
					close(gate)
					return llmtest.Text("done")
				})}}
			for i := range 5 {
				scripts[fmt.Sprint(i+1)] = []llmtest.Step{llmtest.Gate(nil, gate, llmtest.Text("ok"))}
			}
			h := openSpawning(t, agent.Options{Subagents: o}, scripts)
			h.submit(t, "go", agent.ReasonCompleted)
			for i, text := range h.outputs() {
				if refused := strings.Contains(text, fmt.Sprintf("%d agents are working, which is the limit",
					most)); refused != (i >= most) {
					t.Errorf("agent %d of %d: %s", i+1, most, text)
				}
			}
		}
	})
}

// A subagent has the effort of its parent at its start, or the one in its task.
func TestI17_EffortOfAChild(t *testing.T) {
	var table tool.Agents
	h := openSpawning(t, agent.Options{Effort: "low"}, map[string][]llmtest.Step{
		"go": {llmtest.Calls(spawn("first")), llmtest.Calls(wait("agent-1")), llmtest.Calls(call("agents")),
			llmtest.Text("done")},
		"on":    {llmtest.Calls(spawn("second")), llmtest.Calls(wait("agent-2")), llmtest.Text("done")},
		"first": {llmtest.Text("ok")}, "second": {llmtest.Text("ok")}, "third": {llmtest.Text("ok")},
	}, agents(&table))
	h.submit(t, "go", agent.ReasonCompleted)
	high := "high"
	if err := h.Set(context.Background(), agent.Settings{Effort: &high}); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	for _, task := range []tool.AgentTask{{Task: "second"}, {Task: "third", Effort: "max"}} {
		status, err := table.Spawn(ctx, task)
		if err == nil {
			_, err = table.Wait(ctx, status.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for task, want := range map[string]string{"first": "low", "second": "high", "third": "max"} {
		if got := h.requests(task)[0].Effort; got != want {
			t.Errorf("%s has the effort %q, want %q", task, got, want)
		}
	}
}

// The host's request settings are in the bytes that are sent, for a session and for its subagents.
func TestI17_OnTheWire(t *testing.T) {
	temperature := 0.25
	bodies := map[string]map[string]any{}
	var mu sync.Mutex // the agents ask at the same time
	server := fakellm.New(func(r *fakellm.Request) fakellm.Turn {
		mu.Lock()
		defer mu.Unlock()
		var body map[string]any
		if err := json.Unmarshal(r.Body, &body); err != nil {
			t.Error(err)
		}
		task := r.Messages[0].Parts.Text()
		if bodies[task] == nil {
			bodies[task] = body
			if task == "go" {
				return fakellm.Turn{Calls: []fakellm.Call{{Name: "spawn_agent",
					Args: json.RawMessage(`{"task":"part"}`)}}}
			}
		}
		if task == "go" && len(r.Messages) < 4 {
			return fakellm.Turn{Calls: []fakellm.Call{{Name: "wait", Args: json.RawMessage(`{"agent_id":"agent-1"}`)}}}
		}
		return fakellm.Turn{Text: "done"}
	}, fakellm.Options{})
	provider, err := openaichat.New(openaichat.Options{BaseURL: "http://x.test/v1",
		HTTPClient: llmtest.PipeClient(t, server)})
	if err != nil {
		t.Fatal(err)
	}
	var ids atomic.Int64
	s, err := agent.New(context.Background(), agent.Options{Client: &llm.Client{Providers: []llm.Provider{provider}},
		Env: emptyEnv(t), System: "You are being tested.",
		Profile: profile.Profile{Name: "test", Provider: provider.Name(), Model: "model-1", Sequential: true,
			Tools: append(coding.Agents(), echo("work"))},
		Effort: "high", Request: agent.RequestOptions{Temperature: &temperature, MaxTokens: 777,
			ToolChoice:      llm.ToolChoice{Mode: llm.ToolRequired},
			ProviderOptions: json.RawMessage(`{"user":"me"}`)}, Subagents: &agent.Subagents{},
		NewID: func() string { return fmt.Sprint("s", ids.Add(1)) }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Submit(context.Background(), "go"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"reasoning_effort": "high", "temperature": 0.25, "max_tokens": 777.0,
		"tool_choice": "required", "parallel_tool_calls": false, "user": "me"}
	for _, task := range []string{"go", "part"} {
		for name, value := range want {
			if got := bodies[task][name]; got != value {
				t.Errorf("%s: %s is %v, want %v", task, name, got, value)
			}
		}
	}
}

// A session without caching sends no cache marks, nor do its subagents; other sessions do.
func TestI17_NoCacheOnTheWire(t *testing.T) {
	for _, off := range []bool{false, true} {
		server := fakellm.New(func(r *fakellm.Request) fakellm.Turn {
			switch {
			case r.Messages[0].Parts.Text() != "go" || len(r.Messages) > 4:
				return fakellm.Turn{Text: "done"}
			case len(r.Messages) < 2:
				return fakellm.Turn{Calls: []fakellm.Call{{Name: "spawn_agent",
					Args: json.RawMessage(`{"task":"part"}`)}}}
			}
			return fakellm.Turn{Calls: []fakellm.Call{{Name: "wait", Args: json.RawMessage(`{"agent_id":"agent-1"}`)}}}
		}, fakellm.Options{})
		provider, err := wire.New(wire.Options{APIKey: "test", BaseURL: "http://x.test",
			HTTPClient: llmtest.PipeClient(t, server)})
		if err != nil {
			t.Fatal(err)
		}
		s, err := agent.New(context.Background(),
			agent.Options{Client: &llm.Client{Providers: []llm.Provider{provider}}, Env: emptyEnv(t),
				Request: agent.RequestOptions{NoCache: off},
				System:  "You are being tested.", Subagents: &agent.Subagents{},
				Profile: profile.Profile{Name: "test", Provider: "anthropic", Model: "claude-sonnet-5-5",
					Tools: append(coding.Agents(), echo("work"))}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Submit(context.Background(), "go"); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for _, r := range server.Requests() {
			if (r.CacheMarks == 0) != off {
				t.Errorf("without a cache %v: %d marks", off, r.CacheMarks)
			}
		}
		if n := len(server.Requests()); n != 4 {
			t.Errorf("%d requests", n)
		}
	}
}
