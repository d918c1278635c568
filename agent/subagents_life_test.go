package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// At the limit of depth the agent tools are not offered.
func TestAC7_5_Depth(t *testing.T) {
	for depth, want := range map[int]string{0: "spawn_agent", 1: "spawn_agent", 2: `"agent-1","status":"running"`} {
		t.Run(fmt.Sprint(depth), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := openSpawning(t, agent.Options{Subagents: &agent.Subagents{Depth: depth}},
					map[string][]llmtest.Step{
						"go": {llmtest.Calls(spawn("child")), llmtest.Calls(wait("agent-1")), llmtest.Text("done")},
						"child": {llmtest.Calls(spawn("grandchild")), llmtest.Calls(wait("agent-1")),
							llmtest.Text("child")},
						"grandchild": {llmtest.Calls(spawn("too deep")), llmtest.Text("grandchild")},
					})
				h.submit(t, "go", agent.ReasonCompleted)
				wantOutputs(t, h, "", `{"output":"child","success":true,"turns_used":3}`)
				requests := h.requests("child")
				r := requests[1].Messages[3].Parts[0].(llm.ToolResult)
				if !strings.Contains(r.Content.Text(), want) || r.IsError != (depth < 2) {
					t.Errorf("the child's call of spawn_agent: %+v", r)
				}
				offered := slices.ContainsFunc(requests[0].Tools,
					func(d llm.ToolDefinition) bool { return d.Name == "spawn_agent" })
				if offered != (depth == 2) {
					t.Errorf("spawn_agent was offered to the child: %v", offered)
				}
				if grand := h.requests("grandchild"); (len(grand) == 2) != (depth == 2) || len(grand) > 0 &&
					len(grand[0].Tools) > 0 {
					t.Errorf("%d calls of the grandchild", len(grand))
				}
				var used llm.Usage // of all three agents
				for _, ev := range h.events {
					if s, ok := innermost(ev).(*agent.StepEnd); ok {
						used = used.Add(s.Usage)
					}
				}
				if h.Usage() != used {
					t.Errorf("usage %+v, want %+v", h.Usage(), used)
				}
			})
		})
	}
}

func innermost(ev agent.Event) agent.Event {
	for {
		s, ok := ev.(*agent.SubagentEvent)
		if !ok {
			return ev
		}
		ev = s.Event
	}
}

// A session without Subagents offers no agent tools.
func TestF_NoSubagents(t *testing.T) {
	h := open(t, setup{tools: coding.Agents(), steps: []llmtest.Step{llmtest.Calls(spawn("x")), llmtest.Text("done")}})
	h.submit(t, "go", agent.ReasonCompleted)
	if len(h.model.Requests()[0].Tools) != 0 {
		t.Errorf("offered %v", h.model.Requests()[0].Tools)
	}
	wantOutputs(t, h, "spawn_agent")
}

// The limit of working agents also applies when a finished agent gets a message.
func TestF_MaxRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openSpawning(t, agent.Options{Subagents: &agent.Subagents{MaxRunning: 1}}, map[string][]llmtest.Step{
			"go": {llmtest.Calls(spawn("a")), llmtest.Calls(wait("agent-1")), llmtest.Calls(spawn("b")),
				llmtest.Calls(spawn("c")),
				llmtest.Calls(send("agent-1", "go on")), llmtest.Calls(closing("agent-2")),
				llmtest.Calls(send("agent-1", "go on")),
				llmtest.Calls(wait("agent-1")), llmtest.Text("done")},
			"a": {llmtest.Text("first"), llmtest.Text("second")},
			"b": {llmtest.Hang()},
		})
		h.submit(t, "go", agent.ReasonCompleted)
		wantOutputs(t, h, "agent-1", "first", "agent-2", "1 agents are working, which is the limit",
			"which is the limit", "closed", "running", "second")
	})
}

// A call that fails to start an agent uses no slot and leaves no journal open.
func TestF_SpawnThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logs := &childLogs{}
		h := open(t, setup{tools: coding.Agents(),
			options: agent.Options{Subagents: &agent.Subagents{MaxRunning: 1, Journal: logs.open},
				Policy: agent.Policy{Budget: agent.Budget{USD: 100}}},
			models: func(provider, id string) (llm.Model, bool) {
				return llm.Model{Provider: provider, ID: id, Prices: []llm.Price{{Input: 1, Output: 1}}},
					id == "model-1"
			},
			steps: byTask(map[string][]llmtest.Step{
				"go": {llmtest.Calls(spawn("x", "model", "model-2")),
					llmtest.Calls(spawn("x", "working_dir", "nowhere")), llmtest.Calls(spawn("b")),
					llmtest.Calls(wait("agent-3")), llmtest.Text("done")},
				"b": {llmtest.Text("ready")},
			})})
		h.submit(t, "go", agent.ReasonCompleted)
		wantOutputs(t, h, "prices are not known", "working_dir", "agent-3", "ready")
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		logs.check(t, 2)
	})
}

// childLogs opens journals for children and counts how they are used.
type childLogs struct {
	mu    sync.Mutex
	logs  map[string]*childLog
	first func(id string) // called before a child's first record after its header
}

type childLog struct {
	journal.Memory
	closed int
	first  func()
}

func (l *childLog) Append(ctx context.Context, next int64, records ...journal.Record) error {
	if next == 2 && l.first != nil {
		l.first()
	}
	return l.Memory.Append(ctx, next, records...)
}

func (l *childLog) Close() error { l.closed++; return nil }

func (c *childLogs) open(_ context.Context, id string) (journal.Log, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := &childLog{}
	if c.first != nil {
		l.first = func() { c.first(id) }
	}
	if c.logs == nil {
		c.logs = map[string]*childLog{}
	}
	if c.logs[id] != nil {
		return nil, errors.New("the id came before")
	}
	c.logs[id] = l
	return l, nil
}

func (c *childLogs) check(t *testing.T, want int) {
	t.Helper()
	if len(c.logs) != want {
		t.Errorf("%d journals were opened, want %d", len(c.logs), want)
	}
	for id, l := range c.logs {
		if l.closed != 1 {
			t.Errorf("the journal of %s was closed %d times", id, l.closed)
		}
	}
}

// Children outlive an input and end with the session: Close and Abort end their work, and their
// events come in order and before the session's end.
func TestF_ChildrenEndWithTheSession(t *testing.T) {
	for name, end := range map[string]func(*host) error{"close": (*host).close,
		"abort": func(h *host) error { h.Abort(); return h.close() }} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				logs := &childLogs{}
				h := openSpawning(t, agent.Options{Subagents: &agent.Subagents{Journal: logs.open}},
					map[string][]llmtest.Step{
						"go": {llmtest.Calls(spawn("a"), spawn("b"), spawn("c")), llmtest.Calls(wait("agent-3")),
							llmtest.Text("done")},
						"a": {llmtest.HangAfter(llm.Text{Text: "I am"})},
						"b": {llmtest.Calls(call("blocks"))},
						"c": {llmtest.Hang()},
					}, newTool("blocks", writes, func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
						<-ctx.Done()
						return tool.Result{}, context.Cause(ctx)
					}))
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				defer cancel()
				if _, err := h.Submit(ctx, "go"); !errors.Is(err, context.DeadlineExceeded) {
					t.Fatal(err)
				}
				if h.Status() != agent.StatusIdle {
					t.Errorf("status %s", h.Status())
				}
				for _, e := range only[*agent.SubagentEvent](h) {
					if e.Event.Head().Kind == "PROCESSING_END" {
						t.Errorf("%s ended with the input", e.AgentID)
					}
				}
				if err := end(h); err != nil {
					t.Error(err)
				}
				inner := map[string][]agent.Event{}
				for _, e := range only[*agent.SubagentEvent](h) {
					inner[e.AgentID] = append(inner[e.AgentID], e.Event)
				}
				if len(inner) != 3 {
					t.Errorf("events of %d agents", len(inner))
				}
				for id, events := range inner {
					checkEvents(t, events)
					if last := events[len(events)-1]; last.Head().Kind != "SESSION_END" {
						t.Errorf("the last event of %s is %s", id, last.Head().Kind)
					}
					if start := events[0].(*agent.SessionStart); start.ParentID != h.ID() {
						t.Errorf("the parent of %s is %q", id, start.ParentID)
					}
				}
				logs.check(t, 3)
				for _, c := range h.FoldedState().Children {
					if c.Status != "closed" || logs.logs[c.Session] == nil {
						t.Errorf("recorded: %+v", c)
					}
				}
			})
		})
	}
}

func (h *host) close() error { return h.Close() }

// The usage of children counts for the session: its usage, its cost, the Result of the input, and
// the rest of the budget.
func TestA18_ChildrenSpendTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		answer := func(text string, u llm.Usage) llmtest.Step {
			return llmtest.Respond(llm.Response{Message: llm.Message{Parts: llm.Parts{llm.Text{Text: text}}}, Usage: u})
		}
		h := open(t, setup{tools: append(coding.Agents(), echo("say")), models: priced(1, 2),
			options: agent.Options{Subagents: &agent.Subagents{},
				Policy: agent.Policy{Budget: agent.Budget{Tokens: 140_000}}},
			steps: byTask(map[string][]llmtest.Step{
				"go": {llmtest.Calls(spawn("a")), llmtest.Func(func(context.Context, *llm.Request) llmtest.Step {
					close(gate)
					return llmtest.Calls(wait("agent-1"))
				}), llmtest.Text("never")},
				"a": {llmtest.Gate(nil, gate, answer("dear", llm.Usage{Input: 100_000, Output: 50_000}))},
			})})
		r := h.submit(t, "go", agent.ReasonBudgetTokens)
		wantOutputs(t, h, "", `"output":"dear"`)
		if r.Usage != h.Usage() || r.Usage.Input <= 100_000 || r.Usage.Output <= 50_000 {
			t.Errorf("used %+v, the session %+v", r.Usage, h.Usage())
		}
		if want := (float64(r.Usage.Input) + 2*float64(r.Usage.Output)) / 1e6; r.CostUSD < 0.2 ||
			r.CostUSD < want-1e-6 || r.CostUSD > want+1e-6 {
			t.Errorf("cost %v, want %v", r.CostUSD, want)
		}
	})
}

func priced(input, output float64) llm.Lookup {
	return model(llm.Model{Window: 1_000_000, MaxOutput: 1000, Prices: []llm.Price{{Input: input, Output: output}}})
}

// The reservation of a child's call is not available to a call of the parent at the same time.
func TestA18_ConcurrentChildrenReserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, started := make(chan struct{}), make(chan struct{})
		h := open(t, setup{
			tools: append(coding.Agents(), newTool("until", readOnly, func(context.Context, *tool.Call) (tool.Result,
				error) {
				<-started
				return tool.Text("the child's call has begun"), nil
			})),
			options: agent.Options{Subagents: &agent.Subagents{},
				Policy:  agent.Policy{Budget: agent.Budget{Tokens: 20_000}},
				Request: agent.RequestOptions{MaxTokens: 90_000}},
			steps: byTask(map[string][]llmtest.Step{
				"go": {llmtest.Calls(spawn("a"), call("until")), llmtest.Calls(wait("agent-1")),
					llmtest.Text("now there is room")},
				"a": {llmtest.Gate(started, gate, llmtest.Text("ready"))},
			})})
		h.submit(t, "go", agent.ReasonBudgetTokens)
		close(gate)
		synctest.Wait()
		r, err := h.Continue(context.Background())
		if err != nil || r.Text != "now there is room" {
			t.Errorf("when the child had finished: %+v, %v", r, err)
		}
	})
}

// The permission hook also decides about the calls of children.
func TestF_HookSeesChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var seen []string
		h := openSpawning(t, agent.Options{Hooks: agent.Hooks{Authorize: func(_ context.Context,
			r tool.Request) (tool.Decision, error) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, r.Call.Name)
			if r.Call.Name == "say" {
				return tool.Decision{Verdict: tool.Deny, Reason: "not you"}, nil
			}
			return tool.Decision{Verdict: tool.Allow}, nil
		}}}, map[string][]llmtest.Step{
			"go":   {llmtest.Calls(spawn("task")), llmtest.Calls(wait("agent-1")), llmtest.Text("done")},
			"task": {llmtest.Calls(call("say")), llmtest.Text("denied")},
		}, echo("say"))
		h.submit(t, "go", agent.ReasonCompleted)
		if slices.Sort(seen); !slices.Equal(seen, []string{"say", "spawn_agent", "wait"}) {
			t.Errorf("the hook saw %q", seen)
		}
		if r := h.requests("task")[1].Messages[3].Parts[0].(llm.ToolResult); !r.IsError ||
			!strings.Contains(r.Content.Text(), "not you") {
			t.Errorf("the child's result %+v", r)
		}
	})
}

// syncedLog records which kinds of records are durable.
type syncedLog struct {
	journal.Memory
	mu     sync.Mutex
	synced int64
}

func (l *syncedLog) Sync(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.synced = l.Len()
	return nil
}

// spawned returns the number of durable spawn records.
func (l *syncedLog) spawned(t *testing.T) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for r, err := range l.Records(context.Background(), 1) {
		if err != nil {
			t.Error(err)
		}
		if r.N <= l.synced && r.Kind == "child" && strings.Contains(string(r.Data), `"spawned"`) {
			n++
		}
	}
	return n
}

// The record of a child is durable before the child works. A resumed parent knows its children and
// that they are gone, and reuses no id.
func TestF_JournalsAndResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, logs := new(syncedLog), &childLogs{}
		logs.first = func(string) {
			if n := log.spawned(t); n != 1 {
				t.Errorf("%d spawn records are durable before the child's first input", n)
			}
		}
		scripts := map[string][]llmtest.Step{
			"go": {llmtest.Calls(spawn("x", "working_dir", "nowhere")), llmtest.Calls(spawn("a")),
				llmtest.Calls(wait("agent-2")), llmtest.Text("done"),
				llmtest.Calls(wait("agent-2")), llmtest.Calls(spawn("b")), llmtest.Calls(wait("agent-3")),
				llmtest.Text("done again")},
			"a": {llmtest.Text("ready")},
			"b": {llmtest.Text("ready too")},
		}
		o := agent.Options{Journal: log, Subagents: &agent.Subagents{Journal: logs.open}}
		steps := byTask(scripts)
		h := open(t, setup{tools: coding.Agents(), options: o, steps: steps})
		h.submit(t, "go", agent.ReasonCompleted)
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		logs.check(t, 1)
		used := h.Usage()
		logs.first = nil
		again := open(t, setup{tools: coding.Agents(), options: o, steps: steps})
		if again.Usage() != used {
			t.Errorf("resumed with the usage %+v, want %+v", again.Usage(), used)
		}
		again.submit(t, "again", agent.ReasonCompleted)
		wantOutputs(t, again, "working_dir", "agent-2", "ready",
			"agent agent-2 belonged to an earlier run of this session and ended with it", "agent-3", "ready too")
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
		children := again.FoldedState().Children
		logs.check(t, 2)
		for i, c := range children {
			child, err := agent.Load(context.Background(), logs.logs[c.Session])
			if err != nil || child.Header.Parent != h.ID() || child.Header.ID != c.Session ||
				c.Task != []string{"a", "b"}[i] || c.Status != "completed" {
				t.Errorf("child %+v, its journal %+v, %v", c, child, err)
			}
			if err := agent.Replay(context.Background(), logs.logs[c.Session], agent.ReplayOptions{}); err != nil {
				t.Errorf("the child's journal: %v", err)
			}
		}
		if len(children) != 2 {
			t.Errorf("children %+v", children)
		}
	})
}

// A session that ends while a child starts does not wait for it, and the child does not begin.
func TestF_CloseWhileSpawning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logs, opening, goOn := &childLogs{}, make(chan struct{}), make(chan struct{})
		h := openSpawning(t, agent.Options{Limits: agent.Limits{Grace: time.Second},
			Subagents: &agent.Subagents{Journal: func(ctx context.Context, id string) (journal.Log, error) {
				close(opening)
				<-goOn
				return logs.open(ctx, id)
			}}}, map[string][]llmtest.Step{"go": {llmtest.Calls(spawn("a"))}})
		go func() {
			<-opening
			h.Abort()
		}()
		if _, err := h.Submit(context.Background(), "go"); !errors.Is(err, agent.ErrAborted) {
			t.Errorf("Submit = %v", err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		close(goOn)
		synctest.Wait()
		logs.check(t, 1)
		if len(h.requests("a")) != 0 {
			t.Error("the child began")
		}
	})
}
