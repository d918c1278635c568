package examples_test

import (
	"fmt"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

func TestQ2_Subagents(t *testing.T) {
	t.Parallel()
	questions := []string{"Are there races?", "Are errors handled?", "Is it documented?"}
	answers := map[string]string{questions[0]: "No: every field has a lock.",
		questions[1]: "Save drops the error of Close.", questions[2]: "Save has no comment."}
	var spawn, wait []fakellm.Call
	for i, question := range questions {
		spawn = append(spawn, fakellm.Call{Name: "spawn_agent", Args: fmt.Appendf(nil, `{"task":%q}`, question)})
		wait = append(wait, fakellm.Call{Name: "wait", Args: fmt.Appendf(nil, `{"agent_id":"agent-%d"}`, i+1)})
	}
	session := fakellm.Script(fakellm.Turn{Calls: spawn}, fakellm.Turn{Calls: wait},
		fakellm.Turn{Text: "Fix Close, and document Save."})
	example(t, "subagents", nil, func(r *fakellm.Request) fakellm.Turn {
		if answer, is := answers[r.Messages[0].Parts.Text()]; is {
			return fakellm.Turn{Text: answer}
		}
		return session(r)
	}, "Review the change.")
}
