package agent_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

// openLimited opens a session whose limit is one tool round, with the given steps for the summary
// at the limit.
func openLimited(t *testing.T, o agent.Options, summary ...llmtest.Step) *host {
	t.Helper()
	o.MaxToolRounds, o.OnLimit = 1, agent.SummarizeOnLimit
	steps := append([]llmtest.Step{llmtest.Answer(llm.Text{Text: "first"}, call("work"))}, summary...)
	return open(t, setup{tools: []tool.Tool{echo("work")}, steps: steps, options: o})
}

// At a limit the model may be asked for a final text. Tools are still defined but cannot be called,
// the history is unchanged, and the call is billed.
func TestA4_SummarizesAtALimit(t *testing.T) {
	summary := llmtest.Respond(llm.Response{Message: llm.Message{Parts: llm.Parts{llm.Text{Text: " half is done \n"},
		call("work")}}, Usage: llm.Usage{Input: 70, Output: 7}})
	h := openLimited(t, agent.Options{}, summary, llmtest.Text("more"))
	result := h.submit(t, "go", agent.ReasonMaxToolRounds)
	if result.Text != "half is done" || result.Turns != 1 || result.ToolRounds != 1 {
		t.Errorf("result %+v", result)
	}
	if h.turns() != "user:user assistant:model tool_results:tools" {
		t.Errorf("history %s", h.turns())
	}
	asked := h.model.Requests()
	if len(asked) != 2 {
		t.Fatalf("%d requests", len(asked))
	}
	if diff := gocmp.Diff(asked[0].Tools, asked[1].Tools); diff != "" || len(asked[1].Tools) != 1 ||
		asked[1].ToolChoice.Mode != llm.ToolNone {
		t.Errorf("tools %v, choice %v: %s", asked[1].Tools, asked[1].ToolChoice, diff)
	}
	if n := len(asked[1].Messages); n != 5 || asked[1].Messages[4].Role != llm.RoleUser {
		t.Errorf("%d messages, the last: %+v", n, asked[1].Messages[n-1])
	}
	first := h.History()[1].Usage
	if want := first.Add(llm.Usage{Input: 70, Output: 7}); result.Usage != want || h.Usage() != want ||
		only[*agent.ProcessingEnd](h)[0].Usage != want {
		t.Errorf("usage %+v and %+v, want %+v", result.Usage, h.Usage(), want)
	}
	if !strings.HasSuffix(h.kinds(), "TOOL_CALL_START TOOL_CALL_END TURN_LIMIT PROCESSING_END") {
		t.Errorf("events %s", h.kinds())
	}
	if l := only[*agent.TurnLimit](h)[0]; l.Limit != agent.ReasonMaxToolRounds || l.Value != 1 {
		t.Errorf("%+v", l)
	}
	h.submit(t, "go on", agent.ReasonCompleted)
	if last := h.model.Requests()[2]; len(last.Messages) != 5 || last.ToolChoice.Mode == llm.ToolNone ||
		last.Messages[4].Parts.Text() != "go on" {
		t.Errorf("the next request has %d messages and the choice %v", len(last.Messages), last.ToolChoice)
	}
}

// Whatever goes wrong with the final text, the input ends at its limit.
func TestA4_SummaryThatFails(t *testing.T) {
	const fixed = "The task was stopped at its limit, and no summary of it could be made."
	down := llmtest.Error(llm.Errorf(llm.ErrServer, "down"))
	for name, c := range map[string]struct {
		steps []llmtest.Step
		o     agent.Options
		want  string
	}{
		"refused": {[]llmtest.Step{llmtest.Error(llm.Errorf(llm.ErrInvalidRequest, "no"))}, agent.Options{},
			fixed},
		"too long": {[]llmtest.Step{llmtest.Error(llm.Errorf(llm.ErrContextLength, "no"))}, agent.Options{},
			fixed},
		"empty":             {[]llmtest.Step{llmtest.Answer(call("work"))}, agent.Options{}, fixed},
		"down for too long": {[]llmtest.Step{down, down}, agent.Options{Retry: llm.RetryPolicy{Max: 1}}, fixed},
		"tried again":       {[]llmtest.Step{down, llmtest.Text("here")}, agent.Options{}, "here"},
		"beyond the budget": {nil, agent.Options{Policy: agent.Policy{Budget: agent.Budget{Tokens: 560}}}, fixed},
		"torn, then complete": {[]llmtest.Step{llmtest.Torn("he", llm.Errorf(llm.ErrStream, "cut")),
			llmtest.Text("here")}, agent.Options{}, "here"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := openLimited(t, c.o, c.steps...)
				if c.o.Budget.Tokens > 0 { // the first answer uses nearly all of it
					h.model.Then(llmtest.Text("not asked"))
				}
				if result := h.submit(t, "go", agent.ReasonMaxToolRounds); result.Text != c.want {
					t.Errorf("text %q, want %q", result.Text, c.want)
				}
				if h.Status() != agent.StatusIdle || len(h.History()) != 3 {
					t.Errorf("%s, %d turns", h.Status(), len(h.History()))
				}
				if tries := len(c.steps); tries > 1 && len(only[*agent.LLMRetry](h)) != 1 {
					t.Errorf("events %s", h.kinds())
				}
			})
		})
	}
}

// An interrupt also ends the call for the final text.
func TestA4_SummaryInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openLimited(t, agent.Options{}, llmtest.Hang())
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if result, err := h.Submit(ctx, "go"); err == nil || result.Reason != agent.ReasonInterrupted {
			t.Errorf("Submit = %+v, %v", result, err)
		}
	})
}

// The limit of turns counts the answers of all inputs. It ends an input before the model is called.
func TestA4_MaxTurns(t *testing.T) {
	h := open(t, setup{options: agent.Options{Policy: agent.Policy{MaxTurns: 1}},
		steps: []llmtest.Step{llmtest.Text("one")}})
	h.submit(t, "one", agent.ReasonCompleted)
	h.submit(t, "two", agent.ReasonMaxTurns)
	if l := only[*agent.TurnLimit](h); len(l) != 1 || l[0].Limit != agent.ReasonMaxTurns || l[0].Value != 1 {
		t.Errorf("TURN_LIMIT %+v", l)
	}
	if n := len(h.model.Requests()); n != 1 || h.Status() != agent.StatusIdle {
		t.Errorf("%d requests, %s", n, h.Status())
	}
	if _, err := agent.New(context.Background(), agent.Options{Client: &llm.Client{Providers: []llm.Provider{h.model}},
		Env: emptyEnv(t), Policy: agent.Policy{OnLimit: "stops"}}); err == nil {
		t.Error("an unknown OnLimit was accepted")
	}
}
