package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// BeforeCompact gets the part of the history to be replaced. Its result is among the instructions
// for the summary.
func TestJ14_BeforeCompact(t *testing.T) {
	var asked []agent.Compacting
	hook := func(_ context.Context, about agent.Compacting) (string, error) {
		asked = append(asked, about)
		return " Keep the number of the ticket: 4711.\n", nil
	}
	h := openLong(t, agent.Options{Hooks: agent.Hooks{BeforeCompact: hook},
		Policy: agent.Policy{Compaction: agent.CompactionPolicy{KeepTurns: 1}}}, worker(5, llmtest.Text("done"),
		summaryAnswer))
	h.submit(t, "go", agent.ReasonCompleted)
	h.submit(t, "on", agent.ReasonCompleted)
	compactAll(t, h)
	side := slices.DeleteFunc(h.model.Requests(), func(r *llm.Request) bool { return len(r.Tools) > 0 })
	if len(asked) != 2 || len(side) != 2 {
		t.Fatalf("asked %d times for %d summaries", len(asked), len(side))
	}
	for i, req := range side {
		prompt := req.Messages[0].Parts.Text()
		if !strings.HasPrefix(prompt, "You write the memory of a coding agent") ||
			!strings.HasSuffix(prompt, "\nKeep the number of the ticket: 4711.") {
			t.Errorf("summary %d was asked for with %q", i+1, prompt)
		}
		about := asked[i]
		events := only[*agent.Compaction](h)
		if len(about.Turns) != events[i].TurnsReplaced || about.Tokens != events[i].TokensBefore ||
			about.Requested != (i == 1) || about.Session != h.ID() || about.Agent != "" {
			t.Errorf("asked about %d turns, %d tokens, requested %v; was %+v", len(about.Turns), about.Tokens,
				about.Requested, events[i])
		}
	}
	if about := asked[0]; about.Turns[0].Message.Parts.Text() != "go" {
		t.Errorf("the first turn is %v", about.Turns[0])
	}
}

// An error of BeforeCompact prevents the compaction: no summary is requested, the history stays,
// and the next answer, as it makes the history longer, leads to the next try. Instructions without
// a limit do the same.
func TestJ14_BeforeCompactPrevents(t *testing.T) {
	for name, c := range map[string]struct {
		keep string
		err  error
		want string
	}{
		"an error": {"", errors.New("not now"), "BeforeCompact prevented it: not now"},
		"too long": {strings.Repeat("x", 64<<10+1), nil, "BeforeCompact returned 65537 bytes; it can return 65536"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			hook := func(context.Context, agent.Compacting) (string, error) {
				if asked++; asked > 2 {
					return "", nil
				}
				return c.keep, c.err
			}
			h := openLong(t, agent.Options{Hooks: agent.Hooks{BeforeCompact: hook},
				Policy: agent.Policy{Compaction: agent.CompactionPolicy{Threshold: 0.5}}},
				worker(5, llmtest.Text("done"), summaryAnswer))
			h.submit(t, "go", agent.ReasonCompleted)
			var failed []string
			for _, w := range only[*agent.Warning](h) {
				if w.Code == "compaction_failed" {
					failed = append(failed, w.Text)
				}
			}
			if !slices.Equal(failed, slices.Repeat([]string{"The conversation was not compacted: " + c.want}, 2)) ||
				asked != 3 || len(only[*agent.Compaction](h)) != 1 {
				t.Errorf("asked %d times, failures %q", asked, failed)
			}
			kinds, summaries := h.kinds(), 0
			for _, req := range h.model.Requests() {
				if len(req.Tools) == 0 {
					summaries++
				}
			}
			if summaries != 1 || strings.Index(kinds, "STEP_START") > strings.Index(kinds, "COMPACTION") {
				t.Errorf("%d summaries, events %s", summaries, kinds)
			}
		})
	}
}

// If BeforeCompact prevents the rescue of a history that does not fit, the input ends.
func TestJ14_BeforeCompactPreventsTheRescue(t *testing.T) {
	h := open(t, setup{models: window(4000), tools: []tool.Tool{wideTool("print", 9_000)},
		steps: []llmtest.Step{llmtest.Calls(call("print")), tooLong()}, fails: true,
		options: agent.Options{Policy: agent.Policy{Compaction: agent.CompactionPolicy{Threshold: 1}},
			Hooks: agent.Hooks{BeforeCompact: func(context.Context, agent.Compacting) (string, error) {
				return "",
					errors.New("never")
			}}}})
	_, err := h.Submit(t.Context(), "go")
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.ErrContextLength || !strings.Contains(h.warned(), "compaction_failed") {
		t.Errorf("Submit: %v, warned %q", err, h.warned())
	}
}

// BeforeCompact is also called for a subagent's history.
func TestJ14_BeforeCompactOfSubagents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		hook := func(_ context.Context, about agent.Compacting) (string, error) {
			asked = append(asked, fmt.Sprintf("%s %q", about.Session, about.Agent))
			return "", errors.New("no")
		}
		ids := []string{"first", "second"}
		h := open(t, setup{models: window(size), tools: append(coding.Agents(), printTool(20_000)),
			options: agent.Options{Hooks: agent.Hooks{BeforeCompact: hook},
				NewID: func() string { id := ids[0]; ids = ids[1:]; return id }, Subagents: &agent.Subagents{},
				Policy: agent.Policy{Compaction: agent.CompactionPolicy{Threshold: 0.4, KeepTurns: 1}}},
			steps: byTask(map[string][]llmtest.Step{
				"go":     {llmtest.Calls(spawn("a part")), llmtest.Calls(wait("agent-1")), llmtest.Text("done")},
				"a part": {llmtest.Calls(call("print")), llmtest.Text("part done")},
			})})
		h.submit(t, "go", agent.ReasonCompleted)
		if want := []string{`second "agent-1"`}; !slices.Equal(asked, want) {
			t.Errorf("asked about %q, want %q", asked, want)
		}
	})
}
