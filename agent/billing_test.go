package agent_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

// The attempts of these tests: one with reported usage, one that broke off after 400 characters,
// one that the provider refused.
var (
	counts  = llmtest.Error(&llm.Error{Kind: llm.ErrServer, Usage: llm.Usage{Input: 3000, Output: 300}})
	torn    = llmtest.Torn(string(slices.Repeat([]byte("w"), 400)), llm.Errorf(llm.ErrStream, "cut"))
	refused = llmtest.Error(&llm.Error{Kind: llm.ErrOverloaded, Status: 529})
	invalid = llmtest.Error(&llm.Error{Kind: llm.ErrInvalidRequest, Status: 400,
		Usage: llm.Usage{Input: 50, Output: 5}})
)

// checkSpent compares the session's usage with the sum in its results, in its journal and in a
// resumed session.
func checkSpent(t *testing.T, h *host, log *journal.Memory, atLeast, atMost llm.Usage) {
	t.Helper()
	used := h.Usage()
	if used.Input < atLeast.Input || used.Output < atLeast.Output || used.Input > atMost.Input ||
		used.Output > atMost.Output {
		t.Errorf("used %+v, want %+v to %+v", used, atLeast, atMost)
	}
	state, err := agent.Load(context.Background(), log)
	if err != nil {
		t.Fatal(err)
	}
	cost := float64(used.Input)/1e6 + float64(used.Output)/1e5
	if state.Usage != used || math.Abs(state.Cost-cost) > 1e-9 {
		t.Errorf("the journal has %+v for %f, the session %+v for %f", state.Usage, state.Cost, used, cost)
	}
}

// The attempts of a compaction are billed, whether another attempt follows, none does, or the host
// interrupts it.
func TestI13_FailedCompactions(t *testing.T) {
	for name, c := range map[string]struct {
		steps       []llmtest.Step
		compactions int
		interrupt   bool
		output      int // of the side calls
		input       int
	}{
		"tried again": {[]llmtest.Step{counts, torn, refused, answerWithUsage(1000, 10, llm.Text{Text: "sum"})}, 1,
			false, 300 + 100 + 10, 4000},
		"given up":  {[]llmtest.Step{counts, invalid}, 0, false, 305, 3050},
		"no answer": {[]llmtest.Step{answerWithUsage(700, 7, llm.Text{Text: "  "})}, 0, false, 7, 700},
		"interrupted": {[]llmtest.Step{counts, llmtest.HangAfter(llm.Text{Text: "well, 'tis so"})}, 0, true, 304,
			3000},
		"never began":  {[]llmtest.Step{llmtest.Hang()}, 0, true, 0, 1},
		"never at all": {[]llmtest.Step{refused, refused, refused, refused, refused, refused}, 0, false, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := new(journal.Memory)
				h := open(t, setup{models: pricedModel(1_000), tools: []tool.Tool{echo("work")},
					options: agent.Options{Journal: log,
						Policy: agent.Policy{Compaction: agent.CompactionPolicy{KeepTurns: 1}}},
					steps: append([]llmtest.Step{answerWithUsage(100, 10, llm.Text{Text: "hello"})}, c.steps...)})
				h.submit(t, "go", agent.ReasonCompleted)
				ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
				defer cancel()
				if err := h.Compact(ctx); (err != nil) != c.interrupt || err != nil &&
					!errors.Is(err, context.DeadlineExceeded) {
					t.Fatal(err)
				}
				if n := len(only[*agent.Compaction](h)); n != c.compactions {
					t.Errorf("%d compactions", n)
				}
				estimated := 400 // estimated input of the attempts without reported usage
				if c.input == 0 {
					estimated = 0
				}
				checkSpent(t, h, log, llm.Usage{Input: 100 + c.input, Output: 10 + c.output},
					llm.Usage{Input: 100 + c.input + estimated, Output: 10 + c.output})
				if err := h.Close(); err != nil {
					t.Fatal(err)
				}
				checkReplay(t, log, h.events)
			})
		})
	}
}

// Attempts of side calls in the middle of an input are billed too: of the compaction for a full
// window, and of the last text at a limit.
func TestI13_FailedSideCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(journal.Memory)
		side := []llmtest.Step{torn, refused, answerWithUsage(2_000, 20, llm.Text{Text: "sum"}), counts, invalid}
		n := 0
		step := llmtest.Func(func(_ context.Context, req *llm.Request) llmtest.Step {
			if len(req.Tools) == 0 || req.ToolChoice.Mode == llm.ToolNone {
				n++
				return side[n-1]
			}
			return answerWithUsage(10, 1, call("print"))
		})
		h := open(t, setup{models: model(llm.Model{Window: size, MaxOutput: 1_000,
			Prices: []llm.Price{{Input: 1, Output: 10}}}), tools: []tool.Tool{printTool(34_000)},
			steps: slices.Repeat([]llmtest.Step{step}, 20), options: agent.Options{Journal: log,
				Policy: agent.Policy{MaxToolRounds: 2, OnLimit: agent.SummarizeOnLimit,
					Compaction: agent.CompactionPolicy{Threshold: 0.85}}}})
		result := h.submit(t, "go", agent.ReasonMaxToolRounds)
		if n != len(side) || result.Usage != h.Usage() {
			t.Errorf("%d side calls, %+v of %+v", n, result.Usage, h.Usage())
		}
		want := llm.Usage{Input: 20 + 2_000 + 3_000 + 50, Output: 2 + 100 + 20 + 300 + 5}
		checkSpent(t, h, log, want, want.Add(llm.Usage{Input: size / 2}))
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		checkReplay(t, log, h.events)
	})
}

// A call that failed without an answer is billed unless it was never sent or was refused.
func TestI13_CallsThatMayHaveBeenBilled(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		paid bool
	}{
		"the connection broke":      {&llm.Error{Kind: llm.ErrNetwork}, true},
		"no answer in time":         {&llm.Error{Kind: llm.ErrTimeout}, true},
		"broke off at once":         {&llm.Error{Kind: llm.ErrStream}, true},
		"broke off after headers":   {&llm.Error{Kind: llm.ErrStream, Status: 200}, true},
		"no connection":             {&llm.Error{Kind: llm.ErrNetwork, Unsent: true}, false},
		"no connection in time":     {&llm.Error{Kind: llm.ErrTimeout, Unsent: true}, false},
		"the provider's timeout":    {&llm.Error{Kind: llm.ErrTimeout, Status: 504}, false},
		"a bad key":                 {&llm.Error{Kind: llm.ErrAuthentication, Status: 401}, false},
		"something of a middleware": {errors.New("no"), false},
	} {
		t.Run(name, func(t *testing.T) {
			log := new(journal.Memory)
			h := open(t, setup{steps: []llmtest.Step{llmtest.Error(c.err)},
				options: agent.Options{Journal: log, Retry: llm.RetryPolicy{Max: -1}}})
			result, err := h.Submit(context.Background(), "a task of some length, for which something is paid")
			if err == nil {
				t.Fatalf("%+v", result)
			}
			if used := h.Usage(); (used.Input > 10) != c.paid || used.Output != 0 {
				t.Errorf("used %+v", used)
			}
			checkReplay(t, log, h.events)
		})
	}
}

// Failed attempts of a side call count against the budget.
func TestI13_FailedSideCallsCountAgainstTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, setup{models: model(llm.Model{MaxOutput: 1_000}),
			options: agent.Options{Policy: agent.Policy{Budget: agent.Budget{Tokens: 7_000},
				Compaction: agent.CompactionPolicy{KeepTurns: 1}}},
			steps: []llmtest.Step{answerWithUsage(100, 10, llm.Text{Text: "hello"}), counts, counts, counts}})
		h.submit(t, "go", agent.ReasonCompleted)
		if err := h.Compact(context.Background()); err != nil {
			t.Fatal(err)
		}
		if n := len(h.model.Requests()); n != 3 {
			t.Errorf("%d calls, want no third attempt of the compaction", n)
		}
		asked := h.Usage()
		h.submit(t, "more", agent.ReasonBudgetTokens)
		if h.Usage() != asked || asked.Total() != 110+6_600 {
			t.Errorf("used %+v", h.Usage())
		}
	})
}

// A budget reserves the price of a cache write for input, if that is dearer than a cache read.
func TestI13_ReservesTheHighestPrice(t *testing.T) {
	for name, c := range map[string]struct {
		price llm.Price
		calls int
	}{
		"cheap to write": {llm.Price{Input: 1, Output: 10}, 1},
		"dear to write":  {llm.Price{Input: 1, Output: 10, CacheWrite: 20}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := open(t, setup{models: model(llm.Model{MaxOutput: 1_000, Prices: []llm.Price{c.price}}),
				options: agent.Options{Policy: agent.Policy{Budget: agent.Budget{USD: 0.03}}},
				steps:   []llmtest.Step{answerWithUsage(10_000, 100, llm.Text{Text: "hello"})}})
			task := string(slices.Repeat([]byte("wort"), 10_000))
			result, err := h.Submit(context.Background(), task)
			if err != nil || len(h.model.Requests()) != c.calls {
				t.Errorf("%d calls: %+v, %v", len(h.model.Requests()), result, err)
			}
		})
	}
}

// The usage of a subagent is in the parent's journal while it still works, so a parent that was
// killed knows it after a resume.
func TestI13_KilledParentKnowsChildUsage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(journal.Memory)
		var left *journal.Memory // the journal after a kill in the middle of the child's second call
		h := openSpawning(t, agent.Options{Journal: log}, map[string][]llmtest.Step{
			"go": {answerWithUsage(100, 10, spawn("part")), answerWithUsage(200, 20, wait("agent-1")),
				answerWithUsage(400, 40, llm.Text{Text: "done"})},
			"part": {answerWithUsage(1_000, 100, call("work")),
				llmtest.Func(func(context.Context, *llm.Request) llmtest.Step {
					left = journal.NewMemory(all(t, log)...)
					return answerWithUsage(2_000, 200, llm.Text{Text: "ready"})
				})},
		}, echo("work"))
		h.submit(t, "go", agent.ReasonCompleted)
		if want := (llm.Usage{Input: 3_700, Output: 370}); h.Usage() != want {
			t.Errorf("used %+v, want %+v", h.Usage(), want)
		}
		state, err := agent.Load(context.Background(), left)
		if err != nil {
			t.Fatal(err)
		}
		if state.Usage.Input < 1_100 || state.Usage.Input > 1_300 {
			t.Errorf("after the kill the journal has %+v", state.Usage)
		}
	})
}
