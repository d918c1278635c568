package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// size is the window of these tests' model, in tokens.
const size = 10_000

// The model of summaries has a window that takes no transcript. The request for the summary has
// none then.
func TestA16_WindowWithoutRoom(t *testing.T) {
	h := open(t, setup{tools: []tool.Tool{printTool(8_000)}, models: func(provider, id string) (llm.Model, bool) {
		m := llm.Model{Provider: provider, ID: id, Window: size}
		if id == "tiny" {
			m.Window = 16
		}
		return m, true
	}, steps: slices.Repeat([]llmtest.Step{llmtest.Text(strings.Repeat("long ", 200))}, 9),
		options: agent.Options{Policy: agent.Policy{Compaction: agent.CompactionPolicy{Model: "tiny", KeepTurns: 1}}}})
	for range 2 { // the second summary has the first in its transcript
		h.submit(t, "go", agent.ReasonCompleted)
		if err := h.Compact(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(only[*agent.Compaction](h)); n != 2 || h.warned() != "" {
		t.Errorf("%d compactions, warnings %q", n, h.warned())
	}
}

// worker returns a model that answers with a call a few times and then with a text. It recognizes a
// request for a summary by its lack of tools.
func worker(calls int, text, summary llmtest.Step) []llmtest.Step {
	n := 0
	return slices.Repeat([]llmtest.Step{llmtest.Func(func(_ context.Context, req *llm.Request) llmtest.Step {
		if len(req.Tools) == 0 {
			return summary
		}
		if n++; n > calls {
			return text
		}
		return llmtest.Calls(call("print", fmt.Sprintf(`"path":"p%d"`, n)))
	})}, 4*calls+9)
}

// summaryAnswer is an answer with a summary and reported usage.
var summaryAnswer = llmtest.Respond(llm.Response{Message: llm.Message{Parts: llm.Parts{llm.Text{Text: "THE SUMMARY"}}},
	Usage: llm.Usage{Input: 7000, Output: 70}})

// openLong opens a session whose tool prints 2000 tokens a call, with compaction at 85 % of the
// window.
func openLong(t *testing.T, o agent.Options, steps []llmtest.Step) *host {
	t.Helper()
	if o.Compaction.Threshold == 0 {
		o.Compaction.Threshold = agent.DefaultCompaction
	}
	return open(t, setup{models: window(size), tools: []tool.Tool{printTool(8_000), coding.ReadOutput()}, steps: steps,
		options: o})
}

// printTool returns a tool that prints n characters.
func printTool(n int) tool.Tool {
	t := newTool("print", readOnly, func(context.Context, *tool.Call) (tool.Result,
		error) {
		return tool.Text(strings.Repeat("x", n)), nil
	})
	t.Limit = tool.Limit{Chars: -1}
	return t
}

// tokensOf returns the tokens of a request, estimated as four characters each.
func tokensOf(req *llm.Request) int {
	n := 0
	for _, d := range req.Tools {
		n += len(d.Name) + len(d.Description) + len(d.Parameters)
	}
	for _, m := range req.Messages {
		for _, part := range m.Parts {
			switch p := part.(type) {
			case llm.Text:
				n += len([]rune(p.Text))
			case llm.ToolCall:
				n += len(p.Name) + len(p.Args)
			case llm.ToolResult:
				n += len([]rune(p.Content.Text()))
			}
		}
	}
	return n / 4
}

// checkPaired checks that every call of a request is followed by its result, and that every result
// has a call.
func checkPaired(t *testing.T, messages []llm.Message) {
	t.Helper()
	open := ""
	for _, m := range messages {
		calls, results := "", ""
		for _, part := range m.Parts {
			switch p := part.(type) {
			case llm.ToolCall:
				calls += " " + p.ID
			case llm.ToolResult:
				results += " " + p.CallID
			}
		}
		if results != open {
			t.Errorf("results%s follow calls%s", results, open)
		}
		open = calls
	}
}

// When the window fills up, a compaction replaces the beginning of the history. The remaining
// messages are unchanged, the next request is small, and the session continues.
func TestA16_AtTheThreshold(t *testing.T) {
	log := new(journal.Memory)
	h := openLong(t, agent.Options{Journal: log}, worker(9, llmtest.Text("done"), summaryAnswer))
	result := h.submit(t, "the task: paint it blue", agent.ReasonCompleted)
	compactions := only[*agent.Compaction](h)
	if len(compactions) < 2 || result.Turns != 10 || result.ToolRounds != 9 {
		t.Fatalf("%d compactions, %+v", len(compactions), result)
	}
	requests := h.model.Requests()
	var sent []llm.Message
	for i, req := range requests {
		checkPaired(t, req.Messages)
		switch {
		case len(req.Tools) == 0: // the side call
			if before := tokensOf(requests[i-1]) + 2000; before < 85*size/100 || len(req.Messages) != 2 ||
				tokensOf(req) > size/2+500 {
				t.Errorf("a summary was asked for at %d tokens, with %d messages of %d tokens", before,
					len(req.Messages), tokensOf(req))
			}
		case i > 0 && len(requests[i-1].Tools) == 0: // the request after it
			if n := tokensOf(req); n >= size/2 {
				t.Errorf("%d tokens after a compaction", n)
			}
			text := req.Messages[1].Parts.Text()
			if !strings.Contains(text, "THE SUMMARY") || !strings.Contains(text, "the task: paint it blue") {
				t.Errorf("the summary's turn: %s", text)
			}
			kept := req.Messages[2:]
			// all but the newest round had been sent before
			if diff := gocmp.Diff(sent[len(sent)+2-len(kept):], kept[:len(kept)-2]); diff != "" {
				t.Errorf("what stays has changed:\n%s", diff)
			}
		case i > 0:
			if diff := gocmp.Diff(sent, req.Messages[:len(sent)]); diff != "" {
				t.Errorf("what was sent has changed:\n%s", diff)
			}
		}
		if len(req.Tools) > 0 {
			sent = req.Messages
		}
	}
	c := compactions[0]
	if c.TokensBefore < 85*size/100 || c.TokensAfter >= size/2 || c.TurnsReplaced < 3 {
		t.Errorf("%+v", c)
	}
	if last := h.epochs(); last[0] != 0 || last[len(last)-1] != len(compactions) {
		t.Errorf("epochs %v after %d compactions", last, len(compactions))
	}
	if n := count(all(t, log), "answer"); n != 10 || count(all(t, log), "compact") != len(compactions) {
		t.Errorf("the journal has %d answers", n)
	}
}

// The summary names the task only if its turn is gone, and names outputs as long as they can be
// read.
func TestA16_NamesTheOutputs(t *testing.T) {
	long := strings.Repeat("some output\n", 3_000)
	big := newTool("big", readOnly, func(context.Context, *tool.Call) (tool.Result, error) {
		return tool.Text(long),
			nil
	})
	log := new(journal.Memory)
	s := setup{models: window(40_000), tools: []tool.Tool{big, coding.ReadOutput()},
		options: agent.Options{Journal: log},
		steps: []llmtest.Step{llmtest.Calls(call("big")), llmtest.Calls(call("big")), llmtest.Text("done"),
			summaryAnswer, llmtest.Text("more")}}
	s.options.Compaction.KeepTurns = 1
	h := open(t, s)
	h.submit(t, "the task", agent.ReasonCompleted)
	if err := h.Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
	h.submit(t, "go on", agent.ReasonCompleted)
	text := h.History()[0].Message.Parts.Text()
	for _, e := range only[*agent.ToolCallEnd](h) {
		if e.OutputRef == "" || !strings.Contains(text, e.OutputRef+" (big)") {
			t.Errorf("output %q is not named in %q", e.OutputRef, text)
		}
	}
	if strings.Contains(text, "is being worked on") {
		t.Errorf("a task that is over is named as one that is worked on: %q", text)
	}
	records := all(t, log)
	upTo := slices.IndexFunc(records, func(r journal.Record) bool { return r.Kind == "compact" }) - 1
	s.options.Journal, s.steps = journal.NewMemory(records[:upTo]...), []llmtest.Step{summaryAnswer,
		llmtest.Text("more")}
	rest := open(t, s)
	if err := rest.Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
	if text := rest.History()[0].Message.Parts.Text(); !strings.Contains(text, "THE SUMMARY") ||
		strings.Contains(text, "Whole outputs") {
		t.Errorf("a resumed session names outputs that are gone: %q", text)
	}
}

// The configured model writes the summary, in a call of its own without the history's messages and
// without tools.
func TestA16_AnotherModelSummarizes(t *testing.T) {
	other := llmtest.NewProvider("other", summaryAnswer)
	h := open(t, setup{models: model(llm.Model{Window: size, Prices: []llm.Price{{Input: 1, Output: 10}}}),
		tools: []tool.Tool{echo("work")},
		more:  []llm.Provider{other}, steps: []llmtest.Step{llmtest.Calls(call("work")), llmtest.Text("done")},
		options: agent.Options{Policy: agent.Policy{Compaction: agent.CompactionPolicy{KeepTurns: 1, Provider: "other",
			Model: "small"}}}})
	before := h.submit(t, "go", agent.ReasonCompleted)
	if err := h.Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
	req := other.Requests()[0]
	if req.Model != "small" || len(req.Tools) != 0 || !strings.Contains(req.Messages[1].Parts.Text(), "[call work]") {
		t.Errorf("asked %+v", req)
	}
	if want := before.Usage.Add(llm.Usage{Input: 7000, Output: 70}); h.Usage() != want {
		t.Errorf("usage %+v, want %+v", h.Usage(), want)
	}
	if cost := h.FoldedState().Cost - before.CostUSD; cost < 0.0076 || cost > 0.0078 {
		t.Errorf("it cost %f", cost)
	}
}

// A history that a compaction cannot bring below the threshold, and one whose compaction fails, are
// compacted again only when they have grown, not after each answer.
func TestA16_AboveTheThresholdForGood(t *testing.T) {
	for name, summary := range map[string]llmtest.Step{"too little": summaryAnswer, "empty": llmtest.Text(" ")} {
		t.Run(name, func(t *testing.T) {
			asked, answered := 0, 0
			answer := llmtest.Func(func(_ context.Context, req *llm.Request) llmtest.Step {
				if len(req.Tools) == 0 {
					asked++
					return summary
				}
				if answered++; answered > 30 {
					return llmtest.Text("done")
				}
				input := 2*size + 20*answered
				return answerWithUsage(input, 1, llm.ToolCall{ID: fmt.Sprint(answered), Name: "print",
					Args: `{"path":"p"}`})
			})
			h := open(t, setup{models: window(size), tools: []tool.Tool{printTool(10)},
				steps: slices.Repeat([]llmtest.Step{answer}, 70), options: agent.Options{Policy: agent.Policy{
					Compaction: agent.CompactionPolicy{Threshold: agent.DefaultCompaction, KeepTurns: 1},
					Loops:      agent.LoopPolicy{Off: true}}}})
			h.submit(t, "go", agent.ReasonCompleted)
			if answered != 31 || asked < 1 || asked > 3 {
				t.Errorf("%d answers, %d requests for a summary", answered, asked)
			}
		})
	}
}

// A failed compaction is a warning. The input continues, and the next attempt comes after the next
// answer, which makes this history longer by a fifth of the window.
func TestA16_FailedCompaction(t *testing.T) {
	for name, summary := range map[string]llmtest.Step{
		"refused": llmtest.Error(llm.Errorf(llm.ErrInvalidRequest, "no")),
		"empty":   llmtest.Text("  "),
	} {
		t.Run(name, func(t *testing.T) {
			h := openLong(t, agent.Options{}, worker(6, llmtest.Text("done"), summary))
			h.submit(t, "go", agent.ReasonCompleted)
			asked, answered := 0, 0
			for _, req := range h.model.Requests() {
				if len(req.Tools) == 0 {
					if asked++; asked > answered {
						t.Error("a compaction was tried twice before an answer")
					}
				} else {
					answered++
				}
			}
			if asked < 2 || strings.Count(h.warned(), "compaction_failed") != asked ||
				len(only[*agent.Compaction](h)) != 0 {
				t.Errorf("%d attempts, warned %q", asked, h.warned())
			}
			if len(h.History()) != 14 {
				t.Errorf("history %s", h.turns())
			}
		})
	}
}

// The next input tries again, also if the history had become too long for an answer when the
// compaction failed: no session ends for a summary that was refused once.
func TestA16_FailedCompactionEndsNoSession(t *testing.T) {
	refuses, compacted := true, false
	answer := llmtest.Func(func(_ context.Context, req *llm.Request) llmtest.Step {
		switch {
		case len(req.Tools) == 0 && refuses:
			return llmtest.Error(llm.Errorf(llm.ErrContentFilter, "no"))
		case len(req.Tools) == 0:
			compacted = true
			return summaryAnswer
		case compacted:
			return llmtest.Text("done")
		case len(req.Messages) > 8:
			return tooLong()
		}
		return llmtest.Calls(call("print", fmt.Sprintf(`"path":"p%d"`, len(req.Messages))))
	})
	h := openLong(t, agent.Options{Policy: agent.Policy{OnFailure: agent.StayOnFailure}},
		slices.Repeat([]llmtest.Step{answer}, 40))
	for range 2 {
		if _, err := h.Submit(t.Context(), "go"); !errors.Is(err, llm.ErrContextLength) {
			t.Errorf("%v, want a conversation that is too long", err)
		}
	}
	refuses = false
	h.submit(t, "go on", agent.ReasonCompleted)
	if n := len(only[*agent.Compaction](h)); n != 1 {
		t.Errorf("%d compactions, warned %q", n, h.warned())
	}
}

// Compaction is off by default, and when the window is unknown.
func TestA16_OffByDefault(t *testing.T) {
	for name, s := range map[string]setup{
		"not configured": {models: window(size)},
		"unknown window": {options: agent.Options{Policy: agent.Policy{
			Compaction: agent.CompactionPolicy{Threshold: 0.85}}}},
	} {
		t.Run(name, func(t *testing.T) {
			s.tools, s.steps = []tool.Tool{printTool(8_000)}, worker(6, llmtest.Text("done"), summaryAnswer)
			h := open(t, s)
			h.submit(t, "go", agent.ReasonCompleted)
			if n := len(only[*agent.Compaction](h)); n != 0 || len(h.History()) != 14 {
				t.Errorf("%d compactions, %s", n, h.turns())
			}
		})
	}
}

// For any size of the parts, the request after a compaction is under half the window, not counting
// the current task.
func TestA16_UnderHalfTheWindow(t *testing.T) {
	huge := strings.Repeat("wörter ", size)
	for name, c := range map[string]struct {
		task, summary string
		print         int
		instructions  string
	}{
		"a long task":          {task: huge, summary: "short", print: 8_000},
		"a long summary":       {task: "short", summary: huge, print: 8_000},
		"a long result":        {task: "short", summary: "short", print: 30_000},
		"all of it":            {task: huge, summary: huge, print: 30_000},
		"a long system prompt": {task: huge, summary: huge, print: 8_000, instructions: strings.Repeat("x", size)},
	} {
		t.Run(name, func(t *testing.T) {
			tools := []tool.Tool{printTool(c.print), coding.ReadOutput()}
			tools[0].Description += c.instructions // sent with every request, like the system prompt
			h := open(t, setup{models: window(size), tools: tools, steps: worker(5, llmtest.Text("done"),
				llmtest.Text(c.summary)),
				options: agent.Options{Policy: agent.Policy{Compaction: agent.CompactionPolicy{Threshold: 0.85}}}})
			h.submit(t, c.task, agent.ReasonCompleted)
			requests := h.model.Requests()
			compactions, task := 0, len([]rune(c.task))/4
			for i, req := range requests[1:] {
				if len(requests[i].Tools) > 0 || len(req.Tools) == 0 {
					continue
				}
				compactions++
				if n := tokensOf(req) - task; n >= size/2 {
					t.Errorf("request %d has %d tokens beside the task", i+1, n)
				}
				if !strings.Contains(req.Messages[1].Parts.Text(), c.task) {
					t.Errorf("request %d does not have the task whole", i+1)
				}
				checkPaired(t, req.Messages)
			}
			if compactions == 0 {
				t.Error("no compaction")
			}
			for _, e := range only[*agent.Compaction](h) {
				if e.TokensAfter-task >= size/2 {
					t.Errorf("%+v", e)
				}
			}
		})
	}
}

// A session that is resumed after a compaction sends the same requests, byte for byte, as the
// uninterrupted one.
func TestA16_ResumesAfterACompaction(t *testing.T) {
	log := new(journal.Memory)
	h := openLong(t, agent.Options{Journal: log}, worker(7, llmtest.Text("done"), summaryAnswer))
	h.submit(t, "go", agent.ReasonCompleted)
	records := all(t, log)
	asked := map[int]*llm.Request{} // by the number of answers in the request
	for _, req := range h.model.Requests() {
		if len(req.Tools) > 0 {
			asked[answersIn(req)] = req
		}
	}
	compacted, checked := false, 0
	for n, r := range records {
		compacted = compacted || r.Kind == "compact"
		if !compacted || r.Kind != "result" && r.Kind != "compact" {
			continue
		}
		rest := openLong(t, agent.Options{Journal: journal.NewMemory(records[:n+1]...)},
			[]llmtest.Step{llmtest.Text("done")})
		want := asked[count(records[:n+1], "answer")]
		if next := records[n+1].Kind; next == "compact" || want == nil {
			continue // the next call is the summary's
		}
		if result, err := rest.Continue(context.Background()); err != nil || result.Text != "done" {
			t.Fatalf("Continue = %+v, %v", result, err)
		}
		checked++
		got := rest.model.Requests()[0]
		got.Memo, want.Memo, got.Facts, want.Facts = nil, nil, nil, nil
		a, _ := json.Marshal(want)
		b, _ := json.Marshal(got)
		if string(a) != string(b) {
			t.Errorf("after %d records\n%s\nwant\n%s", n+1, b, a)
		}
	}
	if checked < 3 {
		t.Errorf("only %d requests were compared", checked)
	}
}

// answersIn returns the number of answers of a worker before a request.
func answersIn(req *llm.Request) int {
	last := req.Messages[len(req.Messages)-1]
	for _, part := range last.Parts {
		if r, ok := part.(llm.ToolResult); ok {
			for _, m := range req.Messages {
				for _, c := range m.Parts.ToolCalls() {
					if c.ID == r.CallID {
						var n int
						if _, err := fmt.Sscanf(c.Args, `{"path":"p%d"}`, &n); err == nil {
							return n
						}
					}
				}
			}
		}
	}
	return 0
}

// The end of Submit's context ends a compaction and the input.
func TestA16_Interrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openLong(t, agent.Options{}, worker(9, llmtest.Text("done"), llmtest.Hang()))
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if result, err := h.Submit(ctx, "go"); !errors.Is(err, context.DeadlineExceeded) ||
			result.Reason != agent.ReasonInterrupted {
			t.Errorf("Submit = %+v, %v", result, err)
		}
		if h.Status() != agent.StatusIdle || h.warned() != "" {
			t.Errorf("%s, warned %q", h.Status(), h.warned())
		}
	})
}
