package agent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

// An answer with very many calls ends with its time: each call has a result, and what had not begun
// was not run. The work, also that of the replay at the end of the test, grows as the number of
// calls does: when it grew as its cube, this test took a minute.
func TestU20_AnswerOfManyCalls(t *testing.T) {
	const many = 3000
	ran := errors.New("some calls have run")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var parts []llm.Part
	for i := range many {
		parts = append(parts, llm.ToolCall{ID: fmt.Sprint("c", i), Name: "print", Args: "{}"})
	}
	h := open(t, setup{steps: []llmtest.Step{llmtest.Answer(parts...)}, tools: []tool.Tool{printTool(1)},
		options: agent.Options{
			OnEvent: func(ev agent.Event) {
				if _, ended := ev.(*agent.ToolCallEnd); ended {
					cancel(ran)
				}
			},
		}})
	result, err := h.Submit(ctx, "go")
	if !errors.Is(err, ran) || result.Reason != agent.ReasonInterrupted {
		t.Errorf("Submit = %v, %v", result.Reason, err)
	}
	if ends := only[*agent.ToolCallEnd](h); len(ends) != many {
		t.Errorf("%d calls have ended, want %d", len(ends), many)
	}
}
