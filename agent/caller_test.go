package agent_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// spend is a bill of model calls by agent and purpose. It knows a session only from the callers of
// requests.
type spend struct {
	mu       sync.Mutex
	sessions map[string]string // of the two agents
	tokens   map[string]int
	calls    []string
}

// middleware adds the usage of each model call to the bill.
func (s *spend) middleware(next llm.Handler) llm.Handler {
	return func(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
		return func(yield func(llm.StreamEvent, error) bool) {
			used := 0
			for ev, err := range next(ctx, req) {
				if err == nil && ev.Type == llm.EventFinish {
					used = ev.Response.Usage.Output
				}
				if !yield(ev, err) {
					break
				}
			}
			s.book(req.Caller, used)
		}
	}
}

// book adds used tokens to the bill of a caller.
func (s *spend) book(c llm.Caller, used int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	who := c.Agent
	if who == "" {
		who = "main"
	}
	if s.tokens == nil {
		s.tokens, s.sessions = map[string]int{}, map[string]string{}
	}
	s.sessions[who] = c.Session
	s.tokens[who+" "+string(c.Purpose)] += used
	s.calls = append(s.calls, fmt.Sprintf("%s %s %d.%d", who, c.Purpose, c.Step, c.Attempt))
}

// Every request names its session, agent, purpose, step and attempt. The sum of the bill is the
// usage of the session.
func TestJ14_RequestCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		overloaded := llmtest.Error(llm.Errorf(llm.ErrOverloaded, "later"))
		paid := func(n int, parts ...llm.Part) llmtest.Step {
			return llmtest.Respond(llm.Response{Message: llm.Message{Parts: parts}, Usage: llm.Usage{Output: n}})
		}
		var bill spend
		ids := []string{"first", "second"}
		h := open(t, setup{tools: append(coding.Agents(), echo("work")), around: []llm.Middleware{bill.middleware},
			options: agent.Options{Subagents: &agent.Subagents{}, Policy: agent.Policy{MaxToolRounds: 2,
				OnLimit: agent.SummarizeOnLimit, Compaction: agent.CompactionPolicy{KeepTurns: 1}},
				NewID: func() string { id := ids[0]; ids = ids[1:]; return id }},
			steps: byTask(map[string][]llmtest.Step{
				"go": {overloaded, paid(1, spawn("a part")), paid(2, wait("agent-1")), overloaded,
					paid(4, llm.Text{Text: "that was it"}), paid(8, llm.Text{Text: "on"})},
				"a part": {overloaded, overloaded, paid(16, llm.Text{Text: "done"})},
			}), wrap: summarizes(overloaded, paid(32, llm.Text{Text: "THE SUMMARY"}))})
		h.submit(t, "go", agent.ReasonMaxToolRounds)
		if err := h.Compact(t.Context()); err != nil {
			t.Fatal(err)
		}
		// the two agents work in parallel
		slices.SortStableFunc(bill.calls, func(a, b string) int { return strings.Compare(a[:5], b[:5]) })
		want := "agent-1 turn 1.1, agent-1 turn 1.2, agent-1 turn 1.3, main turn 1.1, main turn 1.2, main turn 2.1, " +
			"main last_text 3.1, main last_text 3.2, main compaction 3.1, main compaction 3.2"
		if got := strings.Join(bill.calls, ", "); got != want {
			t.Errorf("requests\n%s, want\n%s", got, want)
		}
		if got := fmt.Sprint(bill.tokens); got != "map[agent-1 turn:16 main compaction:32 main last_text:4 "+
			"main turn:3]" {
			t.Errorf("the bill is %s", got)
		}
		if got := fmt.Sprint(bill.sessions); got != "map[agent-1:second main:first]" || h.ID() != "first" {
			t.Errorf("sessions %s", got)
		}
		if got := h.Usage().Output; got != 55 {
			t.Errorf("the session has %d tokens of output", got)
		}
	})
}

// summarizes returns a wrapper that answers requests for a summary with a script of its own.
func summarizes(script ...llmtest.Step) func(llm.Provider) llm.Provider {
	other := llmtest.NewProvider("test", script...)
	return func(p llm.Provider) llm.Provider { return summarizer{p, other} }
}

type summarizer struct {
	llm.Provider
	other llm.Provider
}

func (s summarizer) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
	if req.Caller.Purpose == agent.PurposeCompaction {
		return s.other.Stream(ctx, req)
	}
	return s.Provider.Stream(ctx, req)
}

// span is the context key for the path of names.
type span struct{}

func within(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, span{}, spanOf(ctx)+"/"+name)
}

func spanOf(ctx context.Context) string {
	path, _ := ctx.Value(span{}).(string)
	return path
}

// The contexts of a subagent's model calls, tools and hooks have the values of the context of the
// call that gave it its task, but not its end.
func TestJ14_SubagentContextValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var seen []string
		see := func(ctx context.Context, what string) {
			mu.Lock()
			defer mu.Unlock()
			_, limited := ctx.Deadline()
			seen = append(seen, fmt.Sprintf("%s %s %v %v", spanOf(ctx), what, limited, ctx.Err()))
		}
		around := func(next llm.Handler) llm.Handler {
			return func(ctx context.Context, req *llm.Request) iter.Seq2[llm.StreamEvent, error] {
				if req.Caller.Agent != "" {
					see(ctx, fmt.Sprint("step ", req.Caller.Step))
				}
				return next(ctx, req)
			}
		}
		look := newTool("look", readOnly, func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
			see(ctx, "tool")
			return tool.Text("ok"), nil
		})
		gate := make(chan struct{})
		h := open(t, setup{tools: append(coding.Agents(), look), around: []llm.Middleware{around},
			options: agent.Options{Subagents: &agent.Subagents{},
				Hooks: agent.Hooks{Middleware: []tool.Middleware{spans}, BeforeStop: func(ctx context.Context,
					stop agent.Stop) (string, error) {
					if stop.Agent != "" {
						see(ctx, "stop")
					}
					return "", nil
				}}},
			steps: byTask(map[string][]llmtest.Step{
				"go": {llmtest.Calls(spawn("a part")), llmtest.Text("later"), llmtest.Calls(send("agent-1", "and?")),
					llmtest.Calls(wait("agent-1")), llmtest.Text("now")},
				"a part": {llmtest.Gate(nil, gate, llmtest.Calls(call("look"))), llmtest.Text("done"),
					llmtest.Text("more")},
			})})
		ctx, cancel := context.WithTimeout(within(t.Context(), "first"), 1<<40)
		if _, err := h.Submit(ctx, "go"); err != nil {
			t.Fatal(err)
		}
		cancel()
		close(gate)
		synctest.Wait()
		if _, err := h.Submit(within(t.Context(), "second"), "go on"); err != nil {
			t.Fatal(err)
		}
		want := []string{"/first/spawn_agent step 1 false <nil>", "/first/spawn_agent/look tool false <nil>",
			"/first/spawn_agent step 2 false <nil>",
			"/first/spawn_agent stop false <nil>", "/second/send_input step 3 false <nil>",
			"/second/send_input stop false <nil>"}
		if !slices.Equal(seen, want) {
			t.Errorf("the agent saw\n%s, want\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
		}
	})
}

// spans is a middleware that gives each call a span of its own.
func spans(next tool.Handler) tool.Handler {
	return func(ctx context.Context, c *tool.Call) (tool.Result, error) { return next(within(ctx, c.Name), c) }
}
