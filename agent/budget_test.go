package agent_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

// pricedModel returns a lookup of a model that costs a dollar for a million tokens of input and ten
// for a million of output.
func pricedModel(maxOutput int) llm.Lookup {
	return model(llm.Model{MaxOutput: maxOutput, Prices: []llm.Price{{Input: 1, Output: 10}}})
}

// openSpending opens a session that never ends by itself: every answer uses the given tokens and
// makes a call.
func openSpending(t *testing.T, in, out int, models llm.Lookup, o agent.Options) *host {
	t.Helper()
	return open(t, setup{models: models, tools: []tool.Tool{echo("work")}, options: o,
		steps: slices.Repeat([]llmtest.Step{answerWithUsage(in, out, call("work"))}, 99)})
}

// All calls together stay within the token budget, because the largest possible call is reserved
// before it is made.
func TestA18_TokenBudget(t *testing.T) {
	h := openSpending(t, 1000, 500, model(llm.Model{MaxOutput: 500}),
		agent.Options{Policy: agent.Policy{Budget: agent.Budget{Tokens: 10_000}}})
	result := h.submit(t, "go", agent.ReasonBudgetTokens)
	if total := result.Usage.Total(); total > 10_000 || total < 7_500 || result.Usage != h.Usage() {
		t.Errorf("used %d of 10000", total)
	}
	if l := only[*agent.TurnLimit](h); len(l) != 1 || l[0].Limit != agent.ReasonBudgetTokens || l[0].Value != 10_000 {
		t.Errorf("%+v", l)
	}
	if h.Status() != agent.StatusIdle || !strings.HasSuffix(h.kinds(),
		"TOOL_CALL_END WARNING TURN_LIMIT PROCESSING_END") {
		t.Errorf("%s, events %s", h.Status(), h.kinds())
	}
	asked := len(h.model.Requests())
	h.submit(t, "more", agent.ReasonBudgetTokens)
	if len(h.model.Requests()) != asked {
		t.Error("the model was called beyond the budget")
	}
}

// A budget that does not have the next call says what that takes, also before the first one.
func TestX4_ABudgetSaysWhatACallTakes(t *testing.T) {
	h := open(t, setup{models: pricedModel(2_000),
		steps:   []llmtest.Step{answerWithUsage(1, 1, llm.Text{Text: "never"})},
		options: agent.Options{Policy: agent.Policy{Budget: agent.Budget{USD: 0.001}}}})
	h.submit(t, strings.Repeat("many words ", 400), agent.ReasonBudgetUSD)
	warned := only[*agent.Warning](h)
	if len(warned) != 1 || warned[0].Code != "over_budget" {
		t.Fatalf("%+v", warned)
	}
	var model string
	var least, request, written int
	var usd float64
	if _, err := fmt.Sscanf(warned[0].Text, "The next call of %s needs at least %d tokens, or $%f: about %d for the "+
		"request and %d for an answer.",
		&model, &least, &usd, &request, &written); err != nil {
		t.Fatalf("%v: %s", err, warned[0].Text)
	}
	if least != request+written || written != 512 || request < 1000 ||
		math.Abs(usd-(float64(request)+10*512)/1e6) > 0.0001 {
		t.Error(warned[0].Text)
	}
}

// Near its end the budget shortens answers, until an answer would be too short to be useful.
func TestA18_ShortensTheLastAnswers(t *testing.T) {
	h := openSpending(t, 100, 500, model(llm.Model{MaxOutput: 2_000}),
		agent.Options{Policy: agent.Policy{Budget: agent.Budget{Tokens: 3_200}}})
	h.submit(t, "go", agent.ReasonBudgetTokens)
	var most []int
	for _, r := range h.model.Requests() {
		most = append(most, r.MaxTokens)
	}
	if len(most) < 3 || most[0] != 0 || !slices.IsSortedFunc(most[2:], func(a, b int) int { return b - a }) ||
		most[len(most)-1] < 512 {
		t.Errorf("asked for at most %v", most)
	}
	for i, n := range most[1:] {
		if left := 3_200 - 600*(i+1); n > 0 && n > left-100 {
			t.Errorf("request %d may take %d of the %d that are left", i+1, n, left)
		}
	}
}

// A model with a smaller output limit is not refused for tokens that it can never write.
func TestA18_SmallAnswers(t *testing.T) {
	h := openSpending(t, 100, 50, nil, agent.Options{Request: agent.RequestOptions{MaxTokens: 100},
		Policy: agent.Policy{Budget: agent.Budget{Tokens: 1_000}}})
	if result := h.submit(t, "go", agent.ReasonBudgetTokens); result.Turns < 5 {
		t.Errorf("%+v", result)
	}
}

// All calls together stay within the money budget, and the events have the cost.
func TestA18_MoneyBudget(t *testing.T) {
	h := openSpending(t, 10_000, 1_000, pricedModel(1_000),
		agent.Options{Policy: agent.Policy{Budget: agent.Budget{USD: 0.1}}})
	result := h.submit(t, "go", agent.ReasonBudgetUSD)
	if result.CostUSD > 0.1 || result.CostUSD < 0.06 || math.Abs(result.CostUSD-0.02*float64(result.Turns)) > 1e-9 {
		t.Errorf("%d turns cost %f", result.Turns, result.CostUSD)
	}
	if l := only[*agent.TurnLimit](h); len(l) != 1 || l[0].Limit != agent.ReasonBudgetUSD || l[0].Value != 0.1 {
		t.Errorf("%+v", l)
	}
	if end := only[*agent.ProcessingEnd](h)[0]; end.CostUSD != result.CostUSD {
		t.Errorf("%+v", end)
	}
}

// A budget that cannot be enforced is an error, before anything is sent.
func TestA18_BudgetsThatCannotBeKept(t *testing.T) {
	provider := llmtest.NewProvider("test", llmtest.Text("hi"))
	known := func(_, id string) (llm.Model, bool) {
		return llm.Model{Prices: []llm.Price{{Input: 1, Output: 1}}}, id == "known"
	}
	for name, c := range map[string]struct {
		o  agent.Options
		ok bool
	}{
		"known prices": {agent.Options{Model: "known",
			Policy: agent.Policy{Budget: agent.Budget{USD: 1}}}, true},
		"unknown prices": {agent.Options{Model: "unknown",
			Policy: agent.Policy{Budget: agent.Budget{USD: 1}}}, false},
		"unknown prices, but tokens": {agent.Options{Model: "unknown",
			Policy: agent.Policy{Budget: agent.Budget{USD: 1, Tokens: 1}}}, true},
		"unknown prices of the summary": {agent.Options{Model: "known",
			Policy: agent.Policy{Budget: agent.Budget{USD: 1}, Compaction: agent.CompactionPolicy{Model: "unknown"}}},
			false},
		"negative": {agent.Options{Model: "known",
			Policy: agent.Policy{Budget: agent.Budget{Tokens: -1}}}, false},
		"no money at all": {agent.Options{Model: "unknown",
			Policy: agent.Policy{Budget: agent.Budget{Time: time.Hour}}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			c.o.Client, c.o.Env, c.o.System = &llm.Client{Providers: []llm.Provider{provider}, Models: known},
				emptyEnv(t), "You are being tested."
			c.o.Provider = "test"
			s, err := agent.New(context.Background(), c.o)
			if (err == nil) != c.ok {
				t.Errorf("New: %v", err)
			}
			if s != nil {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// The end of the time budget ends a running model call, a tool or the wait for a retry. Time at
// rest does not count.
func TestA18_TimeBudget(t *testing.T) {
	slow := newTool("work", writes, func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
		<-ctx.Done()
		return tool.Result{}, context.Cause(ctx)
	})
	for name, step := range map[string]llmtest.Step{
		"a model call": llmtest.HangAfter(llm.Text{Text: "well"}),
		"a tool":       llmtest.Calls(call("work")),
		"a wait":       llmtest.Error(&llm.Error{Kind: llm.ErrRateLimit, RetryAfter: 59 * time.Second}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hello := llmtest.Func(func(context.Context, *llm.Request) llmtest.Step {
					time.Sleep(20 * time.Second)
					return llmtest.Text("hello")
				})
				h := open(t, setup{tools: []tool.Tool{slow}, steps: []llmtest.Step{hello, step},
					options: agent.Options{Policy: agent.Policy{Budget: agent.Budget{Time: time.Minute}}}})
				h.submit(t, "hi", agent.ReasonCompleted)
				time.Sleep(time.Hour)
				start := time.Now()
				h.submit(t, "go", agent.ReasonBudgetTime)
				if took := time.Since(start); took != 40*time.Second {
					t.Errorf("it went on for %v, want what the first input left of a minute", took)
				}
				if l := only[*agent.TurnLimit](h); len(l) != 1 || l[0].Limit != agent.ReasonBudgetTime ||
					l[0].Value != 60 {
					t.Errorf("%+v", l)
				}
				if h.Status() != agent.StatusIdle {
					t.Errorf("status %s", h.Status())
				}
				h.submit(t, "again", agent.ReasonBudgetTime)
			})
		})
	}
}

// If an interrupt comes before the end of the time budget, the reason is the interrupt.
func TestA18_InterruptBeforeTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, setup{steps: []llmtest.Step{llmtest.Hang()},
			options: agent.Options{Policy: agent.Policy{Budget: agent.Budget{Time: time.Minute}}}})
		time.AfterFunc(time.Second, h.Interrupt)
		h.submit(t, "go", agent.ReasonInterrupted)
	})
}

// Failed attempts and side calls count. The usage of a torn answer is not reported, so it is
// estimated.
func TestA18_CountsEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, setup{models: pricedModel(1_000), tools: []tool.Tool{echo("work")},
			options: agent.Options{Policy: agent.Policy{MaxToolRounds: 1, OnLimit: agent.SummarizeOnLimit,
				Compaction: agent.CompactionPolicy{KeepTurns: 1}, Budget: agent.Budget{Tokens: 100_000}}},
			steps: []llmtest.Step{llmtest.Torn(strings.Repeat("word", 100), llm.Errorf(llm.ErrStream, "cut")),
				llmtest.Error(llm.Errorf(llm.ErrOverloaded, "busy")),
				llmtest.Error(&llm.Error{Kind: llm.ErrServer, Usage: llm.Usage{Input: 30, Output: 3}}),
				answerWithUsage(1_000, 10, call("work")), answerWithUsage(2_000, 20, llm.Text{Text: "the end"}),
				answerWithUsage(4_000, 40, llm.Text{Text: "the summary"})}})
		result := h.submit(t, "go", agent.ReasonMaxToolRounds)
		torn := llm.Usage{Input: result.Usage.Input - 3_030, Output: 100}
		if want := (llm.Usage{Input: 3_030 + torn.Input, Output: 33 + 100}); result.Usage != want || torn.Input < 10 ||
			torn.Input > 100 {
			t.Errorf("usage %+v, want %+v and a little input of the torn answer", result.Usage, want)
		}
		if err := h.Compact(context.Background()); err != nil {
			t.Fatal(err)
		}
		if want := result.Usage.Add(llm.Usage{Input: 4_000, Output: 40}); h.Usage() != want {
			t.Errorf("usage %+v, want %+v", h.Usage(), want)
		}
		cost := float64(h.Usage().Input)/1e6 + float64(h.Usage().Output)/1e5
		if got := h.FoldedState().Cost; math.Abs(got-cost) > 1e-9 {
			t.Errorf("it cost %f, want %f", got, cost)
		}
	})
}

// A call that the host interrupts has begun, and is paid for.
func TestA18_CountsInterruptedCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, setup{steps: []llmtest.Step{llmtest.HangAfter(llm.Thinking{Text: strings.Repeat("hm", 40)}),
			llmtest.Hang()}})
		time.AfterFunc(time.Second, h.Interrupt)
		first := h.submit(t, "go", agent.ReasonInterrupted)
		if first.Usage.Input == 0 || first.Usage.Output != 20 {
			t.Errorf("usage %+v", first.Usage)
		}
		time.AfterFunc(time.Second, h.Interrupt)
		if second := h.submit(t, "go", agent.ReasonInterrupted); second.Usage.Input < first.Usage.Input ||
			second.Usage.Output != 0 {
			t.Errorf("usage of a call that was sent and never answered: %+v", second.Usage)
		}
	})
}

// A budget covers a session's whole life, including resumes. Time in which no process ran it does
// not count.
func TestA18_AfterAResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(journal.Memory)
		budget := agent.Budget{Tokens: 10_000, Time: time.Minute}
		work := llmtest.Func(func(ctx context.Context, _ *llm.Request) llmtest.Step {
			select {
			case <-time.After(11 * time.Second):
				return answerWithUsage(2_000, 1_000, call("work"))
			case <-ctx.Done():
				return llmtest.Hang()
			}
		})
		s := setup{models: model(llm.Model{MaxOutput: 1_000}), tools: []tool.Tool{echo("work")},
			steps:   slices.Repeat([]llmtest.Step{work}, 9),
			options: agent.Options{Policy: agent.Policy{Budget: budget}, Journal: log}}
		whole := open(t, s)
		if result := whole.submit(t, "go", agent.ReasonBudgetTokens); result.Turns != 3 {
			t.Fatalf("%+v", result)
		}
		records := all(t, log)
		time.Sleep(time.Hour)
		// without the end and the last round's result
		s.options.Journal = journal.NewMemory(records[:len(records)-3]...)
		rest := open(t, s)
		if result, err := rest.Continue(context.Background()); err != nil ||
			result.Reason != agent.ReasonBudgetTokens || result.Turns != 0 {
			t.Errorf("Continue = %+v, %v", result, err)
		}
		upTo := slices.IndexFunc(records, func(r journal.Record) bool { return r.Kind == "result" }) + 1
		s.options.Journal, s.options.Budget.Tokens = journal.NewMemory(records[:upTo]...), 0
		timed := open(t, s)
		start := time.Now()
		if result, err := timed.Continue(context.Background()); err != nil || result.Reason != agent.ReasonBudgetTime ||
			time.Since(start) != 49*time.Second {
			t.Errorf("Continue = %+v, %v after %v", result, err, time.Since(start))
		}
	})
}

// A model that writes as much as it may stays within every budget. A money budget needs a known
// price.
func TestA18_GreedyModel(t *testing.T) {
	for name, budget := range map[string]agent.Budget{
		"tokens": {Tokens: 20_000},
		"money":  {USD: 0.11},
		"both":   {Tokens: 20_000, USD: 0.11},
	} {
		t.Run(name, func(t *testing.T) {
			greedy := llmtest.Func(func(_ context.Context, req *llm.Request) llmtest.Step {
				most := req.MaxTokens
				if most == 0 {
					most = req.Facts.MaxOutput
				}
				return answerWithUsage(100*len(req.Messages), most, call("work"))
			})
			h := open(t, setup{models: pricedModel(3_000), tools: []tool.Tool{wideTool("work", 700)},
				options: agent.Options{Policy: agent.Policy{Budget: budget}},
				steps:   slices.Repeat([]llmtest.Step{greedy}, 99)})
			reason := agent.ReasonBudgetUSD
			if budget.USD == 0 {
				reason = agent.ReasonBudgetTokens
			}
			result := h.submit(t, "go", reason)
			if budget.Tokens > 0 && result.Usage.Total() > budget.Tokens || budget.USD > 0 &&
				(result.CostUSD > budget.USD || result.CostUSD < 0.8*budget.USD) {
				t.Errorf("used %d tokens and %f dollars", result.Usage.Total(), result.CostUSD)
			}
			asked := h.model.Requests()
			if last := asked[len(asked)-1].MaxTokens; last == 0 || last >= 3_000 {
				t.Errorf("the last answer might have %d tokens", last)
			}
		})
	}
}

// Side calls count against the budget like any other.
func TestA18_SideCallsCount(t *testing.T) {
	h := open(t, setup{models: model(llm.Model{MaxOutput: 600}),
		options: agent.Options{Policy: agent.Policy{Budget: agent.Budget{Tokens: 5_000},
			Compaction: agent.CompactionPolicy{KeepTurns: 1}}},
		steps: []llmtest.Step{answerWithUsage(100, 10, llm.Text{Text: "hello"}),
			answerWithUsage(4_500, 10, llm.Text{Text: "the summary"}), llmtest.Text("never")}})
	h.submit(t, "hi", agent.ReasonCompleted)
	if err := h.Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
	h.submit(t, "more", agent.ReasonBudgetTokens)
}

// A session may be resumed with a larger budget.
func TestA18_ResumeWithMore(t *testing.T) {
	log := new(journal.Memory)
	s := setup{models: model(llm.Model{MaxOutput: 600}), tools: []tool.Tool{echo("work")},
		steps:   slices.Repeat([]llmtest.Step{answerWithUsage(2_000, 600, call("work"))}, 9),
		options: agent.Options{Policy: agent.Policy{Budget: agent.Budget{Tokens: 3_000}}, Journal: log}}
	h := open(t, s)
	h.submit(t, "go", agent.ReasonBudgetTokens)
	s.options.Journal, s.options.Budget.Tokens = journal.NewMemory(all(t, log)...), 6_000
	rest := open(t, s)
	if result, err := rest.Continue(context.Background()); err != nil || result.Reason != agent.ReasonBudgetTokens ||
		result.Turns != 1 {
		t.Errorf("Continue = %+v, %v", result, err)
	}
	if l := only[*agent.TurnLimit](rest); len(l) != 1 || l[0].Value != 6_000 {
		t.Errorf("%+v", l)
	}
}

// Answers without reported usage still use up the budget.
func TestA18_UncountedAnswers(t *testing.T) {
	h := open(t, setup{models: model(llm.Model{MaxOutput: 512}), tools: []tool.Tool{wideTool("work", 400)},
		options: agent.Options{Policy: agent.Policy{Budget: agent.Budget{Tokens: 10_000}}},
		steps:   append(slices.Repeat([]llmtest.Step{answerWithoutUsage(call("work"))}, 30), llmtest.Text("never"))})
	h.submit(t, "go", agent.ReasonBudgetTokens)
}

// No summary is requested at the end of a budget: there is nothing left for it, and the input ends.
func TestA18_NoSummaryBeyondTheBudget(t *testing.T) {
	h := openSpending(t, 1000, 500, model(llm.Model{MaxOutput: 500}),
		agent.Options{Policy: agent.Policy{OnLimit: agent.SummarizeOnLimit, Budget: agent.Budget{Tokens: 3_000}}})
	before := h.submit(t, "go", agent.ReasonBudgetTokens)
	if n := len(h.model.Requests()); n != before.Turns {
		t.Errorf("%d requests for %d turns", n, before.Turns)
	}
}

// An error that has nothing to do with the budget is reported as a failure, not as a limit.
func TestA18_FailureIsNotALimit(t *testing.T) {
	h := open(t, setup{steps: []llmtest.Step{llmtest.Error(llm.Errorf(llm.ErrAuthentication, "no"))},
		options: agent.Options{Policy: agent.Policy{Budget: agent.Budget{Tokens: 10_000, Time: time.Minute}}}})
	if _, err := h.Submit(context.Background(), "go"); !errors.Is(err, llm.ErrAuthentication) {
		t.Errorf("Submit = %v", err)
	}
}
