package agent_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
)

// options returns the options of a process.
func (w *world) options(p *incarnation) agent.Options {
	policy := w.s.Policy
	p.ledger = &heldClaims{w: w, held: map[string]agent.Claim{}}
	o := agent.Options{Client: w.client(), Env: w.env, Profile: profile.Profile{Name: "test", Provider: "test",
		Model: "model-1", Tools: w.tools()},
		System: "You are being tested.", Retry: llm.RetryPolicy{Max: policy.Retries,
			Jitter: func() float64 { return 0 }}, OnEvent: p.hear, Journal: p.log,
		Ledger: p.ledger,
		Policy: agent.Policy{MaxToolRounds: policy.MaxRounds, MaxTurns: policy.MaxTurns,
			RequireDone: policy.RequireDone,
			OnFailure:   map[bool]agent.OnFailure{true: agent.StayOnFailure}[policy.StayOnFailure],
			Budget:      agent.Budget{Tokens: policy.Budget},
			Fallbacks:   fallbacksTo(policy.ReturnAfter, policy.Fallbacks...)},
		Questions: &agent.Questions{}}
	if policy.Summarize {
		o.OnLimit = agent.SummarizeOnLimit
	}
	if policy.Compaction {
		o.Compaction.Threshold = 0.5
	}
	if len(w.s.Agents) > 0 {
		o.Subagents = &agent.Subagents{Definitions: []agent.AgentDefinition{{Name: "reviewer",
			Tools: []string{"look", "change"}, Model: "model-2"},
			{Name: "other", Provider: "two", Model: "model-2", MaxTurns: 2, Instructions: "Be quick."}}}
	}
	if policy.History && p.before == 0 {
		o.History = []llm.Message{llm.User("before"),
			{Role: llm.RoleAssistant, Parts: llm.Parts{llm.Text{Text: "looking"}, llm.ToolCall{ID: "h", Name: "look",
				Args: "{}"}}},
			llm.ToolResults(llm.ToolResult{CallID: "h", Name: "look", Content: llm.TextParts("seen")}),
			llm.Assistant("it is there")}
	}
	w.hooks(&o)
	return o
}

// fallbacksTo returns a policy with a model of each provider.
func fallbacksTo(after time.Duration, providers ...string) agent.FallbackPolicy {
	p := agent.FallbackPolicy{ReturnAfter: after}
	for _, name := range providers {
		p.Models = append(p.Models, agent.FallbackModel{Provider: name, Model: "model-" + name})
	}
	return p
}

func (w *world) client() *llm.Client {
	c := &llm.Client{Models: func(provider, model string) (llm.Model, bool) {
		return llm.Model{ID: model, Window: map[string]int{"test": 2_000, "two": 1_500, "three": 4_000}[provider],
			MaxOutput: 500, Efforts: []string{"low", "high"}}, true
	}}
	for _, name := range []string{"test", "two", "three"} {
		c.Providers = append(c.Providers, llmtest.NewProvider(name, repeatStep(llmtest.Func(w.step), 200)...))
	}
	return c
}

// setPolicy changes a part of the policy while the session runs.
func (p *incarnation) setPolicy(what string) error {
	policy := p.Policy()
	switch what {
	case "limits":
		policy.MaxToolRounds, policy.MaxTurns = 1, 2
	case "more":
		policy.MaxToolRounds, policy.MaxTurns, policy.Budget = 0, 0, agent.Budget{}
	case "budget":
		policy.Budget.Tokens = 5_000
	case "time":
		policy.Budget.Time = 2 * time.Second
	case "fallbacks":
		policy.Fallbacks = fallbacksTo(20*time.Millisecond, "three", "two")
	case "no fallbacks":
		policy.Fallbacks = agent.FallbackPolicy{}
	case "compaction":
		policy.Compaction.Threshold = 0.4 - policy.Compaction.Threshold
	case "result":
		if policy.Result != nil {
			policy.Result = nil
			break
		}
		policy.Result = &agent.ResultPolicy{Schema: json.RawMessage(
			`{"type": "object", "properties": {"path": {"type": "string"}}}`)}
	}
	policy.Compaction.Threshold = max(policy.Compaction.Threshold, 0)
	return p.Set(context.Background(), agent.Settings{Policy: &policy})
}

// script returns the answers of the requesting agent, and the prefix of the ids of their calls.
func (w *world) script(req *llm.Request) (answers []modelAnswer, prefix string) {
	if req.Caller.Agent != "" {
		return w.s.Agents, "k"
	}
	return w.s.Answers, "c"
}

// step returns one answer of a model. It checks the request: each call has exactly one result,
// right after it, in order.
func (w *world) step(ctx context.Context, req *llm.Request) llmtest.Step {
	checkPairs(w, req.Messages)
	answers, prefix := w.script(req)
	w.mu.Lock()
	n := w.answered[prefix]
	w.answered[prefix]++
	w.mu.Unlock()
	a := answers[n%len(answers)]
	pause(ctx, a.Takes)
	switch {
	case ctx.Err() != nil:
		return llmtest.Error(llm.Errorf(llm.ErrAborted, "%v", context.Cause(ctx)))
	case n >= 3*len(answers): // enough
		return llmtest.Text("the end")
	case a.Fault != "" && (a.Again || n%2 == 0):
		return a.failure(n)
	}
	resp := llm.Response{Message: llm.Message{Parts: a.parts(req, prefix, n)}, Finish: llm.Finish{Reason: a.Finish}}
	if a.Counts {
		resp.Usage = llm.Usage{Input: 50 * len(req.Messages), Output: 20}
		if req.Caller.Agent == "" {
			w.mu.Lock()
			w.counted++
			w.mu.Unlock()
			resp.Usage.Reasoning = 1
		}
	}
	return llmtest.Respond(resp)
}

func (a *modelAnswer) failure(n int) llmtest.Step {
	err := llm.Errorf(llm.KindNamed(a.Fault), "broken")
	if a.Fault == "rejected" {
		err = llm.Errorf(llm.ErrInvalidRequest, "broken: %d", n)
		err.Rejected = &llm.Rejection{Message: 1 + n%7, Part: n%3 - 1}
	}
	if a.Fault == "too late" {
		err = llm.Errorf(llm.ErrRateLimit, "broken")
		err.RetryAfter = time.Hour
	}
	if a.Torn {
		return llmtest.Torn("half of it", err)
	}
	return llmtest.Error(err)
}

func (a *modelAnswer) parts(req *llm.Request, prefix string, n int) (parts []llm.Part) {
	if a.Text || len(a.Calls) == 0 && a.Finish == "" {
		parts = append(parts, llm.Text{Text: fmt.Sprint("text ", n)})
	}
	if req.ToolChoice.Mode == llm.ToolNone {
		return parts
	}
	for i, name := range a.Calls {
		args := fmt.Sprintf(`{"path":"p%d"}`, i%2)
		switch name {
		case "broken":
			name, args = "look", `{"path":`
		case "spawn":
			name, args = "spawn_agent", `{"task":"a part"}`
		case "spawn reviewer":
			name, args = "spawn_agent", `{"task":"a part","agent":"reviewer"}`
		case "spawn other":
			name, args = "spawn_agent", `{"task":"a part","agent":"other"}`
		case "wait":
			args = `{"agent_id":"agent-1"}`
		case "send":
			name, args = "send_input", `{"agent_id":"agent-1","message":"and that"}`
		case "close":
			name, args = "close_agent", `{"agent_id":"agent-2"}`
		}
		parts = append(parts, llm.ToolCall{ID: fmt.Sprintf("%s%d_%d", prefix, n, i), Name: name, Args: args})
	}
	return parts
}

// cuts records that an action may cut off a model call whose answer has arrived.
func (w *world) cuts(action string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = w.cut || slices.Contains([]string{"interrupt", "cancel", "abort", "close", "crash", "release",
		"release now", "take over", "time"}, action)
}

// checkUsage checks that the usage of each answer is counted once. The check is exact if no answer
// can have been cut off.
func (w *world) checkUsage(state *agent.State) {
	fenced := slices.ContainsFunc(w.s.Host.Fates, func(fate string) bool {
		return fate == "fence" || fate == "slow fence"
	})
	if got := state.Usage.Reasoning; got > w.counted || got < w.counted && !w.cut && !w.lost && !fenced {
		w.problem("the usage of %d answers is counted, want %d", got, w.counted)
	}
}

// checkFallbacks checks that a model that has failed for a call is not asked again as a fallback
// for the same call, unless the host has chosen a model.
func (w *world) checkFallbacks() {
	var asked agent.ModelName
	failed := map[agent.ModelName]bool{}
	for line := range w.log.Records(context.Background(), 1) {
		var r struct {
			Provider, Model string
			Return, Session bool
		}
		if err := json.Unmarshal(line.Data, &r); err != nil {
			continue // checkRecords has reported it, or it is of another kind
		}
		named := agent.ModelName{Provider: cmp.Or(r.Provider, asked.Provider), Model: cmp.Or(r.Model, asked.Model)}
		switch {
		case line.Kind == "header":
			asked = named
		case line.Kind == "setting" && r.Provider+r.Model != "":
			asked, failed = named, map[agent.ModelName]bool{}
		case line.Kind == "answer", line.Kind == "end" && !r.Session:
			failed = map[agent.ModelName]bool{}
		case line.Kind == "model":
			failed[asked] = !r.Return
			if asked = named; failed[asked] {
				w.problem("record %d asks %s again, which has failed", line.N, asked)
			}
		}
	}
}

// heldClaims is a ledger that checks the claims of one process: each session holds one at a time
// and settles it.
type heldClaims struct {
	w *world

	mu   sync.Mutex
	held map[string]agent.Claim
}

// Reserve implements [agent.Ledger].
func (l *heldClaims) Reserve(_ context.Context, c agent.Claim) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if held, ok := l.held[c.Caller.Session]; ok {
		l.w.problem("%+v is claimed while %+v is held", c, held)
	}
	l.held[c.Caller.Session] = c
	return c.Output, nil
}

// Settle implements [agent.Ledger].
func (l *heldClaims) Settle(_ context.Context, c agent.Claim, took agent.Spent) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if held, ok := l.held[c.Caller.Session]; !ok || held != c {
		l.w.problem("%+v is settled, held is %+v", c, held)
	}
	delete(l.held, c.Caller.Session)
	return nil
}

// checkSettled checks that nothing is held when the session has ended.
func (l *heldClaims) checkSettled(w *world) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.held {
		w.problem("%+v is still held at the end", c)
	}
}
