package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/journal"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

// endlessPrinter returns a model that always calls a tool that prints 2,000 bytes.
func endlessPrinter() []llmtest.Step { return repeated(llmtest.Calls(call("print")), 1000) }

// checkFull checks how a session ended at a size limit.
func checkFull(t *testing.T, h *host, result *agent.Result, err error, option string) {
	t.Helper()
	if !errors.Is(err, agent.ErrFull) || !strings.Contains(err.Error(), option) || !strings.Contains(err.Error(),
		"resume") {
		t.Errorf("Submit = %v, want an ErrFull that names Options.%s and says what to do", err, option)
	}
	if result == nil || result.Reason != agent.ReasonLogFull || result.Turns == 0 {
		t.Errorf("result %+v", result)
	}
	_ = h.Close()
	ends, starts := only[*agent.ToolCallEnd](h), only[*agent.ToolCallStart](h)
	if len(ends) != len(starts) {
		t.Errorf("%d calls began, %d ended", len(starts), len(ends))
	}
	last, ok := h.events[len(h.events)-1].(*agent.SessionEnd)
	if !ok || last.Reason != agent.ReasonLogFull {
		t.Errorf("the last event is %+v, want SESSION_END", h.events[len(h.events)-1])
	}
	if done := only[*agent.ProcessingEnd](h); len(done) != 1 || done[0].Reason != agent.ReasonLogFull ||
		done[0].State != agent.StatusClosed {
		t.Errorf("PROCESSING_END %+v", done)
	}
}

// A session whose journal has reached its limit ends in order, and continues with a higher limit.
func TestI9_JournalLimit(t *testing.T) {
	const limit = 200_000
	at := t.TempDir()
	dir := journal.NewDir(at)
	log, err := dir.Create(context.Background(), "s")
	if err != nil {
		t.Fatal(err)
	}
	tools := []tool.Tool{printTool(2_000)}
	h := open(t, setup{tools: tools, steps: endlessPrinter(), options: agent.Options{Journal: log,
		Limits: agent.Limits{MaxJournal: limit}, Policy: agent.Policy{Loops: agent.LoopPolicy{Off: true}}}})
	result, err := h.Submit(context.Background(), "go")
	checkFull(t, h, result, err, "resume the session with a higher limit")
	if info, err := os.Stat(filepath.Join(at, "s.jsonl")); err != nil || info.Size() > limit || info.Size() < limit/2 {
		t.Errorf("the journal has %v bytes, %v, want nearly %d", info.Size(), err, limit)
	}
	r, err := dir.Read(context.Background(), "s")
	if err != nil {
		t.Fatal(err)
	}
	if torn := journal.TornEnd(r); torn != nil {
		t.Errorf("torn: %v", torn)
	}
	defer r.Close()
	if err := agent.Replay(context.Background(), r, agent.ReplayOptions{}); err != nil {
		t.Error(err)
	}
	if log, err = dir.Open(context.Background(), "s"); err != nil {
		t.Fatal(err)
	}
	e := newReader(t).env
	if _, err := agent.Resume(context.Background(), agent.Options{Journal: log, Limits: agent.Limits{MaxJournal: limit},
		Client: &llm.Client{}, Env: e, Dir: e.WorkDir()}); !errors.Is(err, agent.ErrFull) {
		t.Errorf("Resume with the same limit = %v, want ErrFull", err)
	}
	h = open(t, setup{tools: tools, steps: []llmtest.Step{llmtest.Text("done")}, options: agent.Options{Journal: log}})
	if result, err := h.Continue(context.Background()); err != nil || result.Text != "done" {
		t.Errorf("Continue with the default limit = %+v, %v", result, err)
	}
}

// Records that do not fit are not written, and the session still records its end.
func TestI9_RecordsThatDoNotFit(t *testing.T) {
	huge := strings.Repeat("x", 100_000)
	for name, c := range map[string]struct {
		steps  []llmtest.Step
		submit string
	}{
		"an answer": {[]llmtest.Step{llmtest.Calls(call("print")), llmtest.Text(huge)}, "go"},
		"a result":  {[]llmtest.Step{llmtest.Calls(call("print"), call("huge"), call("print"))}, "go"},
		"the last of many": {[]llmtest.Step{llmtest.Calls(slices.Repeat([]llm.ToolCall{call("print")}, 60)...)},
			"go"},
		"a result with effect": {[]llmtest.Step{llmtest.Calls(call("print"), call("change"), call("print"))}, "go"},
	} {
		t.Run(name, func(t *testing.T) {
			log := new(journal.Memory)
			long := printTool(100_000)
			long.Name = "huge"
			change := newTool("change", writes, func(context.Context, *tool.Call) (tool.Result,
				error) {
				return tool.Text(huge), nil
			})
			change.Limit = tool.Limit{Chars: -1}
			h := open(t, setup{tools: []tool.Tool{printTool(2_000), long, change}, steps: c.steps,
				options: agent.Options{Journal: log, Limits: agent.Limits{MaxJournal: 80_000}}})
			result, err := h.Submit(context.Background(), c.submit)
			if !errors.Is(err, agent.ErrFull) || result == nil || result.Reason != agent.ReasonLogFull {
				t.Errorf("Submit = %+v, %v", result, err)
			}
			_ = h.Close()
			state, err := agent.Load(context.Background(), log)
			if err != nil || state.Input != nil || state.Last.Reason != agent.ReasonLogFull || len(state.Calls) > 0 {
				t.Errorf("%v, last input %+v", err, state.Last)
			}
			if err := agent.Replay(context.Background(), log, agent.ReplayOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// At rest, a request that does not fit returns an error, and the session stays usable. An input
// that does not fit ends it.
func TestI9_InputsThatDoNotFit(t *testing.T) {
	huge := strings.Repeat("x", 100_000)
	log := new(journal.Memory)
	h := open(t, setup{steps: []llmtest.Step{llmtest.Text("done")},
		options: agent.Options{Journal: log, Limits: agent.Limits{MaxJournal: 80_000}}})
	if err := h.Steer(context.Background(), huge); !errors.Is(err, agent.ErrFull) {
		t.Errorf("Steer = %v", err)
	}
	h.submit(t, "go", agent.ReasonCompleted)
	if _, err := h.Submit(context.Background(), huge); !errors.Is(err, agent.ErrFull) {
		t.Errorf("Submit = %v", err)
	}
	if err := h.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	if last, ok := h.events[len(h.events)-1].(*agent.SessionEnd); !ok || last.Reason != agent.ReasonLogFull {
		t.Errorf("the last event is %+v", h.events[len(h.events)-1])
	}
	if state, err := agent.Load(context.Background(), log); err != nil || state.Last.Reason != agent.ReasonCompleted {
		t.Errorf("%v, %+v", err, state.Last)
	}
}

// Events fill nothing: at rest most are dropped, and a cursor gets the facts from the journal,
// whatever came between them.
func TestI9_FactsBehindTheLog(t *testing.T) {
	const rounds = 60
	log := new(journal.Memory)
	steps := make([]llmtest.Step, 0, rounds+1)
	for i := range rounds {
		steps = append(steps, llmtest.Calls(llm.ToolCall{ID: fmt.Sprint("c", i), Name: "print", Args: "{}"}))
	}
	h := open(t, setup{tools: []tool.Tool{printTool(2_000)}, steps: append(steps, llmtest.Text("done")),
		options: agent.Options{Journal: log, Policy: agent.Policy{Loops: agent.LoopPolicy{Off: true}}}})
	if _, err := h.Submit(context.Background(), "go"); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	facts := func(list []agent.Event) (all []string) {
		for _, ev := range list {
			switch ev.(type) {
			case *agent.ToolCallStart, *agent.ToolCallEnd, *agent.StepEnd, *agent.UserInput, *agent.ProcessingEnd,
				*agent.SessionEnd:
				all = append(all, fmt.Sprint(ev.Head().Seq, " ", ev.Head().Kind))
			}
		}
		return all
	}
	var seen []agent.Event
	for ev := range h.Events(context.Background()) {
		seen = append(seen, ev)
	}
	if gap, ok := seen[0].(*agent.Gap); !ok || gap.First != 1 || gap.Last < 100 {
		t.Errorf("the first event is %+v", seen[0])
	}
	if diff := gocmp.Diff(facts(h.events), facts(seen)); diff != "" {
		t.Error(diff)
	}
}

// A process is killed after it recorded that the journal is full. The next process, with more room,
// does not end for that.
func TestI9_KilledWhenFull(t *testing.T) {
	log, cut := new(journal.Memory), new(journal.Memory)
	tools := []tool.Tool{printTool(2_000)}
	h := open(t, setup{tools: tools, steps: endlessPrinter(), options: agent.Options{Journal: log,
		Limits: agent.Limits{MaxJournal: 80_000}, Policy: agent.Policy{Loops: agent.LoopPolicy{Off: true}}}})
	if _, err := h.Submit(context.Background(), "go"); !errors.Is(err, agent.ErrFull) {
		t.Fatal(err)
	}
	for _, r := range all(t, log) {
		if err := cut.Append(context.Background(), r.N, r); err != nil {
			t.Fatal(err)
		}
		if r.Kind == "stop" {
			break
		}
	}
	h = open(t, setup{tools: tools, steps: []llmtest.Step{llmtest.Text("done")}, options: agent.Options{Journal: cut}})
	if result, err := h.Continue(context.Background()); err != nil || result.Reason != agent.ReasonLogFull {
		t.Errorf("Continue = %+v, %v", result, err)
	}
	if result, err := h.Continue(context.Background()); err != nil || result.Text != "done" {
		t.Errorf("the second Continue = %+v, %v", result, err)
	}
}

// New refuses negative size limits.
func TestI9_NegativeLimits(t *testing.T) {
	for _, o := range []agent.Options{{Limits: agent.Limits{MaxJournal: -1}}} {
		o.Client, o.Env = &llm.Client{}, newReader(t).env
		if _, err := agent.New(context.Background(), o); err == nil || !strings.Contains(err.Error(), "negative") {
			t.Errorf("New = %v", err)
		}
	}
}
