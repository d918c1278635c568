package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

// setPolicy sets a changed policy on a session.
func setPolicy(t *testing.T, h *host, change func(*agent.Policy)) {
	t.Helper()
	p := h.Policy()
	change(&p)
	set(t, h, agent.Settings{Policy: &p})
}

// policySetter returns a tool that changes the policy.
func policySetter(t *testing.T, h **host, change func(*agent.Policy)) tool.Tool {
	return newTool("set", writes, func(context.Context, *tool.Call) (tool.Result, error) {
		setPolicy(t, *h, change)
		return tool.Text("ok"), nil
	})
}

// Limits that are set while the session runs apply at the next decision: a lower one ends the input
// in order, a higher one lets it continue.
func TestJ10_LimitsWhileRunning(t *testing.T) {
	for name, c := range map[string]struct {
		before agent.Policy
		change func(*agent.Policy)
		reason agent.Reason
		value  float64
		turns  int
	}{
		"fewer turns": {agent.Policy{}, func(p *agent.Policy) { p.MaxTurns = 2 }, agent.ReasonMaxTurns, 2, 2},
		"more turns": {agent.Policy{MaxTurns: 2}, func(p *agent.Policy) { p.MaxTurns = 0 },
			agent.ReasonCompleted, 0, 3},
		"fewer rounds": {agent.Policy{MaxToolRounds: 9}, func(p *agent.Policy) { p.MaxToolRounds = 1 },
			agent.ReasonMaxToolRounds, 1, 1},
		"more rounds": {agent.Policy{MaxToolRounds: 1}, func(p *agent.Policy) { p.MaxToolRounds = 0 },
			agent.ReasonCompleted, 0, 3},
		"a budget": {agent.Policy{}, func(p *agent.Policy) { p.Budget.Tokens = 1 }, agent.ReasonBudgetTokens,
			1, 1},
		"a larger budget": {agent.Policy{Budget: agent.Budget{Tokens: 8_000}},
			func(p *agent.Policy) { p.Budget.Tokens = 60_000 }, agent.ReasonCompleted, 0, 3},
		"a last text": {agent.Policy{}, func(p *agent.Policy) {
			p.MaxTurns, p.OnLimit = 2,
				agent.SummarizeOnLimit
		}, agent.ReasonMaxTurns, 2, 2},
		"nothing different": {agent.Policy{}, func(*agent.Policy) {}, agent.ReasonCompleted, 0, 3},
	} {
		t.Run(name, func(t *testing.T) {
			var h *host
			h = open(t, setup{tools: []tool.Tool{echo("work"), policySetter(t, &h, c.change)},
				options: agent.Options{Policy: c.before},
				steps: []llmtest.Step{answerWithUsage(2_000, 1_000, call("set")),
					answerWithUsage(2_000, 1_000, call("work")), llmtest.Text("done")}})
			r := h.submit(t, "go", c.reason)
			if r.Turns != c.turns {
				t.Errorf("%d turns, want %d", r.Turns, c.turns)
			}
			if limits := only[*agent.TurnLimit](h); c.value != 0 && (len(limits) != 1 || limits[0].Value != c.value) {
				t.Errorf("the limits are %+v, want %v", limits, c.value)
			}
			if c.before.OnLimit != h.Policy().OnLimit && r.Text != "done" {
				t.Errorf("the last text is %q", r.Text)
			}
		})
	}
}

// An input that a budget has ended continues with a larger one, and a resumed session has the new
// limit.
func TestJ10_RaisedBudgetGoesOn(t *testing.T) {
	log := new(journal.Memory)
	h := open(t, setup{tools: []tool.Tool{echo("work")}, options: agent.Options{Journal: log,
		Policy: agent.Policy{Budget: agent.Budget{Tokens: 2_000}}},
		steps: []llmtest.Step{answerWithUsage(1_500, 400, call("work")), llmtest.Text("done")}})
	h.submit(t, "go", agent.ReasonBudgetTokens)
	setPolicy(t, h, func(p *agent.Policy) { p.Budget.Tokens = 20_000 })
	r, err := h.Continue(context.Background())
	if err != nil || r.Reason != agent.ReasonCompleted || r.Text != "done" {
		t.Errorf("after the budget was raised: %+v, %v", r, err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	state, err := agent.Load(context.Background(), log)
	if err != nil || state.Policy.Budget.Tokens != 20_000 || state.Policy.Continues != 2 {
		t.Errorf("the journal has %+v, %v", state.Policy, err)
	}
	checkReplay(t, log, h.events)
}

// A time budget that is set during a call ends the call or gives it more time.
func TestJ10_TimeBudgetWhileRunning(t *testing.T) {
	for name, c := range map[string]struct {
		before, then time.Duration
		reason       agent.Reason
		took         time.Duration
	}{
		"none, then a short one":     {0, 5 * time.Minute, agent.ReasonBudgetTime, 5 * time.Minute},
		"none, then less than used":  {0, time.Second, agent.ReasonBudgetTime, time.Minute},
		"a short one, then a longer": {5 * time.Minute, time.Hour, agent.ReasonCompleted, 30 * time.Minute},
		"a short one, then none":     {5 * time.Minute, 0, agent.ReasonCompleted, 30 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				h := open(t, setup{options: agent.Options{Policy: agent.Policy{Budget: agent.Budget{Time: c.before}}},
					steps: []llmtest.Step{llmtest.Func(func(ctx context.Context, _ *llm.Request) llmtest.Step {
						select {
						case <-ctx.Done():
							return llmtest.Error(context.Cause(ctx))
						case <-time.After(30 * time.Minute):
						}
						return llmtest.Text("done")
					})}})
				time.AfterFunc(time.Minute,
					func() { setPolicy(t, h, func(p *agent.Policy) { p.Budget.Time = c.then }) })
				h.submit(t, "go", c.reason)
				if took := time.Since(began); took != c.took {
					t.Errorf("it took %v, want %v", took, c.took)
				}
			})
		})
	}
}

// A subagent has its session's limits at the time of its start.
func TestJ10_PolicyOfChildren(t *testing.T) {
	var h *host
	h = openSpawning(t, agent.Options{}, map[string][]llmtest.Step{
		"go": {llmtest.Calls(call("set")), llmtest.Calls(spawn("part")), llmtest.Calls(wait("agent-1")),
			llmtest.Text("done")},
		"part": slices.Repeat([]llmtest.Step{llmtest.Calls(call("work"))}, 9),
	}, echo("work"), policySetter(t, &h, func(p *agent.Policy) { p.MaxTurns = 4 }))
	h.submit(t, "go", agent.ReasonCompleted)
	if n := len(h.requests("part")); n != 4 {
		t.Errorf("the agent made %d model calls", n)
	}
	wantOutputs(t, h, "ok", "running", "stopped before it had finished: max_turns")
}

// A running subagent shares a token budget that its session gets later.
func TestJ10_BudgetOfRunningChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		h := openSpawning(t, agent.Options{}, map[string][]llmtest.Step{
			"go":   {llmtest.Calls(spawn("part")), llmtest.Text("done")},
			"part": {llmtest.Gate(nil, gate, llmtest.Calls(call("work"))), llmtest.Text("never")},
		}, echo("work"))
		h.submit(t, "go", agent.ReasonCompleted)
		synctest.Wait() // the agent's first call, which has no budget yet, now waits at the gate
		setPolicy(t, h, func(p *agent.Policy) { p.Budget.Tokens = 1 })
		close(gate)
		synctest.Wait()
		limit, _ := only[*agent.SubagentEvent](h)[len(only[*agent.SubagentEvent](h))-2].Event.(*agent.TurnLimit)
		if limit == nil || limit.Limit != agent.ReasonBudgetTokens || limit.Value != 1 || len(h.requests("part")) != 1 {
			t.Errorf("the agent ended at %+v after %d model calls", limit, len(h.requests("part")))
		}
	})
}

// A result schema that is set while the session runs adds the tool for the result, which goes away
// with the policy.
func TestJ10_ResultWhileRunning(t *testing.T) {
	final := llmtest.Call("final_result", `{"n":1}`)
	h := open(t, setup{tools: []tool.Tool{echo("work")}, steps: []llmtest.Step{llmtest.Text("hello"),
		llmtest.Calls(final), llmtest.Calls(final), llmtest.Text("as text")}})
	h.submit(t, "go", agent.ReasonCompleted)
	setPolicy(t, h, func(p *agent.Policy) {
		p.Result = &agent.ResultPolicy{Schema: json.RawMessage(
			`{"type": "object", "properties": {"n": {"type": "integer"}}}`)}
	})
	if r := h.submit(t, "a number", agent.ReasonDone); r.Text != `{"n":1}` {
		t.Errorf("the result is %q", r.Text)
	}
	setPolicy(t, h, func(p *agent.Policy) { p.Result = nil })
	if r := h.submit(t, "a text", agent.ReasonCompleted); r.Text != "as text" {
		t.Errorf("the result is %q", r.Text)
	}
	wantOutputs(t, h, "taken", "give the result as text")
}

// An invalid policy is refused and changes nothing.
func TestJ10_InvalidPolicy(t *testing.T) {
	h := open(t, setup{models: window(1_000)})
	was := h.Policy()
	for name, c := range map[string]struct {
		change func(*agent.Policy)
		want   string
	}{
		"negative": {func(p *agent.Policy) { p.MaxTurns, p.Budget.USD = -1, -1 },
			"Settings.Policy.Budget.USD, Settings.Policy.MaxTurns cannot be negative"},
		"an unknown limit": {func(p *agent.Policy) { p.OnLimit = "x" }, "Settings.Policy.OnLimit"},
		"confirms without a hook": {func(p *agent.Policy) { p.MaxConfirms = 1 },
			"Settings.Policy.MaxConfirms limits Options.BeforeStop"},
		"an unknown provider": {func(p *agent.Policy) { p.Compaction.Provider = "elsewhere" },
			`the provider of Settings.Policy.Compaction: unknown provider "elsewhere"`},
		"a fallback nowhere": {func(p *agent.Policy) {
			p.Fallbacks.Models = []agent.FallbackModel{{Provider: "elsewhere", Model: "m"}}
		}, "Settings.Policy.Fallbacks.Models[0]"},
		"dollars without prices": {func(p *agent.Policy) { p.Budget.USD = 1 }, "the prices are not known of the model"},
		"a result that is no object": {func(p *agent.Policy) {
			p.Result = &agent.ResultPolicy{Schema: json.RawMessage(
				`{"type":"string"}`)}
		}, "Settings.Policy.Result.Schema"},
		"a threshold above the whole": {func(p *agent.Policy) { p.Compaction.Threshold = 2 },
			"Settings.Policy.Compaction.Threshold"},
	} {
		p := h.Policy()
		c.change(&p)
		if err := h.Set(context.Background(), agent.Settings{Policy: &p}); err == nil || !strings.Contains(err.Error(),
			c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		if now := h.Policy(); now.MaxTurns != was.MaxTurns || now.Result != nil || now.Window != 1_000 ||
			len(now.Fallbacks.Models) != 0 {
			t.Errorf("%s: the policy is %+v", name, now)
		}
	}
}

// brokenProvider panics when it is asked for its name or its formats, once it is armed.
type brokenProvider struct {
	llm.Provider
	armed *atomic.Bool
	name  bool // the name panics, not FormatsWithTools
}

func (p brokenProvider) Name() string {
	if p.name && p.armed.Load() {
		panic("no name")
	}
	return p.Provider.Name()
}

func (p brokenProvider) FormatsWithTools(string) bool {
	if !p.name && p.armed.Load() {
		panic("no formats")
	}
	return true
}

// A provider that panics while a policy is set ends the session with a HostError. It neither panics
// in the host nor keeps a lock.
func TestJ10_PolicyOfABrokenProvider(t *testing.T) {
	for _, name := range []bool{true, false} {
		var armed atomic.Bool
		h := open(t, setup{fails: true, silent: true, wrap: func(p llm.Provider) llm.Provider {
			return brokenProvider{p, &armed, name}
		}})
		p := h.Policy()
		p.Fallbacks.Models = []agent.FallbackModel{{Provider: "test", Model: "model-2"}}
		p.Result = &agent.ResultPolicy{Schema: json.RawMessage(`{"type": "object"}`)}
		armed.Store(true)
		_ = h.Set(context.Background(), agent.Settings{Policy: &p}) // it may be set before the session ends
		var broken *agent.HostError
		if err := h.Close(); !errors.As(err, &broken) || !strings.Contains(err.Error(), "no name") &&
			!strings.Contains(err.Error(), "no formats") {
			t.Errorf("Close: %v", err)
		}
	}
}
