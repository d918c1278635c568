package otel_test

import (
	"context"
	"encoding/hex"
	"testing"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/otel"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// The time in which a person answers a question is a span below the call that asks.
func TestN6_Questions(t *testing.T) {
	for want, answer := range map[string]tool.Answer{"accept": {Text: "blue"},
		"decline": {Action: tool.ActionDecline}} {
		t.Run(want, func(t *testing.T) {
			l := newLab(t, fakellm.Options{},
				fakellm.Turn{Calls: []fakellm.Call{use("c1", "ask_user", object{"question": "Which colour?"})}},
				fakellm.Turn{Text: "Done."})
			l.Tools = []tool.Tool{coding.AskUser()}
			l.Options.Questions = &agent.Questions{Answer: func(context.Context, tool.Question) (tool.Answer,
				error) {
				return answer, nil
			}}
			l.submit(otel.Options{})
			if got := l.span("ask_user")["attractor.decision"]; got != want {
				t.Errorf("the decision is %q", got)
			}
			names := map[string]string{}
			for _, s := range l.receiver.Spans() {
				names[hex.EncodeToString(s.SpanId)] = s.Name
			}
			for _, s := range l.receiver.Spans() {
				if above := names[hex.EncodeToString(s.ParentSpanId)]; s.Name == "ask_user" &&
					above != "execute_tool ask_user" {
					t.Errorf("it is below %q", above)
				}
			}
		})
	}
}
