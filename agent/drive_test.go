package agent_test

import (
	"context"
	"errors"
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

func (h *host) begin(t *testing.T, prompt string) {
	t.Helper()
	if err := h.Begin(context.Background(), prompt); err != nil {
		t.Fatal(err)
	}
}

// step takes one step and returns its act.
func (h *host) step(t *testing.T) agent.Act {
	t.Helper()
	step, err := h.Advance(context.Background())
	if err != nil {
		t.Fatalf("%v: %v", step, err)
	}
	return step.Act
}

// steps takes steps until the session is at rest, and returns their acts.
func (h *host) steps(t *testing.T) string {
	t.Helper()
	var acts []string
	for {
		act := h.step(t)
		acts = append(acts, string(act))
		if act == agent.ActRest {
			return strings.Join(acts, " ")
		}
	}
}

// Nothing happens between two steps, and messages that the host sends there take effect.
func TestJ2_StepByStep(t *testing.T) {
	h := open(t, setup{tools: []tool.Tool{echo("work")},
		steps: []llmtest.Step{llmtest.Calls(call("work")), llmtest.Text("done"), llmtest.Text("more")}})
	if act := h.step(t); act != agent.ActRest || h.Result() != nil {
		t.Fatalf("a new session: %s, %+v", act, h.Result())
	}
	h.begin(t, "go")
	if len(h.model.Requests()) != 0 || h.Status() != agent.StatusProcessing || h.turns() != "user:user" {
		t.Errorf("after Begin: %d requests, %s, %s", len(h.model.Requests()), h.Status(), h.turns())
	}
	if err := h.Begin(context.Background(), "another"); !errors.Is(err, agent.ErrBusy) || !strings.Contains(err.Error(),
		"Advance") {
		t.Errorf("Begin with an open input: %v", err)
	}
	if act := h.step(t); act != agent.ActCallModel {
		t.Fatal(act)
	}
	if err := errors.Join(h.Steer(context.Background(), "look"), h.FollowUp(context.Background(),
		"and then")); err != nil {
		t.Fatal(err)
	}
	if len(only[*agent.ToolCallStart](h)) != 0 || h.Result() != nil {
		t.Errorf("%s, %+v", h.kinds(), h.Result())
	}
	if acts := h.steps(t); acts != "run_calls inject call_model end_input begin_input call_model end_input rest" {
		t.Error(acts)
	}
	if got := h.Result(); got == nil || got.Text != "more" || got.Reason != agent.ReasonCompleted || got.Turns != 1 ||
		got.Usage == (llm.Usage{}) {
		t.Errorf("%+v", got)
	}
	if h.Status() != agent.StatusIdle || h.step(t) != agent.ActRest {
		t.Errorf("at the end it is %s", h.Status())
	}
}

// Advance does not wait: it returns until when the host has to wait.
func TestJ2_WaitIsReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := llmtest.Error(&llm.Error{Kind: llm.ErrRateLimit, RetryAfter: 5 * time.Second})
		h := open(t, setup{steps: []llmtest.Step{busy, llmtest.Text("done")}})
		h.begin(t, "go")
		start := time.Now()
		h.step(t)
		for range 3 {
			step, err := h.Advance(context.Background())
			if err != nil || step.Act != agent.ActWait || !step.Until.Equal(start.Add(5*time.Second)) ||
				time.Since(start) != 0 {
				t.Fatalf("%v after %v, %v", step, time.Since(start), err)
			}
		}
		time.Sleep(5 * time.Second)
		if acts := h.steps(t); acts != "call_model end_input rest" || len(h.model.Requests()) != 2 {
			t.Errorf("%s, %d requests", acts, len(h.model.Requests()))
		}
	})
}

// An interrupt between two steps takes effect with the next one. At rest it has no effect.
func TestJ2_InterruptBetweenSteps(t *testing.T) {
	h := open(t, setup{tools: []tool.Tool{echo("work")},
		steps: []llmtest.Step{llmtest.Calls(call("work")), llmtest.Text("one"), llmtest.Text("two")}})
	h.Interrupt()
	h.begin(t, "go")
	if act := h.step(t); act != agent.ActCallModel {
		t.Fatal(act)
	}
	h.Interrupt()
	if acts := h.steps(t); acts != "run_calls end_input rest" || h.Result().Reason != agent.ReasonInterrupted ||
		len(only[*agent.ToolCallEnd](h)) != 1 {
		t.Errorf("%s, %+v, %s", acts, h.Result(), h.kinds())
	}
	if out := only[*agent.ToolCallEnd](h)[0]; !out.IsError {
		t.Errorf("%+v", out)
	}
	h.Interrupt()
	h.begin(t, "again")
	if acts := h.steps(t); acts != "call_model end_input rest" || h.Result().Reason != agent.ReasonCompleted {
		t.Errorf("%s, %+v", acts, h.Result())
	}
	h.Interrupt()
	h.submit(t, "and again", agent.ReasonCompleted)
}

// The end of a step's context, or an Interrupt during it, ends the input, even if the next step has
// another context.
func TestJ2_InterruptInAStep(t *testing.T) {
	work := newTool("work", writes, func(ctx context.Context, _ *tool.Call) (tool.Result, error) {
		<-ctx.Done()
		return tool.Text("cut short"), nil
	})
	for name, where := range map[string][]llmtest.Step{"a model call": {llmtest.HangAfter(llm.Text{Text: "well"})},
		"a tool": {llmtest.Calls(call("work"))}} {
		for _, by := range []string{"the context", "Interrupt"} {
			t.Run(name+" "+by, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h := open(t, setup{tools: []tool.Tool{work}, steps: where})
					h.begin(t, "go")
					ctx, cancel := context.WithCancelCause(context.Background())
					defer cancel(nil)
					why := errors.New("enough")
					time.AfterFunc(time.Second, func() {
						if by == "Interrupt" {
							h.Interrupt()
						} else {
							cancel(why)
						}
					})
					if name == "a tool" {
						h.step(t)
					}
					step, err := h.Advance(ctx)
					if by == "Interrupt" && err != nil || by != "Interrupt" && !errors.Is(err, why) {
						t.Fatalf("%v, %v", step, err)
					}
					if acts := h.steps(t); acts != "end_input rest" || h.Result().Reason != agent.ReasonInterrupted {
						t.Errorf("%s, %+v", acts, h.Result())
					}
					if by != "Interrupt" {
						if _, err := h.Advance(ctx); !errors.Is(err, why) {
							t.Errorf("with an ended context: %v", err)
						}
					}
				})
			})
		}
	}
}

// The time budget counts the time between two steps, and limits a wait.
func TestJ2_TimeBudget(t *testing.T) {
	for name, steps := range map[string][]llmtest.Step{
		"a call": {llmtest.Calls(call("work")), llmtest.HangAfter(llm.Text{Text: "well"})},
		"a wait": {llmtest.Calls(call("work")),
			llmtest.Error(&llm.Error{Kind: llm.ErrRateLimit, RetryAfter: 59 * time.Second})},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := open(t, setup{tools: []tool.Tool{echo("work")}, steps: steps,
					options: agent.Options{Policy: agent.Policy{Budget: agent.Budget{Time: time.Minute}}}})
				h.begin(t, "go")
				start := time.Now()
				h.step(t)
				time.Sleep(20 * time.Second)
				h.step(t)
				time.Sleep(20 * time.Second)
				for {
					step, err := h.Advance(context.Background())
					if err != nil {
						t.Fatal(err)
					}
					if step.Act == agent.ActRest {
						break
					}
					if step.Act == agent.ActWait {
						time.Sleep(time.Until(step.Until))
					}
				}
				if took := time.Since(start); took != time.Minute || h.Result().Reason != agent.ReasonBudgetTime {
					t.Errorf("%v, %+v", took, h.Result())
				}
			})
		})
	}
}

// A step that ends an input for a failure returns the failure once, and ends the session if Submit
// would.
func TestJ2_Failures(t *testing.T) {
	for _, policy := range []agent.OnFailure{agent.CloseOnFailure, agent.StayOnFailure} {
		t.Run("on failure "+string(policy), func(t *testing.T) {
			h := open(t, setup{steps: []llmtest.Step{llmtest.Error(llm.Errorf(llm.ErrAuthentication, "no")),
				llmtest.Text("done")}, options: agent.Options{Policy: agent.Policy{OnFailure: policy}}})
			h.begin(t, "go")
			h.step(t)
			step, err := h.Advance(context.Background())
			if !errors.Is(err, llm.ErrAuthentication) || step.Act != agent.ActEndInput ||
				step.Reason != agent.ReasonFailed || h.Result().Reason != agent.ReasonFailed {
				t.Fatalf("%v, %v, %+v", step, err, h.Result())
			}
			if policy == agent.CloseOnFailure {
				if _, err := h.Advance(context.Background()); !errors.Is(err, agent.ErrClosed) ||
					!errors.Is(err, llm.ErrAuthentication) {
					t.Errorf("Advance = %v", err)
				}
				if err := h.Begin(context.Background(), "again"); !errors.Is(err, agent.ErrClosed) ||
					h.Status() != agent.StatusClosed {
					t.Errorf("Begin = %v, %s", err, h.Status())
				}
				return
			}
			if act := h.step(t); act != agent.ActRest || h.Status() != agent.StatusIdle {
				t.Errorf("%s, %s", act, h.Status())
			}
			if result, err := h.Continue(context.Background()); err != nil || result.Text != "done" {
				t.Errorf("%+v, %v", result, err)
			}
		})
	}
}

// Only one goroutine can drive a session. Abort during a step ends the input and the session.
func TestJ2_BusyAndAborted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, setup{steps: []llmtest.Step{llmtest.Hang()}})
		h.begin(t, "go")
		time.AfterFunc(time.Second, func() {
			if _, err := h.Advance(context.Background()); !errors.Is(err, agent.ErrBusy) {
				t.Errorf("Advance = %v", err)
			}
			if err := h.Begin(context.Background(), "again"); !errors.Is(err, agent.ErrBusy) {
				t.Errorf("Begin = %v", err)
			}
			if _, err := h.Submit(context.Background(), "again"); !errors.Is(err, agent.ErrBusy) {
				t.Errorf("Submit = %v", err)
			}
			h.Abort()
		})
		if step, err := h.Advance(context.Background()); !errors.Is(err, agent.ErrAborted) ||
			h.Result().Reason != agent.ReasonAborted {
			t.Errorf("%v, %v, %+v", step, err, h.Result())
		}
		if !strings.HasSuffix(h.kinds(), " PROCESSING_END SESSION_END") || h.Status() != agent.StatusClosed {
			t.Errorf("%s, %s", h.kinds(), h.Status())
		}
	})
}

// Begin with the answer to a question works like Begin with a task.
func TestJ2_BeginAnswers(t *testing.T) {
	h := openAsking(t, &agent.Questions{}, nil, llmtest.Calls(ask("really?")), llmtest.Text("done"))
	h.begin(t, "go")
	if acts := h.steps(t); acts != "call_model run_calls end_input rest" ||
		h.Result().Reason != agent.ReasonAwaitingInput || h.Status() != agent.StatusAwaiting {
		t.Fatalf("%s, %+v, %s", acts, h.Result(), h.Status())
	}
	h.begin(t, "no")
	if acts := h.steps(t); acts != "call_model end_input rest" || h.results() != "no" || h.Result().Text != "done" {
		t.Errorf("%s, %s, %+v", acts, h.results(), h.Result())
	}
}

// Submit ends an input that was left open, and Continue continues it.
func TestJ2_SubmitAndContinueAfterAdvance(t *testing.T) {
	h := open(t, setup{tools: []tool.Tool{echo("work")},
		steps: []llmtest.Step{llmtest.Calls(call("work")), llmtest.Text("one"), llmtest.Text("two")}})
	h.begin(t, "go")
	h.step(t)
	if result, err := h.Continue(context.Background()); err != nil || result.Text != "one" {
		t.Fatalf("%+v, %v", result, err)
	}
	h.begin(t, "to be left")
	h.submit(t, "another", agent.ReasonCompleted)
	if ends := only[*agent.ProcessingEnd](h); len(ends) != 3 || ends[1].Reason != agent.ReasonInterrupted ||
		ends[2].Text != "two" {
		t.Errorf("%s", h.kinds())
	}
}

// A compaction that is requested at rest is a step, too.
func TestJ2_CompactionAtRest(t *testing.T) {
	h := open(t, setup{steps: []llmtest.Step{llmtest.Text("one"), llmtest.Text("the summary")}, options: agent.Options{
		Policy: agent.Policy{Compaction: agent.CompactionPolicy{KeepTurns: 1}}}})
	h.begin(t, "go")
	h.step(t)
	h.step(t)
	if err := h.Compact(context.Background()); err != nil || h.turns() != "compaction:context assistant:model" ||
		h.step(t) != agent.ActRest {
		t.Errorf("%v, %s", err, h.turns())
	}
}

// Time in which no process had the session does not count as worked. A process that comes too early
// for the next attempt writes nothing.
func TestJ2_TimeBetweenProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(takes time.Duration) llmtest.Step {
			return llmtest.Func(func(context.Context, *llm.Request) llmtest.Step {
				time.Sleep(takes)
				return llmtest.Error(&llm.Error{Kind: llm.ErrRateLimit, RetryAfter: 30 * time.Second})
			})
		}
		o := agent.Options{Journal: new(journal.Memory), Policy: agent.Policy{Budget: agent.Budget{Time: time.Minute}}}
		process := func(steps ...llmtest.Step) *host { return open(t, setup{options: o, steps: steps, silent: true}) }
		release := func(h *host) {
			if err := h.Release(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		h := process(slow(20 * time.Second))
		h.begin(t, "go")
		h.step(t)
		release(h)
		h = process()
		before := o.Journal.Len()
		if act := h.step(t); act != agent.ActWait || o.Journal.Len() != before {
			t.Errorf("%s, and %d records", act, o.Journal.Len()-before)
		}
		release(h)
		time.Sleep(time.Hour)
		h = process(slow(10 * time.Second))
		h.step(t)
		release(h)
		time.Sleep(time.Hour)
		h = process(llmtest.Hang())
		start := time.Now()
		if acts := h.steps(t); acts != "call_model end_input rest" || h.Result().Reason != agent.ReasonBudgetTime ||
			time.Since(start) != 30*time.Second {
			t.Errorf("%s after %v: %+v", acts, time.Since(start), h.Result())
		}
		release(h)
		if err := agent.Replay(context.Background(), o.Journal, agent.ReplayOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// A key that has begun an input does not begin another, whatever happened to the first.
func TestJ2_BeginWithAKey(t *testing.T) {
	h := open(t, setup{steps: []llmtest.Step{llmtest.Text("done")}})
	for range 2 {
		for range 2 {
			if err := h.Begin(context.Background(), "go", agent.Key("k")); err != nil {
				t.Fatal(err)
			}
		}
		h.steps(t)
	}
	if h.turns() != "user:user assistant:model" {
		t.Error(h.turns())
	}
}

// While Submit works, nobody else can begin an input, not even between two inputs.
func TestJ2_BeginWhileSubmitWorks(t *testing.T) {
	var h *host
	var err error
	h = open(t, setup{steps: []llmtest.Step{llmtest.Text("done")},
		options: agent.Options{OnEvent: func(ev agent.Event) {
			if _, ended := ev.(*agent.ProcessingEnd); ended {
				err = h.Begin(context.Background(), "another")
			}
		}}})
	h.submit(t, "go", agent.ReasonCompleted)
	if !errors.Is(err, agent.ErrBusy) || len(h.History()) != 2 {
		t.Errorf("Begin = %v, %s", err, h.turns())
	}
}

// A State that was loaded from a journal has the open calls with their questions.
func TestJ2_OpenQuestions(t *testing.T) {
	log := new(journal.Memory)
	h := openAsking(t, &agent.Questions{}, log, llmtest.Calls(ask("really?"), call("work")))
	h.begin(t, "go")
	for h.step(t) != agent.ActRunCalls {
	}
	state, err := agent.Load(context.Background(), log)
	if err != nil {
		t.Fatal(err)
	}
	open := state.Open()
	if len(open) != 1 || open[0].Question() == nil {
		t.Fatalf("%+v", open)
	}
	if q := open[0].Question(); q.Text != "really?" || q.CallID != open[0].ID ||
		strings.Join(q.Options, ",") != "yes,no" {
		t.Errorf("%+v", q)
	}
	if next := agent.Next(state, time.Now()); next.Act != agent.ActEndInput ||
		next.Reason != agent.ReasonAwaitingInput {
		t.Errorf("%v", next)
	}
	h.steps(t)
}

// A session that is released during a step finishes the step, and the next step happens elsewhere.
func TestJ2_ReleaseInAStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log, begun, over := new(journal.Memory), make(chan struct{}), make(chan struct{})
		work := newTool("work", writes, func(context.Context, *tool.Call) (tool.Result, error) {
			close(begun)
			<-over
			return tool.Text("worked"), nil
		})
		h := open(t, setup{options: agent.Options{Journal: log}, tools: []tool.Tool{work}, silent: true,
			steps: []llmtest.Step{llmtest.Calls(call("work"))}})
		h.begin(t, "go")
		h.step(t)
		released := make(chan error, 1)
		go func() {
			<-begun
			go func() { released <- h.Release(context.Background()) }()
			synctest.Wait()
			close(over)
		}()
		if step, err := h.Advance(context.Background()); step.Act != agent.ActRunCalls ||
			!errors.Is(err, agent.ErrReleased) {
			t.Errorf("%v, %v", step, err)
		}
		if err := <-released; err != nil {
			t.Errorf("Release = %v", err)
		}
		if _, err := h.Advance(context.Background()); !errors.Is(err, agent.ErrReleased) {
			t.Errorf("Advance = %v", err)
		}
		rest := open(t, setup{options: agent.Options{Journal: log}, tools: []tool.Tool{work},
			steps: []llmtest.Step{llmtest.Text("done")}})
		if acts := rest.steps(t); acts != "call_model end_input rest" || rest.Result().Text != "done" {
			t.Errorf("%s, %+v", acts, rest.Result())
		}
	})
}

// Steering that comes between the decision to call the model and the call is in the request, and
// the journal has the same order.
func TestJ1_SteeringBeforeTheCall(t *testing.T) {
	log, calls := new(journal.Memory), 0
	var h *host
	clock := func() time.Time {
		if calls--; calls == 0 {
			done := make(chan error, 1)
			go func() { done <- errors.Join(h.Steer(t.Context(), "left"), h.RemoveTools(t.Context(), "other")) }()
			select {
			case err := <-done:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(10 * time.Second):
				t.Error("the clock was asked with a lock held")
			}
		}
		return time.Now()
	}
	h = open(t, setup{options: agent.Options{Journal: log, Now: clock}, tools: []tool.Tool{echo("work"), echo("other")},
		steps: []llmtest.Step{llmtest.Text("done")}})
	h.begin(t, "go")
	calls = 3 // Advance asks the clock for its check and for the decision, where it holds locks, and then for the call
	if acts := h.steps(t); acts != "inject call_model end_input rest" {
		t.Error(acts)
	}
	if got := h.model.Requests()[0]; len(got.Messages) != 3 || len(got.Tools) != 1 {
		t.Errorf("the model was sent %d messages and %d tools", len(got.Messages), len(got.Tools))
	}
	if err := agent.Replay(context.Background(), log, agent.ReplayOptions{}); err != nil {
		t.Error(err)
	}
}

// A setting that changes nothing begins no epoch, so a replay knows that the running call had begun
// before it.
func TestJ1_SameModelSetDuringACall(t *testing.T) {
	var h *host
	ctx, model, log := context.Background(), "model", new(journal.Memory)
	first := llmtest.Func(func(context.Context, *llm.Request) llmtest.Step {
		if err := errors.Join(h.Steer(ctx, "left"), h.Set(ctx, agent.Settings{Model: &model})); err != nil {
			t.Error(err)
		}
		return llmtest.Text("one")
	})
	h = open(t, setup{options: agent.Options{Journal: log, Model: model},
		steps: []llmtest.Step{first, llmtest.Text("two")}})
	h.submit(t, "go", agent.ReasonCompleted)
	if state, err := agent.Load(ctx, log); err != nil || state.Epoch != 0 {
		t.Errorf("epoch %d, %v", state.Epoch, err)
	}
	if err := agent.Replay(ctx, log, agent.ReplayOptions{}); err != nil {
		t.Error(err)
	}
}

// Close between two steps ends the input as it does within a step: every begin event has its end
// event.
func TestJ2_CloseBetweenSteps(t *testing.T) {
	busy := llmtest.Error(&llm.Error{Kind: llm.ErrServer, Message: "busy"})
	for name, steps := range map[string][]llmtest.Step{"after Begin": nil,
		"before calls": {llmtest.Calls(call("work"))}, "before an attempt": {busy},
		"before the end": {llmtest.Text("done")}} {
		t.Run(name, func(t *testing.T) {
			log := new(journal.Memory)
			h := open(t, setup{options: agent.Options{Journal: log}, tools: []tool.Tool{echo("work")}, steps: steps})
			h.begin(t, "go")
			if len(steps) > 0 {
				h.step(t)
			}
			if err := h.FollowUp(context.Background(), "more"); err != nil {
				t.Error(err)
			}
			if err := h.Close(); err != nil {
				t.Error(err)
			}
			if !strings.HasSuffix(h.kinds(), " PROCESSING_END SESSION_END") ||
				h.Result().Reason != agent.ReasonAborted {
				t.Errorf("%s, %+v", h.kinds(), h.Result())
			}
			if _, err := h.Advance(context.Background()); !errors.Is(err, agent.ErrClosed) ||
				!errors.Is(err, agent.ErrAborted) {
				t.Errorf("Advance = %v", err)
			}
			replays(t, log)
			rest := open(t, setup{options: agent.Options{Journal: log}, tools: []tool.Tool{echo("work")},
				steps: []llmtest.Step{llmtest.Text("more")}})
			if result, err := rest.Continue(context.Background()); err != nil ||
				result.Reason != agent.ReasonCompleted {
				t.Errorf("%+v, %v", result, err)
			}
		})
	}
}
