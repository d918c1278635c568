package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

func tooLong() llmtest.Step {
	return llmtest.Error(llm.Errorf(llm.ErrContextLength, "prompt is too long"))
}

// openRescued opens a session with compaction whose history does not fit at its second model call.
func openRescued(t *testing.T, steps ...llmtest.Step) *host {
	t.Helper()
	steps = append([]llmtest.Step{llmtest.Calls(call("print"))}, steps...)
	return open(t, setup{models: window(4000), tools: []tool.Tool{wideTool("print", 9_000)}, steps: steps,
		options: agent.Options{Policy: agent.Policy{Compaction: agent.CompactionPolicy{Threshold: 1}}}})
}

// A request that does not fit is compacted and sent again.
func TestA11_ContextLengthCompactsAndRetries(t *testing.T) {
	h := openRescued(t, tooLong(), llmtest.Text("the summary"), llmtest.Text("done"))
	if result := h.submit(t, "go", agent.ReasonCompleted); result.Text != "done" || result.Turns != 2 {
		t.Errorf("result %+v", result)
	}
	want := "STEP_START STEP_END COMPACTION STEP_START ASSISTANT_TEXT_START"
	if !strings.Contains(h.kinds(), want) || strings.Contains(h.kinds(), "ERROR") {
		t.Errorf("events %s, want %s", h.kinds(), want)
	}
	if epochs := h.epochs(); epochs[2] != epochs[1]+1 {
		t.Errorf("epochs %v", epochs)
	}
	if last := h.model.Requests()[3].Messages; len(last) != 2 || !strings.Contains(last[1].Parts.Text(),
		"the summary") {
		t.Errorf("the last request: %+v", last)
	}
}

// A call is rescued once. After another answer a new rescue is possible.
func TestA11_ContextLengthOnce(t *testing.T) {
	h := openRescued(t, tooLong(), llmtest.Text("a summary"), llmtest.Calls(call("print")), tooLong(),
		llmtest.Text("another"), tooLong(), llmtest.Text("never"))
	result, err := h.Submit(context.Background(), "go")
	if !errors.Is(err, llm.ErrContextLength) || result.Reason != agent.ReasonFailed ||
		h.Status() != agent.StatusClosed {
		t.Fatalf("Submit = %+v, %v, %s", result, err, h.Status())
	}
	if n := len(only[*agent.Compaction](h)); n != 2 || h.model.Left() != 1 {
		t.Errorf("%d compactions, %d steps left: %s", n, h.model.Left(), h.kinds())
	}
	if !strings.HasSuffix(h.kinds(), "STEP_END CONTEXT_WARNING ERROR PROCESSING_END SESSION_END") {
		t.Errorf("events %s", h.kinds())
	}
}

// If the rescue fails, the input fails with the first error, and nothing is tried forever.
func TestA11_ContextLengthWithoutSummary(t *testing.T) {
	for name, summary := range map[string]llmtest.Step{"refused": tooLong(), "empty": llmtest.Text(" ")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := openRescued(t, tooLong(), summary, llmtest.Text("never"))
				if _, err := h.Submit(context.Background(), "go"); !errors.Is(err, llm.ErrContextLength) {
					t.Errorf("Submit = %v", err)
				}
				if h.warned() != "compaction_failed" || h.model.Left() != 1 || h.Status() != agent.StatusClosed {
					t.Errorf("warned %q, %d left, %s", h.warned(), h.model.Left(), h.Status())
				}
			})
		})
	}
}

// Without compaction, a full window ends the session, even if the window's size is unknown.
func TestA11_ContextLengthEndsTheSession(t *testing.T) {
	for name, size := range map[string]int{"known window": 4000, "unknown window": 0} {
		t.Run(name, func(t *testing.T) {
			h := open(t, setup{models: window(size), steps: []llmtest.Step{tooLong()}})
			if err := h.FollowUp(context.Background(), "dropped"); err != nil {
				t.Fatal(err)
			}
			if result, err := h.Submit(context.Background(), "go"); !errors.Is(err, llm.ErrContextLength) ||
				result.Reason != agent.ReasonFailed {
				t.Errorf("Submit = %+v, %v", result, err)
			}
			if !strings.HasSuffix(h.kinds(), "STEP_END CONTEXT_WARNING ERROR PROCESSING_END SESSION_END") {
				t.Errorf("events %s", h.kinds())
			}
			if w := only[*agent.ContextWarning](h)[0]; w.Ratio != 1 || w.Window != size {
				t.Errorf("%+v", w)
			}
			if e := only[*agent.Error](h)[0]; e.ErrorKind != "context_length" || e.Retryable ||
				e.Text != "prompt is too long" {
				t.Errorf("%+v", e)
			}
			if end := only[*agent.ProcessingEnd](h)[0]; end.State != agent.StatusClosed ||
				end.Reason != agent.ReasonFailed {
				t.Errorf("%+v", end)
			}
		})
	}
}

// A host may keep a session whose history does not fit, and compact it or choose another model.
func TestA11_StayWhenTheWindowIsFull(t *testing.T) {
	h := open(t, setup{models: window(4000), tools: []tool.Tool{wideTool("print", 9_000)},
		steps: []llmtest.Step{llmtest.Calls(call("print")), tooLong(), llmtest.Text("the summary"),
			llmtest.Text("done"), llmtest.Text("more")},
		options: agent.Options{Policy: agent.Policy{OnFailure: agent.StayOnFailure}}})
	if result, err := h.Submit(context.Background(), "go"); !errors.Is(err, llm.ErrContextLength) ||
		result.Reason != agent.ReasonFailed {
		t.Fatalf("Submit = %+v, %v", result, err)
	}
	if h.Status() != agent.StatusIdle || only[*agent.ProcessingEnd](h)[0].State != agent.StatusIdle ||
		!strings.HasSuffix(h.kinds(), "STEP_END CONTEXT_WARNING ERROR PROCESSING_END") {
		t.Fatalf("%s, events %s", h.Status(), h.kinds())
	}
	if err := h.Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
	if result, err := h.Continue(context.Background()); err != nil || result.Text != "done" ||
		result.Reason != agent.ReasonCompleted {
		t.Fatalf("Continue = %+v, %v", result, err)
	}
	if n := strings.Count(h.kinds(), "USER_INPUT"); n != 2 {
		t.Errorf("%d inputs, want the task and its continuation: %s", n, h.kinds())
	}
	h.submit(t, "more", agent.ReasonCompleted)
}
