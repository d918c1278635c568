package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// A session may outlive a failed model call: everything queued is kept, and Continue sends the same
// request again.
func TestI16_StayAfterAFailedCall(t *testing.T) {
	down := llmtest.Error(llm.Errorf(llm.ErrServer, "down"))
	for name, failed := range map[string][]llmtest.Step{
		"authentication": {llmtest.Error(llm.Errorf(llm.ErrAuthentication, "no"))},
		"configuration":  {llmtest.Error(llm.Errorf(llm.ErrConfiguration, "no"))},
		"retried":        {down, llmtest.Torn("half", llm.Errorf(llm.ErrStream, "cut")), down, down, down, down},
		"does not fit":   {tooLong()},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				steps := append([]llmtest.Step{llmtest.Calls(call("work"))}, failed...)
				h := open(t, setup{tools: []tool.Tool{echo("work")},
					options: agent.Options{Policy: agent.Policy{OnFailure: agent.StayOnFailure}},
					steps:   append(append(steps, failed...), llmtest.Text("one"), llmtest.Text("two"))})
				if err := h.FollowUp(context.Background(), "and then"); err != nil {
					t.Fatal(err)
				}
				var e *llm.Error
				for n := range 2 {
					got, err := new(agent.Result), error(nil)
					if n == 0 {
						got, err = h.Submit(context.Background(), "go")
					} else {
						got, err = h.Continue(context.Background())
					}
					if !errors.As(err, &e) || got.Reason != agent.ReasonFailed || h.Status() != agent.StatusIdle {
						t.Fatalf("%+v, %v, %s", got, err, h.Status())
					}
				}
				for _, end := range only[*agent.ProcessingEnd](h) {
					if end.State != agent.StatusIdle {
						t.Errorf("%+v", end)
					}
				}
				if len(only[*agent.Error](h)) != 2 || h.turns() != "user:user assistant:model tool_results:tools" {
					t.Errorf("%s, %s", h.kinds(), h.turns())
				}
				result, err := h.Continue(context.Background())
				if err != nil || result.Text != "two" ||
					h.turns() != "user:user assistant:model tool_results:tools assistant:model user:user "+
						"assistant:model" {
					t.Errorf("%+v, %v, %s", result, err, h.turns())
				}
				requests := h.model.Requests()
				for _, again := range requests[2 : 2+len(failed)] {
					checkSameRequest(t, requests[1], again)
				}
			})
		})
	}
}

// A journal that cannot be written ends the session, whatever OnFailure says.
func TestI16_StayOnlyForModelCalls(t *testing.T) {
	h := open(t, setup{steps: []llmtest.Step{llmtest.Text("one")},
		options: agent.Options{Policy: agent.Policy{OnFailure: agent.StayOnFailure}, Journal: &failing{left: 1}}})
	if _, err := h.Submit(context.Background(), "go"); !errors.Is(err, errDisk) || h.Status() != agent.StatusClosed {
		t.Errorf("%v, %s", err, h.Status())
	}
}

// Submit and Continue return a Result with every error, with the work done so far.
func TestI16_ResultWithEveryError(t *testing.T) {
	ctx := context.Background()
	begun := []llmtest.Step{llmtest.Answer(llm.Text{Text: "I begin."}, llm.ToolCall{ID: "a", Name: "work", Args: "{}"})}
	want := func(t *testing.T, h *host, result *agent.Result, err error, reason agent.Reason, turns, rounds int,
		text string) {
		t.Helper()
		if err == nil || result == nil {
			t.Fatalf("%+v, %v", result, err)
		}
		if result.Reason != reason || result.Turns != turns || result.ToolRounds != rounds || result.Text != text ||
			turns > 0 && result.Usage != h.Usage() {
			t.Errorf("%+v, %v, want %s with %d turns, %d rounds and %q", result, err, reason, turns, rounds, text)
		}
	}
	t.Run("nothing was begun", func(t *testing.T) {
		h := open(t, setup{steps: []llmtest.Step{llmtest.Text("one")}})
		ended, cancel := context.WithCancel(ctx)
		cancel()
		for name, f := range map[string]func() (*agent.Result, error){
			"no prompt": func() (*agent.Result, error) { return h.Submit(ctx, " ") },
			"a strange part": func() (*agent.Result, error) {
				return h.Submit(ctx, "go", agent.Attach(llm.Thinking{}))
			},
			"an ended context": func() (*agent.Result, error) { return h.Submit(ended, "go") },
			"nothing to do":    func() (*agent.Result, error) { return h.Continue(ctx) },
		} {
			t.Run(name, func(t *testing.T) {
				result, err := f()
				want(t, h, result, err, "", 0, 0, "")
			})
		}
		h.submit(t, "go", agent.ReasonCompleted)
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
		result, err := h.Submit(ctx, "more")
		want(t, h, result, err, "", 0, 0, "")
	})
	t.Run("while another input runs", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			gate, started := make(chan struct{}), make(chan struct{})
			h := open(t, setup{steps: []llmtest.Step{llmtest.Gate(started, gate, llmtest.Text("one"))}})
			done := make(chan struct{})
			go func() {
				defer close(done)
				h.submit(t, "go", agent.ReasonCompleted)
			}()
			<-started
			result, err := h.Submit(ctx, "more")
			want(t, h, result, err, "", 0, 0, "")
			close(gate)
			<-done
		})
	})
	t.Run("a failed call", func(t *testing.T) {
		h := open(t, setup{tools: []tool.Tool{echo("work")},
			steps: append(begun, llmtest.Error(llm.Errorf(llm.ErrAuthentication, "no")))})
		result, err := h.Submit(ctx, "go")
		want(t, h, result, err, agent.ReasonFailed, 1, 1, "I begin.")
	})
	t.Run("a panic", func(t *testing.T) {
		h := open(t, setup{tools: []tool.Tool{echo("work")}, fails: true, steps: append(begun, llmtest.Text("x")),
			options: agent.Options{
				Journal: new(journal.Memory),
				OnEvent: func(ev agent.Event) {
					if _, ok := ev.(*agent.ToolCallEnd); ok {
						panic("a host's mistake")
					}
				}}})
		result, err := h.Submit(ctx, "go")
		var host *agent.HostError
		if want(t, h, result, err, agent.ReasonFailed, 1, 1, "I begin."); !errors.As(err, &host) {
			t.Errorf("%v", err)
		}
		if err := h.Close(); !errors.As(err, &host) {
			t.Errorf("Close = %v", err)
		}
	})
	for left, at := range []struct {
		turns, rounds int
		text          string
	}{{}, {}, {1, 0, "I begin."}, {1, 0, "I begin."}, {1, 1, "I begin."}, {2, 1, "done"}} {
		t.Run(fmt.Sprint("a full disk after append ", left), func(t *testing.T) {
			h := open(t, setup{tools: []tool.Tool{echo("work")}, steps: append(begun, llmtest.Text("done")),
				options: agent.Options{Journal: &failing{left: left + 1}}})
			result, err := h.Submit(ctx, "go")
			want(t, h, result, err, agent.ReasonFailed, at.turns, at.rounds, at.text)
		})
	}
}

// Methods of a session that has ended return the reason.
func TestI16_ErrClosedHasTheReason(t *testing.T) {
	ctx := context.Background()
	no := llm.Errorf(llm.ErrAuthentication, "no")
	for name, c := range map[string]struct {
		o   agent.Options
		end func(h *host) error
		why error
	}{
		"a failed call": {agent.Options{}, func(h *host) error { return second(h.Submit(ctx, "go")) },
			llm.ErrAuthentication},
		"a full disk": {agent.Options{Journal: &failing{left: 2}},
			func(h *host) error { return second(h.Submit(ctx, "go")) }, errDisk},
		"an abort": {agent.Options{}, func(h *host) error {
			h.model.Then(llmtest.Func(func(context.Context, *llm.Request) llmtest.Step {
				h.Abort()
				return llmtest.Hang()
			}))
			return second(h.Submit(ctx, "go"))
		}, agent.ErrAborted},
		"Close": {agent.Options{}, func(h *host) error { return h.Close() }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := setup{options: c.o}
			if name != "an abort" {
				s.steps = []llmtest.Step{llmtest.Error(no)}
			}
			h := open(t, s)
			if err := c.end(h); (err == nil) != (c.why == nil) {
				t.Fatal(err)
			}
			model := "other"
			for use, err := range map[string]error{"Submit": second(h.Submit(ctx, "more")),
				"Continue": second(h.Continue(ctx)), "Steer": h.Steer(context.Background(), "x"),
				"FollowUp": h.FollowUp(context.Background(), "x"), "Set": h.Set(context.Background(),
					agent.Settings{Model: &model}), "Compact": h.Compact(ctx)} {
				if use == "Continue" && name == "Close" { // there is nothing to continue
					continue
				}
				var e *llm.Error
				if !errors.Is(err, agent.ErrClosed) || c.why != nil && !errors.Is(err, c.why) ||
					c.why == llm.ErrAuthentication && !errors.As(err, &e) {
					t.Errorf("%s: %v, want that it is closed, and %v", use, err, c.why)
				}
				if strings.Count(err.Error(), "agent: ") > 1 {
					t.Errorf("%s: %q", use, err)
				}
			}
		})
	}
}

// A model that writes the structured result as text instead of calling the tool has given the
// result.
func TestI16_ResultAsText(t *testing.T) {
	for name, c := range map[string]struct {
		schema string
		steps  []llmtest.Step
		want   string
		nudges int
	}{
		"at once": {person, []llmtest.Step{llmtest.Text(`{"name":"Ada","age":36}`)}, `{"name":"Ada","age":36}`,
			0},
		"after work": {person, []llmtest.Step{llmtest.Calls(call("work")),
			llmtest.Text(`{"name":"Ada","age":36}`)}, `{"name":"Ada","age":36}`, 0},
		"another schema's": {person, []llmtest.Step{llmtest.Text(`{"name":"Ada"}`), final(`{"name":"Ada","age":36}`)},
			`{"name":"Ada","age":36}`, 1},
		"in words": {person, []llmtest.Step{llmtest.Text(`It is {"name":"Ada","age":36}.`),
			final(`{"name":"Ada","age":36}`)}, `{"name":"Ada","age":36}`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			h := openStructured(t, c.schema, false, c.steps...)
			if checkResult(t, h, c.want); strings.Count(h.turns(), "steering:nudge") != c.nudges {
				t.Error(h.turns())
			}
		})
	}
}

// A missing structured result ends the input. The session continues, and so does the input with
// Continue.
func TestI16_MissingResultEndsTheInput(t *testing.T) {
	const ada = `{"name":"Ada","age":36}`
	h := openStructured(t, person, false, llmtest.Text("a"), llmtest.Text("b"), llmtest.Text("c"), final(ada),
		final(ada))
	if err := h.FollowUp(context.Background(), "and then"); err != nil {
		t.Fatal(err)
	}
	result, err := h.Submit(context.Background(), "who?")
	if !errors.Is(err, llm.ErrNoObject) || result.Reason != agent.ReasonFailed || h.Status() != agent.StatusIdle {
		t.Fatalf("%+v, %v, %s", result, err, h.Status())
	}
	if end := only[*agent.ProcessingEnd](h)[0]; end.State != agent.StatusIdle {
		t.Errorf("%+v", end)
	}
	if result, err = h.Continue(context.Background()); err != nil || result.Text != ada || h.model.Left() != 0 {
		t.Errorf("%+v, %v, %s", result, err, h.turns())
	}
}

// An abort drops the follow-ups: a resumed session does not begin them.
func TestA7_AbortDropsFollowUps(t *testing.T) {
	log := new(journal.Memory)
	h := open(t, setup{options: agent.Options{Journal: log}})
	h.model.Then(llmtest.Func(func(context.Context, *llm.Request) llmtest.Step {
		if err := h.FollowUp(context.Background(), "and then"); err != nil {
			t.Error(err)
		}
		if err := h.Steer(context.Background(), "look"); err != nil {
			t.Error(err)
		}
		h.Abort()
		return llmtest.Hang()
	}))
	if _, err := h.Submit(context.Background(), "go"); !errors.Is(err, agent.ErrAborted) {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	state, err := agent.Load(context.Background(), log)
	if err != nil || state.Queued(agent.LaneFollowUps) != nil || state.Queued(agent.LaneSteering) == nil {
		t.Errorf("%v, queued %+v", err, state.Queue)
	}
	rest := open(t, setup{options: agent.Options{Journal: journal.NewMemory(all(t, log)...)},
		steps: []llmtest.Step{llmtest.Text("one"), llmtest.Text("two")}})
	if result, err := rest.Continue(context.Background()); err != nil || result.Text != "one" ||
		rest.model.Left() != 1 {
		t.Errorf("%+v, %v: the follow-up ran", result, err)
	}
}

// STEP_END has the latency of the last attempt, after an answer and after a failure. Earlier
// attempts and waiting do not count.
func TestB_StepEndLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		takes := func(d time.Duration, then llmtest.Step) llmtest.Step {
			return llmtest.Func(func(context.Context, *llm.Request) llmtest.Step {
				time.Sleep(d)
				return then
			})
		}
		down := llmtest.Error(llm.Errorf(llm.ErrServer, "down"))
		log := new(journal.Memory)
		h := open(t, setup{steps: []llmtest.Step{takes(7*time.Second, down), takes(3*time.Second, llmtest.Text("one")),
			takes(2*time.Second, llmtest.Error(llm.Errorf(llm.ErrAuthentication, "no")))},
			options: agent.Options{Journal: log}})
		h.submit(t, "go", agent.ReasonCompleted)
		if _, err := h.Submit(context.Background(), "more"); err == nil {
			t.Error("no failure")
		}
		var projected []agent.Event
		if err := agent.Project(context.Background(), log,
			func(ev agent.Event) { projected = append(projected, ev) }); err != nil {
			t.Fatal(err)
		}
		for name, events := range map[string][]agent.Event{"live": h.events, "projected": projected} {
			var got []string
			for _, ev := range events {
				if e, ok := ev.(*agent.StepEnd); ok {
					got = append(got, fmt.Sprintf("%d ms, %d attempts", e.LatencyMS, e.Attempts))
				}
			}
			if text, err := json.Marshal(got); err != nil ||
				string(text) != `["3000 ms, 2 attempts","2000 ms, 1 attempts"]` {
				t.Errorf("%s: %s, %v", name, text, err)
			}
		}
	})
}
