package agent_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
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
)

// testLedger is a ledger that records its claims and answers as a test wants.
type testLedger struct {
	reserve func(ctx context.Context, c agent.Claim) (int, error) // if nil, everything is granted
	settle  func(ctx context.Context, c agent.Claim) error

	mu    sync.Mutex
	open  map[string]agent.Claim // by session
	lines []string
	took  agent.Spent
	wrong []string // violations of the contract
}

func (b *testLedger) Reserve(ctx context.Context, c agent.Claim) (int, error) {
	output, err := c.Output, error(nil)
	if b.reserve != nil {
		output, err = b.reserve(ctx, c)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, fmt.Sprintf("%s %d.%d", c.Caller.Purpose, c.Caller.Step, c.Caller.Attempt))
	if _, held := b.open[c.Caller.Session]; held {
		b.wrong = append(b.wrong, "a second claim of "+c.Caller.Session)
	}
	if c.Caller.Session == "" || c.Model == "" || c.Provider == "" || c.Input <= 0 || c.Least <= 0 ||
		c.Output < c.Least {
		b.wrong = append(b.wrong, fmt.Sprintf("a claim of %+v", c))
	}
	if err == nil {
		if b.open == nil {
			b.open = map[string]agent.Claim{}
		}
		c.Output = min(c.Output, output)
		b.open[c.Caller.Session] = c
	}
	return output, err
}

func (b *testLedger) Settle(ctx context.Context, c agent.Claim, took agent.Spent) error {
	if b.settle != nil {
		if err := b.settle(ctx, c); err != nil {
			return err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if held, ok := b.open[c.Caller.Session]; !ok || held != c {
		b.wrong = append(b.wrong, fmt.Sprintf("settled %+v, held %+v", c, held))
	}
	if err := ctx.Err(); err != nil {
		b.wrong = append(b.wrong, "settled with a context that has ended")
	}
	delete(b.open, c.Caller.Session)
	b.took.Usage = b.took.Usage.Add(took.Usage)
	b.took.USD += took.USD
	return nil
}

// check reports violations of the contract.
func (b *testLedger) check(t *testing.T) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.wrong) > 0 || len(b.open) > 0 {
		t.Errorf("%s; not settled: %+v", strings.Join(b.wrong, "\n"), b.open)
	}
}

// Every attempt of every kind is claimed before it is made and settled after it, one at a time,
// with the usage that the session reports.
func TestJ9_LedgerSeesEveryAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new(testLedger)
		h := open(t, setup{models: pricedModel(1_000), tools: []tool.Tool{echo("work")},
			options: agent.Options{Ledger: b, Policy: agent.Policy{MaxToolRounds: 1, OnLimit: agent.SummarizeOnLimit,
				Compaction: agent.CompactionPolicy{KeepTurns: 1}}},
			steps: []llmtest.Step{llmtest.Torn(strings.Repeat("word", 100), llm.Errorf(llm.ErrStream, "cut")),
				llmtest.Error(llm.Errorf(llm.ErrOverloaded, "busy")),
				answerWithUsage(1_000, 10, call("work")), answerWithUsage(2_000, 20, llm.Text{Text: "the end"}),
				answerWithUsage(4_000, 40, llm.Text{Text: "the summary"}), llmtest.HangAfter(llm.Text{Text: "well"})}})
		h.submit(t, "go", agent.ReasonMaxToolRounds)
		if err := h.Compact(context.Background()); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, h.Interrupt)
		h.submit(t, "go on", agent.ReasonInterrupted)
		b.check(t)
		if want := "turn 1.1, turn 1.2, turn 1.3, last_text 2.1, compaction 2.1, turn 2.1"; strings.Join(b.lines,
			", ") != want {
			t.Errorf("claims %s\nwant   %s", strings.Join(b.lines, ", "), want)
		}
		if b.took.Usage != h.Usage() || math.Abs(b.took.USD-h.FoldedState().Cost) > 1e-9 {
			t.Errorf("the ledger was told %+v, and the session used %+v for %f", b.took, h.Usage(),
				h.FoldedState().Cost)
		}
	})
}

// A refusal by the ledger ends the input like the session's own budget, and no model call is made.
// A partial grant limits the answer.
func TestJ9_LedgerRefuses(t *testing.T) {
	for _, limit := range []agent.Reason{agent.ReasonBudgetTokens, agent.ReasonBudgetUSD} {
		t.Run(string(limit), func(t *testing.T) {
			left := 2
			b := &testLedger{reserve: func(_ context.Context, c agent.Claim) (int, error) {
				if left--; left < 0 {
					return 0, &agent.OverBudget{Limit: limit, Value: 12.5}
				}
				return c.Output - 100, nil
			}}
			h := open(t, setup{models: pricedModel(2_000), tools: []tool.Tool{echo("work")},
				options: agent.Options{Ledger: b},
				steps:   slices.Repeat([]llmtest.Step{answerWithUsage(100, 10, call("work"))}, 9)})
			h.submit(t, "go", limit)
			if l := only[*agent.TurnLimit](h); len(l) != 1 || l[0].Limit != limit || l[0].Value != 12.5 {
				t.Errorf("%+v", l)
			}
			asked := h.model.Requests()
			if len(asked) != 2 || asked[0].MaxTokens != 1_900 || h.Status() != agent.StatusIdle {
				t.Errorf("%d calls, %s: %+v", len(asked), h.Status(), asked[0])
			}
			b.check(t)
		})
	}
}

// The session's own budget and the ledger both apply. A claim that one refuses is not kept by the
// other.
func TestJ9_LedgerAndOwnBudget(t *testing.T) {
	refuse := true
	b := &testLedger{reserve: func(_ context.Context, c agent.Claim) (int, error) {
		if refuse {
			return 0, &agent.OverBudget{Limit: agent.ReasonBudgetUSD, Value: 1}
		}
		return c.Output, nil
	}}
	h := open(t, setup{models: model(llm.Model{MaxOutput: 600}), tools: []tool.Tool{echo("work")},
		options: agent.Options{Ledger: b, Policy: agent.Policy{Budget: agent.Budget{Tokens: 2_000}}},
		steps:   slices.Repeat([]llmtest.Step{answerWithUsage(400, 300, call("work"))}, 9)})
	for range 4 { // the own budget would run out if each claim were kept
		h.submit(t, "go", agent.ReasonBudgetUSD)
	}
	refuse = false
	if result := h.submit(t, "go", agent.ReasonBudgetTokens); result.Turns != 2 {
		t.Errorf("%+v", result)
	}
	claims := len(b.lines)
	h.submit(t, "more", agent.ReasonBudgetTokens)
	if len(b.lines) != claims {
		t.Error("the ledger was asked for what the session's own budget refuses")
	}
	b.check(t)
}

// An error of the ledger fails the model call before it is sent. A retryable error is tried again.
func TestJ9_LedgerFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fail := []error{llm.Errorf(llm.ErrOverloaded, "busy"), llm.Errorf(llm.ErrNetwork, "no line"), nil,
			errors.New("no such fleet")}
		b := &testLedger{reserve: func(_ context.Context, c agent.Claim) (int, error) {
			err := fail[0]
			fail = fail[1:]
			return c.Output, err
		}}
		h := open(t, setup{fails: true, tools: []tool.Tool{echo("work")}, options: agent.Options{Ledger: b},
			steps: []llmtest.Step{answerWithUsage(10, 1, call("work"))}})
		result, err := h.Submit(context.Background(), "go")
		if err == nil || !strings.Contains(err.Error(), "no such fleet") || result.Reason != agent.ReasonFailed ||
			result.Turns != 1 {
			t.Errorf("Submit = %+v, %v", result, err)
		}
		if want := (llm.Usage{Input: 10, Output: 1}); result.Usage != want || len(h.model.Requests()) != 1 {
			t.Errorf("%+v for %d calls", result.Usage, len(h.model.Requests()))
		}
		if starts, ends := len(only[*agent.StepStart](h)), len(only[*agent.StepEnd](h)); starts != 2 || ends != 2 {
			t.Errorf("%d steps began and %d ended: %s", starts, ends, h.kinds())
		}
		b.check(t)
	})
}

// A ledger that breaks its contract does not break the session's contract.
func TestJ9_LedgerGrantsNonsense(t *testing.T) {
	for name, c := range map[string]struct {
		output int
		err    error
		ok     bool
	}{
		"too little":        {3, nil, false},
		"more than claimed": {1 << 40, nil, true},
		"an unknown limit":  {0, &agent.OverBudget{Limit: "month"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := &testLedger{reserve: func(context.Context, agent.Claim) (int, error) { return c.output, c.err }}
			h := open(t, setup{fails: !c.ok, models: model(llm.Model{MaxOutput: 600}),
				options: agent.Options{Ledger: b}, steps: []llmtest.Step{llmtest.Text("hi")}})
			_, err := h.Submit(context.Background(), "go")
			if asked := h.model.Requests(); (err == nil) != c.ok || c.ok != (len(asked) == 1) || c.ok &&
				asked[0].MaxTokens != 0 {
				t.Errorf("Submit = %v, %+v", err, asked)
			}
			b.check(t)
		})
	}
}

// A budget that buys more tokens than an int can count grants what is claimed.
func TestJ9_GrantOfAnEndlessBudget(t *testing.T) {
	c := agent.Claim{Input: 10, Output: 600, Least: 512, InputUSD: 1e-6, OutputUSD: 1e-6}
	for _, usd := range []float64{1e30, math.Inf(1)} {
		if output, err := (agent.Budget{USD: usd}).Grant(c, 0, 0); err != nil || output != c.Output {
			t.Errorf("a budget of %v USD grants %d, %v", usd, output, err)
		}
	}
	if output, err := (agent.Budget{USD: 550e-6}).Grant(c, 0, 0); err != nil || output < 539 || output > 540 {
		t.Errorf("a budget of 550 tokens grants %d, %v", output, err)
	}
}

// A call of the ledger that hangs ends with the input, and the session continues.
func TestJ9_LedgerHangs(t *testing.T) {
	for _, when := range []string{"Reserve", "Settle"} {
		t.Run(when, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				free := make(chan struct{})
				first := true
				hang := func() {
					if first {
						first = false
						<-free
					}
				}
				b := new(testLedger)
				if when == "Reserve" {
					b.reserve = func(_ context.Context, c agent.Claim) (int, error) {
						hang()
						return c.Output,
							errors.New("too late")
					}
				} else {
					b.settle = func(context.Context, agent.Claim) error { hang(); return errors.New("too late") }
				}
				h := open(t, setup{steps: []llmtest.Step{answerWithUsage(10, 1, llm.Text{Text: "hi"}),
					answerWithUsage(10, 1, llm.Text{Text: "hi"})}, options: agent.Options{Ledger: b}})
				time.AfterFunc(time.Minute, h.Interrupt)
				start := time.Now()
				result, err := h.Submit(context.Background(), "go")
				if took := time.Since(start); err != nil || took != time.Minute+2*time.Second {
					t.Errorf("Submit = %+v, %v after %v", result, err, took)
				}
				if w := h.warned(); !strings.Contains(w, map[string]string{"Reserve": "host_abandoned",
					"Settle": "ledger_failed"}[when]) {
					t.Errorf("warnings %q", w)
				}
				close(free)
				synctest.Wait()
				b.reserve, b.settle = nil, nil
				h.submit(t, "again", agent.ReasonCompleted)
			})
		})
	}
}

// A ledger that panics ends the session like a crash, and its journal can be resumed.
func TestJ9_LedgerPanics(t *testing.T) {
	for name, b := range map[string]*testLedger{
		"Reserve": {reserve: func(context.Context, agent.Claim) (int, error) { panic("broken") }},
		"Settle":  {settle: func(context.Context, agent.Claim) error { runtime.Goexit(); return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			log := new(journal.Memory)
			h := open(t, setup{fails: true, steps: []llmtest.Step{answerWithUsage(10, 1, llm.Text{Text: "hi"})},
				options: agent.Options{Journal: log, Ledger: b}})
			var broken *agent.HostError
			if _, err := h.Submit(context.Background(), "go"); !errors.As(err, &broken) ||
				broken.What != "Options.Ledger" {
				t.Errorf("Submit = %v", err)
			}
			again := open(t, setup{steps: []llmtest.Step{llmtest.Text("hello")},
				options: agent.Options{Journal: journal.NewMemory(all(t, log)...)}})
			again.submit(t, "again", agent.ReasonCompleted)
		})
	}
}

// Each subagent asks the ledger for itself.
func TestJ9_LedgerOfSubagents(t *testing.T) {
	b := new(testLedger)
	sessions := map[string]bool{}
	b.reserve = func(_ context.Context, c agent.Claim) (int, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		sessions[c.Caller.Session+" "+c.Caller.Agent] = true
		return c.Output, nil
	}
	h := openSpawning(t, agent.Options{Ledger: b}, map[string][]llmtest.Step{
		"go":   {llmtest.Calls(spawn("help")), llmtest.Calls(wait("agent-1")), llmtest.Text("done")},
		"help": {answerWithUsage(7, 3, llm.Text{Text: "helped"})}})
	h.submit(t, "go", agent.ReasonCompleted)
	b.check(t)
	if len(sessions) != 2 || b.took.Usage != h.Usage() {
		t.Errorf("sessions %v, and the ledger was told %+v of %+v", sessions, b.took.Usage, h.Usage())
	}
}
