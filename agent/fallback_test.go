package agent_test

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/attractor-go/attractor/tool/coding"
)

// fallbackHost is a session with the fallbacks two/model-2 and three/model-3, in that order.
type fallbackHost struct {
	*host
	two, three *llmtest.Provider
}

// openWithFallbacks opens a session with fallbacks that answer with the given steps.
func openWithFallbacks(t *testing.T, s setup, two, three []llmtest.Step) *fallbackHost {
	t.Helper()
	b := &fallbackHost{two: llmtest.NewProvider("two", two...), three: llmtest.NewProvider("three", three...)}
	s.more = []llm.Provider{b.two, b.three}
	if s.options.Fallbacks.Models == nil {
		s.options.Fallbacks.Models = []agent.FallbackModel{{Provider: "two", Model: "model-2"},
			{Provider: "three", Model: "model-3"}}
	}
	b.host = open(t, s)
	return b
}

// changes returns the changes of the model: from, to and why.
func (h *host) changes() string {
	var changes []string
	for _, e := range only[*agent.ModelChanged](h) {
		changes = append(changes, fmt.Sprintf("%s>%s:%s", e.From.Provider, e.To.Provider,
			first(e.ErrorKind, string(e.Reason))))
	}
	return strings.Join(changes, " ")
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func fails(kind error) llmtest.Step { return llmtest.Error(llm.Errorf(kind, "no luck")) }

var once = llm.RetryPolicy{Max: -1}

// Only failures that another model may not have lead to a fallback.
func TestJ13_Kinds(t *testing.T) {
	leads := []error{llm.ErrOverloaded, llm.ErrServer, llm.ErrQuota, llm.ErrRateLimit, llm.ErrNetwork, llm.ErrTimeout,
		llm.ErrStream}
	for _, kind := range []error{llm.ErrAuthentication, llm.ErrAccessDenied, llm.ErrNotFound, llm.ErrInvalidRequest,
		llm.ErrRateLimit, llm.ErrQuota,
		llm.ErrServer, llm.ErrOverloaded, llm.ErrContextLength, llm.ErrTimeout, llm.ErrNetwork, llm.ErrStream,
		llm.ErrConfiguration, llm.ErrNoObject, llm.ErrUnsupported} {
		t.Run(kind.Error(), func(t *testing.T) {
			b := openWithFallbacks(t, setup{steps: []llmtest.Step{fails(kind)}, options: agent.Options{Retry: once}},
				[]llmtest.Step{llmtest.Text("two")}, nil)
			result, err := b.Submit(context.Background(), "go")
			if slices.Contains(leads, kind) {
				if err != nil || result.Text != "two" || b.changes() != "test>two:"+kind.Error() {
					t.Errorf("%+v, %v, %s", result, err, b.changes())
				}
			} else if !errors.Is(err, kind) || b.changes() != "" || len(b.two.Requests()) > 0 {
				t.Errorf("%v, %s", err, b.changes())
			}
		})
	}
	b := openWithFallbacks(t, setup{steps: []llmtest.Step{fails(llm.ErrContentFilter)}}, nil, nil)
	if b.submit(t, "go", agent.ReasonRefused); b.changes() != "" {
		t.Error(b.changes())
	}
}

// A fallback that fails, for whatever reason, is followed by the next. The answer of the last one
// is in the history.
func TestJ13_NextFallback(t *testing.T) {
	for _, kind := range []error{llm.ErrOverloaded, llm.ErrAuthentication, llm.ErrNotFound, llm.ErrInvalidRequest,
		llm.ErrContextLength} {
		t.Run(kind.Error(), func(t *testing.T) {
			b := openWithFallbacks(t, setup{steps: []llmtest.Step{fails(llm.ErrServer)},
				options: agent.Options{Retry: once}}, []llmtest.Step{fails(kind)},
				[]llmtest.Step{llmtest.Text("three")})
			if got := b.submit(t, "go", agent.ReasonCompleted); got.Text != "three" ||
				b.changes() != "test>two:server two>three:"+kind.Error() {
				t.Errorf("%+v, %s", got, b.changes())
			}
			if turns := b.History(); turns[1].Message.Provider != "three" || turns[1].Message.Model != "model-3" {
				t.Errorf("the answer is of %s", turns[1].Message.Model)
			}
		})
	}
	b := openWithFallbacks(t, setup{steps: []llmtest.Step{fails(llm.ErrServer)}, options: agent.Options{Retry: once}},
		[]llmtest.Step{fails(llm.ErrContentFilter)}, nil)
	if b.submit(t, "go", agent.ReasonRefused); b.changes() != "test>two:server" {
		t.Error(b.changes())
	}
}

// If all models fail, the error and the event name each failure, in the order of the attempts.
func TestJ13_AllFailed(t *testing.T) {
	b := openWithFallbacks(t, setup{steps: []llmtest.Step{fails(llm.ErrOverloaded)},
		options: agent.Options{Retry: once}}, []llmtest.Step{fails(llm.ErrAuthentication)},
		[]llmtest.Step{fails(llm.ErrQuota)})
	result, err := b.Submit(context.Background(), "go")
	var all *agent.ModelsFailed
	const want = "every model failed: test/model-1: no luck (overloaded); two/model-2: no luck (authentication); " +
		"three/model-3: no luck (quota)"
	if !errors.As(err, &all) || len(all.Failures) != 3 || err.Error() != want || result.Reason != agent.ReasonFailed {
		t.Fatalf("%+v, %v", result, err)
	}
	for _, kind := range []error{llm.ErrOverloaded, llm.ErrAuthentication, llm.ErrQuota} {
		if !errors.Is(err, kind) {
			t.Errorf("%v is no %v", err, kind)
		}
	}
	var last *llm.Error
	if !errors.As(err, &last) || last.Kind != llm.ErrQuota {
		t.Errorf("%+v", last)
	}
	if e := only[*agent.Error](b.host); len(e) != 1 || e[0].Text != want || e[0].ErrorKind != "quota" {
		t.Errorf("%+v", e)
	}
}

// Each model gets all attempts. A Retry-After that is too long is not waited for.
func TestJ13_Attempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down, late := fails(llm.ErrServer), llm.Errorf(llm.ErrRateLimit, "later")
		late.RetryAfter = time.Hour
		begun := time.Now()
		b := openWithFallbacks(t, setup{steps: []llmtest.Step{down, down, down},
			options: agent.Options{Retry: llm.RetryPolicy{Max: 2}}},
			[]llmtest.Step{down, llmtest.Error(late)}, []llmtest.Step{down, down, llmtest.Text("three")})
		b.submit(t, "go", agent.ReasonCompleted)
		if took := time.Since(begun); took != 7*time.Second { // 1 s and 2 s, 1 s, 1 s and 2 s
			t.Errorf("waited %v", took)
		}
		var attempts []string
		for _, e := range only[*agent.StepEnd](b.host) {
			attempts = append(attempts, fmt.Sprintf("%s %d", e.FinishReason, e.Attempts))
		}
		if got := strings.Join(attempts, ", "); got != "error 3, error 2, stop 3" {
			t.Errorf("steps %s", got)
		}
		for _, p := range []*llmtest.Provider{b.model, b.two, b.three} {
			for i, r := range p.Requests() {
				if r.Caller.Attempt != i+1 || r.Caller.Step != 1 {
					t.Errorf("%s: %+v", r.Provider, r.Caller)
				}
			}
		}
	})
}

// The chosen model is asked again with the next input, or when the host's policy says so. Until
// then the fallback is asked.
func TestJ13_Return(t *testing.T) {
	for name, c := range map[string]struct {
		after time.Duration
		want  string // providers asked after the change, one answer each, with an hour between two inputs
		until string
	}{
		"with the next input": {0, "two two test test test", "input"},
		"after a time":        {90 * time.Minute, "two two two two test", "1h30m0s"},
		"in an input":         {time.Minute, "two test test test test", "1m0s"},
		"never":               {-1, "two two two two two", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				nap := newTool("nap", readOnly, func(context.Context, *tool.Call) (tool.Result, error) {
					time.Sleep(time.Minute)
					return tool.Text("slept"), nil
				})
				answers := func() []llmtest.Step { return slices.Repeat([]llmtest.Step{napThenEnd()}, 5) }
				log := new(journal.Memory)
				s := setup{steps: append([]llmtest.Step{fails(llm.ErrServer)}, answers()...), tools: []tool.Tool{nap},
					options: agent.Options{
						Journal: log, Retry: once,
						Policy: agent.Policy{Fallbacks: agent.FallbackPolicy{ReturnAfter: c.after}}}}
				b := openWithFallbacks(t, s, answers(), nil)
				b.submit(t, "nap", agent.ReasonCompleted)
				changed := only[*agent.ModelChanged](b.host)[0]
				if until := untilOf(changed); until != c.until {
					t.Errorf("until %q, want %q", until, c.until)
				}
				time.Sleep(time.Hour)
				b.submit(t, "nap", agent.ReasonCompleted)
				time.Sleep(time.Hour)
				b.submit(t, "go", agent.ReasonCompleted)
				var asked []string
				for _, turn := range b.History() {
					if turn.Kind == agent.TurnAssistant {
						asked = append(asked, turn.Message.Provider)
					}
				}
				if got := strings.Join(asked, " "); got != c.want {
					t.Errorf("asked %s, want %s", got, c.want)
				}
				if err := b.Close(); err != nil {
					t.Fatal(err)
				}
				checkReplay(t, log, b.events)
			})
		})
	}
}

// untilOf returns how long a fallback is to be asked.
func untilOf(e *agent.ModelChanged) string {
	switch {
	case e.UntilInput:
		return "input"
	case e.Until.IsZero():
		return ""
	}
	return e.Until.Sub(e.Time).String()
}

// napThenEnd answers each task that wants it with one call of nap.
func napThenEnd() llmtest.Step {
	return llmtest.Func(func(_ context.Context, req *llm.Request) llmtest.Step {
		if last := req.Messages[len(req.Messages)-1]; last.Role == llm.RoleUser && last.Parts.Text() == "nap" {
			return llmtest.Calls(call("nap"))
		}
		return llmtest.Text("done")
	})
}

// If a host sets a model while a fallback is asked, that model is chosen. Without a provider it
// belongs to the chosen provider.
func TestJ13_SetWins(t *testing.T) {
	two, other, effort := "two", "model-9", "high"
	for name, c := range map[string]struct {
		set  agent.Settings
		want string
	}{
		"a model":      {agent.Settings{Model: &other}, "test/model-9"},
		"the provider": {agent.Settings{Provider: pointer("test")}, "test/model-1"},
		"both":         {agent.Settings{Provider: &two, Model: &other}, "two/model-9"},
		"the effort":   {agent.Settings{Effort: &effort}, "two/model-2"},
	} {
		t.Run(name, func(t *testing.T) {
			o := agent.Options{Retry: once, Policy: agent.Policy{Fallbacks: agent.FallbackPolicy{ReturnAfter: -1}}}
			b := openWithFallbacks(t, setup{steps: []llmtest.Step{fails(llm.ErrServer), llmtest.Text("b"),
				fails(llm.ErrServer)}, options: o},
				[]llmtest.Step{llmtest.Text("a"), llmtest.Text("b"), llmtest.Text("c")}, nil)
			b.submit(t, "go", agent.ReasonCompleted)
			set(t, b.host, c.set)
			b.submit(t, "go", agent.ReasonCompleted)
			last := b.History()[3].Message
			if got := last.Provider + "/" + last.Model; got != c.want {
				t.Errorf("%s is asked, want %s", got, c.want)
			}
			if got := len(only[*agent.ModelChanged](b.host)); got != 1 {
				t.Errorf("%d changes", got)
			}
			if still := b.FoldedState().Fallback != nil; still != (name == "the effort") {
				t.Errorf("a fallback is asked: %v", still)
			}
		})
	}
	b := openWithFallbacks(t, setup{steps: []llmtest.Step{fails(llm.ErrServer)}, options: agent.Options{Retry: once}},
		[]llmtest.Step{llmtest.Text("a")}, nil)
	b.submit(t, "go", agent.ReasonCompleted)
	if err := b.Set(context.Background(), agent.Settings{Provider: &two}); err == nil {
		t.Error("another provider than the chosen one needs a model")
	}
}

func pointer(s string) *string { return &s }

// If the host sets a model during the last attempt of another one, the new model is asked before
// any fallback.
func TestJ13_SetDuringTheFailure(t *testing.T) {
	other := "model-9"
	b := openWithFallbacks(t, setup{options: agent.Options{Retry: once}}, nil, nil)
	b.model.Then(llmtest.Func(func(context.Context, *llm.Request) llmtest.Step {
		set(t, b.host, agent.Settings{Model: &other})
		return fails(llm.ErrServer)
	}), llmtest.Text("chosen"))
	if got := b.submit(t, "go", agent.ReasonCompleted); got.Text != "chosen" || b.changes() != "" ||
		b.model.Requests()[1].Model != other {
		t.Errorf("%+v, %s", got, b.changes())
	}
}

// A history that is too long for the fallback's window is compacted first, by the fallback.
func TestJ13_SmallerWindow(t *testing.T) {
	windows := map[string]int{"model-1": 100_000, "model-2": 2_000, "model-3": 100_000}
	models := func(_, id string) (llm.Model, bool) { return llm.Model{Window: windows[id]}, true }
	long := answerWithUsage(5_000, 10, llm.Text{Text: strings.Repeat("long ", 100)})
	o := agent.Options{Retry: once, Policy: agent.Policy{Compaction: agent.CompactionPolicy{Threshold: 0.8,
		KeepTurns: 1}}}
	b := openWithFallbacks(t, setup{models: models, steps: []llmtest.Step{long, fails(llm.ErrServer)}, options: o},
		[]llmtest.Step{llmtest.Text("a summary"), llmtest.Text("two")}, nil)
	b.submit(t, "go", agent.ReasonCompleted)
	if got := b.submit(t, "more", agent.ReasonCompleted); got.Text != "two" ||
		len(only[*agent.Compaction](b.host)) != 1 {
		t.Fatalf("%+v, %s", got, b.kinds())
	}
	if r := b.two.Requests(); len(r) != 2 || r[0].Caller.Purpose != agent.PurposeCompaction ||
		!strings.Contains(r[1].Messages[1].Parts.Text(), "a summary") {
		t.Errorf("%d requests", len(r))
	}
	if got := b.FoldedState().Policy.Window; got != 2_000 {
		t.Errorf("the window is %d", got)
	}
}

// A compaction that failed with the model that is down is tried again with the fallback.
func TestJ13_CompactionOfTheFallback(t *testing.T) {
	o := agent.Options{Retry: once, Policy: agent.Policy{Compaction: agent.CompactionPolicy{Threshold: 0.8,
		KeepTurns: 1}}}
	b := openWithFallbacks(t,
		setup{models: window(1_000), steps: []llmtest.Step{answerWithUsage(900, 10, llm.Text{Text: "long"}),
			fails(llm.ErrServer), fails(llm.ErrServer)},
			options: o}, []llmtest.Step{llmtest.Text("a summary"), llmtest.Text("two")}, nil)
	b.submit(t, "go", agent.ReasonCompleted)
	if got := b.submit(t, "more", agent.ReasonCompleted); got.Text != "two" ||
		len(only[*agent.Compaction](b.host)) != 1 || b.warned() != "compaction_failed" {
		t.Errorf("%+v, %s", got, b.kinds())
	}
}

// The largest cost of a fallback's call is reserved at its price. A fallback that could exceed the
// budget is not asked.
func TestJ13_Budget(t *testing.T) {
	prices := map[string]float64{"model-1": 1, "model-2": 100, "model-3": 1}
	models := func(_, id string) (llm.Model, bool) {
		return llm.Model{Window: 100_000, MaxOutput: 1_000,
			Prices: []llm.Price{{Input: prices[id], Output: prices[id]}}}, prices[id] > 0
	}
	ledger := new(testLedger)
	var claims []agent.Claim
	ledger.reserve = func(_ context.Context, c agent.Claim) (int, error) {
		claims = append(claims, c)
		return c.Output, nil
	}
	b := openWithFallbacks(t, setup{models: models, steps: []llmtest.Step{fails(llm.ErrServer)},
		options: agent.Options{Retry: once, Ledger: ledger}},
		[]llmtest.Step{answerWithUsage(10, 10, llm.Text{Text: "two"})}, nil)
	result := b.submit(t, "go", agent.ReasonCompleted)
	if ledger.check(t); len(claims) != 2 || claims[0].OutputUSD != 1e-6 || claims[1].OutputUSD != 100e-6 ||
		claims[1].Model != "model-2" {
		t.Errorf("claims %+v", claims)
	}
	if result.CostUSD != 20*100e-6 || ledger.took.USD != result.CostUSD {
		t.Errorf("cost %v, the ledger has %v", result.CostUSD, ledger.took.USD)
	}
	o := agent.Options{Retry: once, Policy: agent.Policy{Budget: agent.Budget{USD: 0.01}}}
	b = openWithFallbacks(t, setup{models: models, steps: []llmtest.Step{fails(llm.ErrServer)}, options: o},
		[]llmtest.Step{llmtest.Text("two")}, nil)
	if b.submit(t, "go", agent.ReasonBudgetUSD); len(b.two.Requests()) != 0 {
		t.Error("the fallback was asked beyond the budget")
	}
}

// Each model is asked for at most its own output limit.
func TestJ13_MaxTokens(t *testing.T) {
	most := map[string]int{"model-1": 9_000, "model-2": 4_000}
	models := func(_, id string) (llm.Model, bool) { return llm.Model{MaxOutput: most[id]}, true }
	b := openWithFallbacks(t, setup{models: models, steps: []llmtest.Step{fails(llm.ErrServer)},
		options: agent.Options{Retry: once, Request: agent.RequestOptions{MaxTokens: 8_000}}},
		[]llmtest.Step{llmtest.Text("two")}, nil)
	b.submit(t, "go", agent.ReasonCompleted)
	if one, two := b.model.Requests()[0].MaxTokens, b.two.Requests()[0].MaxTokens; one != 8_000 || two != 4_000 {
		t.Errorf("asked for %d and %d tokens", one, two)
	}
}

// A subagent starts with the current model, the fallbacks and the host's chosen model. A model of
// its own belongs to the chosen provider.
func TestJ13_Subagents(t *testing.T) {
	steps := byTask(map[string][]llmtest.Step{
		"go":   {fails(llm.ErrServer), llmtest.Text("never")},
		"part": {llmtest.Text("by the chosen one")},
	})
	two := byTask(map[string][]llmtest.Step{
		"go":   {llmtest.Calls(spawn("part")), llmtest.Calls(wait("agent-1")), llmtest.Text("done")},
		"part": {fails(llm.ErrOverloaded)},
	})
	o := agent.Options{Retry: once, Subagents: &agent.Subagents{}}
	o.Fallbacks.Models = []agent.FallbackModel{{Provider: "two", Model: "model-2"}}
	b := openWithFallbacks(t, setup{steps: steps, tools: coding.Agents(), options: o}, two, nil)
	b.submit(t, "go", agent.ReasonCompleted)
	wantOutputs(t, b.host, "running", `{"output":"by the chosen one","success":true,"turns_used":1}`)
	var inner []string
	for _, e := range only[*agent.SubagentEvent](b.host) {
		if e, ok := e.Event.(*agent.ModelChanged); ok {
			inner = append(inner, e.From.String()+">"+e.To.String())
		}
	}
	if got := strings.Join(inner, " "); got != "two/model-2>test/model-1" {
		t.Errorf("the subagent changed %s", got)
	}
}

// The list survives JSON and a resume. A session that stopped with a fallback continues with it,
// and returns to the chosen model as it would have.
func TestJ13_Resume(t *testing.T) {
	log := new(journal.Memory)
	o := agent.Options{Journal: log, Retry: once, Policy: agent.Policy{Window: 50_000, Fallbacks: agent.FallbackPolicy{
		Models: []agent.FallbackModel{{Provider: "two", Model: "model-2", Window: 9_000}}}}}
	b := openWithFallbacks(t, setup{steps: []llmtest.Step{fails(llm.ErrServer)}, options: o,
		tools: []tool.Tool{echo("work")}},
		[]llmtest.Step{llmtest.Calls(call("work")), fails(llm.ErrAuthentication)}, nil)
	b.model.Then(fails(llm.ErrServer))
	if _, err := b.Submit(context.Background(), "go"); err == nil {
		t.Fatal("no failure")
	}
	records := all(t, log)
	at := slices.IndexFunc(records, func(r journal.Record) bool { return r.Kind == "result" })
	o.Journal = journal.NewMemory(records[:at+1]...)
	rest := openWithFallbacks(t, setup{steps: []llmtest.Step{llmtest.Text("one")}, options: o,
		tools: []tool.Tool{echo("work")}}, []llmtest.Step{llmtest.Text("two")}, nil)
	if state := rest.FoldedState(); state.Policy.Window != 9_000 || state.Fallback == nil ||
		len(state.Policy.Fallbacks.Models) != 1 {
		t.Errorf("%+v, %+v", state.Policy, state.Fallback)
	}
	if o.Journal.Len() != int64(at+1) {
		t.Errorf("the resume wrote %d records", o.Journal.Len()-int64(at+1))
	}
	if start := rest.events[0].(*agent.SessionStart); start.Model != "model-2" {
		t.Errorf("%+v", start)
	}
	if result, err := rest.Continue(context.Background()); err != nil || result.Text != "two" || rest.changes() != "" {
		t.Errorf("%+v, %v, %s", result, err, rest.changes())
	}
	if got := rest.submit(t, "more", agent.ReasonCompleted); got.Text != "one" ||
		rest.changes() != "two>test:returned" {
		t.Errorf("%+v, %s", got, rest.changes())
	}
	if state := rest.FoldedState(); state.Policy.Window != 50_000 || state.Fallback != nil {
		t.Errorf("window %d, %+v", state.Policy.Window, state.Fallback)
	}
}

// Continue after a failure of all models starts with the chosen one again.
func TestJ13_StayOnFailure(t *testing.T) {
	o := agent.Options{Retry: once, Policy: agent.Policy{OnFailure: agent.StayOnFailure}}
	b := openWithFallbacks(t, setup{steps: []llmtest.Step{fails(llm.ErrServer), llmtest.Text("one")}, options: o},
		[]llmtest.Step{fails(llm.ErrServer)}, []llmtest.Step{fails(llm.ErrServer)})
	if _, err := b.Submit(context.Background(), "go"); !errors.As(err, new(*agent.ModelsFailed)) ||
		b.Status() != agent.StatusIdle {
		t.Fatal(err)
	}
	result, err := b.Continue(context.Background())
	if err != nil || result.Text != "one" || b.changes() != "test>two:server two>three:server three>test:returned" {
		t.Errorf("%+v, %v, %s", result, err, b.changes())
	}
}

// If a fallback's provider cannot combine a format with tools, the structured result is given by a
// tool from the start.
func TestJ13_StructuredResult(t *testing.T) {
	o := agent.Options{Retry: once, Policy: agent.Policy{Result: &agent.ResultPolicy{Schema: []byte(person)}}}
	s := setup{steps: []llmtest.Step{fails(llm.ErrServer)}, options: o, tools: []tool.Tool{echo("work")},
		wrap: formats}
	b := openWithFallbacks(t, s, []llmtest.Step{final(`{"name":"Ada","age":36}`)}, nil)
	if got := b.submit(t, "who?", agent.ReasonDone); got.Text != `{"name":"Ada","age":36}` ||
		b.model.Requests()[0].Format != nil {
		t.Errorf("%+v", got)
	}
}

// The model that writes summaries is one of the chosen provider's, also while a fallback of another
// provider is asked. Its price is looked up there.
func TestJ13_CompactionModelOfTheChosenProvider(t *testing.T) {
	o := agent.Options{Retry: once, Policy: agent.Policy{Compaction: agent.CompactionPolicy{Threshold: 0.8,
		KeepTurns: 1, Model: "small"}, Budget: agent.Budget{USD: 10}}}
	o.Fallbacks = agent.FallbackPolicy{ReturnAfter: -1}
	models := func(provider, id string) (llm.Model, bool) {
		return llm.Model{Window: 1_000, MaxOutput: 100, Prices: []llm.Price{{Input: 1, Output: 1}}},
			provider == "test" || id != "small"
	}
	b := openWithFallbacks(t, setup{models: models, steps: []llmtest.Step{fails(llm.ErrServer),
		llmtest.Text("a summary")}, options: o},
		[]llmtest.Step{answerWithUsage(900, 10, llm.Text{Text: "long"}), llmtest.Text("done")}, nil)
	b.submit(t, "go", agent.ReasonCompleted)
	low := "low"
	set(t, b.host, agent.Settings{Effort: &low})
	b.submit(t, "more", agent.ReasonCompleted)
	if asked := b.model.Requests(); len(asked) != 2 || asked[1].Model != "small" ||
		len(only[*agent.Compaction](b.host)) != 1 {
		t.Errorf("the chosen provider got %d requests; %s", len(asked), b.kinds())
	}
}
