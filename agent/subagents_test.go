package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// byTask returns a model for several agents: each follows the script for its task, which is its
// first user message.
func byTask(scripts map[string][]llmtest.Step) []llmtest.Step {
	var mu sync.Mutex
	next := map[string]int{}
	return slices.Repeat([]llmtest.Step{llmtest.Func(func(_ context.Context, req *llm.Request) llmtest.Step {
		mu.Lock()
		defer mu.Unlock()
		task := taskOf(req)
		n := next[task]
		next[task]++
		if n >= len(scripts[task]) {
			return llmtest.Error(llm.Errorf(llm.ErrConfiguration, "the script of %q has no step %d", task, n+1))
		}
		return scripts[task][n]
	})}, 200)
}

// taskOf returns the first user message of a request.
func taskOf(req *llm.Request) string {
	for _, m := range req.Messages {
		if m.Role == llm.RoleUser {
			return m.Parts.Text()
		}
	}
	return ""
}

// requests returns the requests of the agent with a task.
func (h *host) requests(task string) []*llm.Request {
	return slices.DeleteFunc(h.model.Requests(), func(r *llm.Request) bool { return taskOf(r) != task })
}

func spawn(task string, more ...any) llm.ToolCall {
	args := map[string]any{"task": task}
	for i := 0; i < len(more); i += 2 {
		args[more[i].(string)] = more[i+1]
	}
	return llmtest.Call("spawn_agent", args)
}

func send(id, message string) llm.ToolCall {
	return llmtest.Call("send_input", map[string]any{"agent_id": id, "message": message})
}

func wait(id string) llm.ToolCall { return llmtest.Call("wait", map[string]any{"agent_id": id}) }
func closing(id string) llm.ToolCall {
	return llmtest.Call("close_agent", map[string]any{"agent_id": id})
}
func result(t *testing.T, text string) (r tool.AgentResult) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return r
}

// openSpawning opens a session that may have subagents.
func openSpawning(t *testing.T, o agent.Options, scripts map[string][]llmtest.Step, tools ...tool.Tool) *host {
	t.Helper()
	if o.Subagents == nil {
		o.Subagents = &agent.Subagents{}
	}
	return open(t, setup{tools: append(coding.Agents(), tools...), options: o, steps: byTask(scripts)})
}

// outputs returns the results of all calls, in order.
func (h *host) outputs() []string {
	var texts []string
	for _, turn := range h.History() {
		for _, part := range turn.Message.Parts {
			if r, ok := part.(llm.ToolResult); ok {
				texts = append(texts, r.Content.Text())
			}
		}
	}
	return texts
}

func wantOutputs(t *testing.T, h *host, want ...string) {
	t.Helper()
	got := h.outputs()
	if len(got) != len(want) {
		t.Fatalf("%d results, want %d: %q", len(got), len(want), got)
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("result %d: %q, want %q in it", i+1, got[i], want[i])
		}
	}
}

// Spawning returns at once: the children end only after the parent's next model call.
func TestAC7_1_ChildrenWorkAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		h := openSpawning(t, agent.Options{}, map[string][]llmtest.Step{
			"go": {llmtest.Calls(spawn("one"), spawn("two")),
				llmtest.Func(func(context.Context, *llm.Request) llmtest.Step {
					close(gate)
					return llmtest.Calls(wait("agent-1"), wait("agent-2"), wait("agent-2"))
				}),
				llmtest.Calls(llmtest.Call("read_file", `{"file_path":"made.txt"}`)), llmtest.Text("done")},
			"one": {llmtest.Gate(nil, gate,
				llmtest.Calls(llmtest.Call("write_file", `{"file_path":"made.txt","content":"by a child"}`))),
				llmtest.Text("<one>")},
			"two": {llmtest.Gate(nil, gate, llmtest.Text("second"))},
		}, coding.WriteFile(), coding.ReadFile())
		h.submit(t, "go", agent.ReasonCompleted)
		one, two := `{"output":"<one>","success":true,"turns_used":2}`,
			`{"output":"second","success":true,"turns_used":1}`
		got := h.outputs()
		if fmt.Sprint(got[:2]) != `[{"agent_id":"agent-1","status":"running"} {"agent_id":"agent-2","status":"running"}]` {
			t.Errorf("spawned %q", got[:2])
		}
		if !slices.Equal(got[2:5], []string{one, two, two}) || !strings.Contains(got[5], "by a child") {
			t.Errorf("results %q", got)
		}
		for _, task := range []string{"one", "two"} {
			first := h.requests(task)[0]
			if len(first.Messages) != 2 || !strings.Contains(first.Messages[0].Parts.Text(),
				"You work for another agent") {
				t.Errorf("%s began with %d messages: %v", task, len(first.Messages), first.Messages)
			}
			for _, d := range first.Tools {
				if d.Name != "write_file" && d.Name != "read_file" {
					t.Errorf("%s was offered %s", task, d.Name)
				}
			}
		}
		if len(h.History()) != 8 {
			t.Errorf("the parent's history: %s", h.turns())
		}
	})
}

// A child gets the directory, the model and the turns from its spawn arguments.
func TestF_SpawnArguments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openSpawning(t, agent.Options{}, map[string][]llmtest.Step{
			"go": {llmtest.Calls(llmtest.Call("write_file", `{"file_path":"sub/here.txt","content":"x"}`)),
				llmtest.Calls(spawn("a", "working_dir", "./sub/", "model", "model-2")), llmtest.Calls(wait("agent-1")),
				llmtest.Calls(spawn("b", "max_turns", 2)), llmtest.Calls(wait("agent-2")),
				llmtest.Calls(spawn("x", "working_dir", "..")), llmtest.Calls(spawn("x", "working_dir", "/")),
				llmtest.Calls(spawn("x", "working_dir", "nowhere")),
				llmtest.Calls(spawn("x", "working_dir", "sub/here.txt")), llmtest.Calls(spawn(" ")),
				llmtest.Calls(spawn("x", "max_turns", -1)), llmtest.Text("done")},
			"a": {llmtest.Calls(llmtest.Call("read_file", `{"file_path":"here.txt"}`)), llmtest.Text("found")},
			"b": {llmtest.Calls(call("say")), llmtest.Answer(llm.Text{Text: "on it"},
				llm.ToolCall{ID: "x", Name: "say", Args: "{}"})},
		}, coding.WriteFile(), coding.ReadFile(), echo("say"))
		h.submit(t, "go", agent.ReasonCompleted)
		wantOutputs(t, h, "", `"agent-1","status":"running"`, `{"output":"found","success":true,"turns_used":2}`,
			`"agent-2"`,
			`{"output":"on it\n\nThe agent was stopped before it had finished: max_turns.","success":false,"turns_used":2}`,
			"working_dir", "working_dir", "working_dir", "not a directory", "task is empty", "max_turns is -1")
		requests := h.requests("a")
		if requests[0].Model != "model-2" || requests[0].Provider != "test" || h.requests("b")[0].Model != "model-1" {
			t.Errorf("models %s and %s", requests[0].Model, h.requests("b")[0].Model)
		}
		if text := requests[1].Messages[3].Parts[0].(llm.ToolResult); text.IsError {
			t.Errorf("in its directory the child read %q", text.Content.Text())
		}
		if prompt := requests[0].Messages[0].Parts.Text(); !strings.Contains(prompt, "/sub\n") {
			t.Errorf("the child's prompt is %q", prompt)
		}
	})
}

// A message reaches a working child before its next model call, and begins an input of a finished
// one. Calls to the same agent in one answer keep their order.
func TestAC7_3_SendInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, started := make(chan struct{}), make(chan struct{})
		h := openSpawning(t, agent.Options{}, map[string][]llmtest.Step{
			"go": {llmtest.Calls(spawn("task")), llmtest.Func(func(context.Context, *llm.Request) llmtest.Step {
				<-started
				return llmtest.Calls(send("agent-1", "hurry"))
			}), llmtest.Func(func(context.Context, *llm.Request) llmtest.Step {
				close(gate)
				return llmtest.Calls(wait("agent-1"))
			}), llmtest.Calls(send("agent-1", "and now?"), wait("agent-1")), llmtest.Calls(send("agent-1", " ")),
				llmtest.Text("done")},
			"task": {llmtest.Gate(started, gate, llmtest.Calls(call("say"))), llmtest.Text("first"),
				llmtest.Text("second")},
		}, echo("say"))
		h.submit(t, "go", agent.ReasonCompleted)
		wantOutputs(t, h, "agent-1", `"status":"running"`, `{"output":"first","success":true,"turns_used":2}`,
			`"status":"running"`,
			`{"output":"second","success":true,"turns_used":3}`, "message is empty")
		requests := h.requests("task")
		if m := requests[1].Messages; len(m) != 5 || m[4].Parts.Text() != "hurry" {
			t.Errorf("the second call has the messages %v", m)
		}
		if m := requests[2].Messages; len(m) != 7 || m[6].Parts.Text() != "and now?" {
			t.Errorf("the third call has the messages %v", m)
		}
	})
}

// agents returns a tool that stores the agent table of its session.
func agents(to *tool.Agents) tool.Tool {
	return newTool("agents", readOnly, func(_ context.Context, c *tool.Call) (tool.Result, error) {
		*to = c.Session.Agents()
		return tool.Text("ok"), nil
	})
}

// A message that arrives between the child's last answer and the report of its end is not lost.
func TestF_SendAtTheVeryEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var table tool.Agents
		once := true
		h := openSpawning(t, agent.Options{OnEvent: func(ev agent.Event) {
			if e, ok := ev.(*agent.SubagentEvent); ok && once && e.Event.Head().Kind == "PROCESSING_END" {
				once = false
				if _, err := table.Send(context.Background(), "agent-1", "one more thing"); err != nil {
					t.Error(err)
				}
			}
		}}, map[string][]llmtest.Step{
			"go": {llmtest.Calls(call("agents")), llmtest.Calls(spawn("task")), llmtest.Calls(wait("agent-1")),
				llmtest.Text("done")},
			"task": {llmtest.Text("first"), llmtest.Text("second")},
		}, agents(&table))
		h.submit(t, "go", agent.ReasonCompleted)
		wantOutputs(t, h, "ok", "", `{"output":"second","success":true,"turns_used":2}`)
	})
}

// Messages from several goroutines, while the child ends and begins again, each reach the model
// once.
func TestF_SendFromEverywhere(t *testing.T) {
	const senders, each = 8, 10
	var table tool.Agents
	h := openSpawning(t, agent.Options{}, map[string][]llmtest.Step{
		"go":   {llmtest.Calls(call("agents")), llmtest.Calls(spawn("task")), llmtest.Text("done")},
		"task": slices.Repeat([]llmtest.Step{llmtest.Text("ok")}, 1+senders*each),
	}, agents(&table))
	h.submit(t, "go", agent.ReasonCompleted)
	var sending sync.WaitGroup
	for s := range senders {
		sending.Go(func() {
			for n := range each {
				if _, err := table.Send(context.Background(), "agent-1", fmt.Sprintf("message %d-%d.", s,
					n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	sending.Wait()
	r, err := table.Wait(context.Background(), "agent-1")
	if err != nil || !r.Success {
		t.Errorf("Wait = %+v, %v", r, err)
	}
	requests := h.requests("task")
	var all strings.Builder
	for _, m := range requests[len(requests)-1].Messages {
		all.WriteString(m.Parts.Text())
	}
	for s := range senders {
		for n := range each {
			if c := strings.Count(all.String(), fmt.Sprintf("message %d-%d.", s, n)); c != 1 {
				t.Errorf("message %d-%d came %d times", s, n, c)
			}
		}
	}
}

// A message to a child without turns left does not keep it busy forever.
func TestF_SendToAChildWithoutTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, started := make(chan struct{}), make(chan struct{})
		h := openSpawning(t, agent.Options{}, map[string][]llmtest.Step{
			"go": {llmtest.Calls(spawn("task", "max_turns", 1)),
				llmtest.Func(func(context.Context, *llm.Request) llmtest.Step {
					<-started
					return llmtest.Calls(send("agent-1", "hurry"))
				}), llmtest.Func(func(context.Context, *llm.Request) llmtest.Step {
					close(gate)
					return llmtest.Calls(wait("agent-1"))
				}), llmtest.Text("done")},
			"task": {llmtest.Gate(started, gate, llmtest.Calls(call("say")))},
		}, echo("say"))
		h.submit(t, "go", agent.ReasonCompleted)
		wantOutputs(t, h, "agent-1", "running", `"success":false,"turns_used":1`)
	})
}

// The end of the input ends the wait call, not the child.
func TestF_InterruptedWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		h := openSpawning(t, agent.Options{}, map[string][]llmtest.Step{
			"go": {llmtest.Calls(spawn("task")), llmtest.Calls(wait("agent-1")), llmtest.Calls(wait("agent-1")),
				llmtest.Text("done")},
			"task": {llmtest.Gate(nil, gate, llmtest.Text("ready"))},
		})
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		began := time.Now()
		if r, err := h.Submit(ctx, "go"); !errors.Is(err, context.DeadlineExceeded) ||
			r.Reason != agent.ReasonInterrupted {
			t.Fatalf("Submit = %+v, %v", r, err)
		}
		if took := time.Since(began); took != time.Hour {
			t.Errorf("the wait took %v", took)
		}
		close(gate)
		h.submit(t, "again", agent.ReasonCompleted)
		wantOutputs(t, h, "agent-1", "deadline exceeded", `{"output":"ready","success":true,"turns_used":1}`)
	})
}

// Closing an agent ends its work. It returns the last status, also when called again.
func TestAC7_4_CloseAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openSpawning(t, agent.Options{}, map[string][]llmtest.Step{
			"go": {llmtest.Calls(spawn("hangs")), llmtest.Calls(closing("agent-1"), closing("agent-1"), wait("agent-1"),
				send("agent-1", "hello?")),
				llmtest.Calls(spawn("ends")), llmtest.Calls(wait("agent-2")), llmtest.Calls(closing("agent-2"),
					wait("agent-2"), send("agent-2", "hello?")),
				llmtest.Calls(wait("agent-9")), llmtest.Text("done")},
			"hangs": {llmtest.HangAfter(llm.Text{Text: "I am"})},
			"ends":  {llmtest.Text("ended")},
		})
		h.submit(t, "go", agent.ReasonCompleted)
		wantOutputs(t, h, "", `{"agent_id":"agent-1","status":"closed"}`, `{"agent_id":"agent-1","status":"closed"}`,
			`closed before it had finished`,
			"agent agent-1 has ended", "", `"success":true`, `{"agent_id":"agent-2","status":"completed"}`,
			`{"output":"ended","success":true,"turns_used":1}`, "agent agent-2 has ended",
			`there is no agent "agent-9"; the ids are agent-1, agent-2`)
		for i, c := range h.FoldedState().Children {
			if want := []string{"closed", "completed"}[i]; c.Status != want {
				t.Errorf("%s is recorded as %s", c.ID, c.Status)
			}
		}
	})
}

// A child whose model fails ends and reports the error.
func TestF_ChildThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openSpawning(t, agent.Options{}, map[string][]llmtest.Step{
			"go": {llmtest.Calls(spawn("task")), llmtest.Calls(wait("agent-1")),
				llmtest.Calls(send("agent-1", "x"), closing("agent-1")), llmtest.Text("done")},
			"task": {llmtest.Error(llm.Errorf(llm.ErrAuthentication, "the key is wrong"))},
		})
		h.submit(t, "go", agent.ReasonCompleted)
		wantOutputs(t, h, "", "the key is wrong", "has ended", `"status":"failed"`)
		if r := result(t, h.outputs()[1]); r.Success || r.TurnsUsed != 0 {
			t.Errorf("%+v", r)
		}
	})
}

// The events of a subagent name the call that started it, also while it works on a later message.
func TestQ2_EventsNameTheCallThatStartedTheAgent(t *testing.T) {
	h := openSpawning(t, agent.Options{}, map[string][]llmtest.Step{
		"go": {llmtest.Calls(spawn("one"), spawn("two")), llmtest.Calls(wait("agent-1"), wait("agent-2")),
			llmtest.Calls(send("agent-2", "more")), llmtest.Calls(wait("agent-2")), llmtest.Text("done")},
		"one": {llmtest.Text("first")},
		"two": {llmtest.Text("second"), llmtest.Text("third")},
	})
	h.submit(t, "go", agent.ReasonCompleted)
	calls := map[string]string{} // by the agent's id
	for i, call := range h.History()[1].Message.Parts.ToolCalls() {
		calls[fmt.Sprint("agent-", i+1)] = call.ID
	}
	said := ""
	for _, e := range only[*agent.SubagentEvent](h) {
		if e.CallID != calls[e.AgentID] || e.CallID == "" {
			t.Errorf("an event of %s names the call %q, want %q", e.AgentID, e.CallID, calls[e.AgentID])
		}
		if end, ok := e.Event.(*agent.AssistantTextEnd); ok && e.AgentID == "agent-2" {
			said += end.Text + " "
		}
	}
	if said != "second third " {
		t.Errorf("the second agent said %q", said)
	}
}
