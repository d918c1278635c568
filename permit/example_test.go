package permit_test

import (
	"context"
	"fmt"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/permit"
	"github.com/attractor-go/attractor/tool"
)

// A page shows what is asked, and its handler brings the answer.
func ExampleInbox() {
	asks := make(chan permit.Ask, 1)
	inbox := permit.NewInbox(func(ask permit.Ask) { asks <- ask }, nil)
	gate := permit.NewGate(permit.ModeAsk, nil, nil)
	gate.Ask = inbox.Approve // the gate asks when the rules do

	go func() {
		ask := <-asks
		fmt.Println("May it run", ask.Call.Access.Command)
		if err := inbox.Decide(ask.ID, permit.Answer{Reason: "not on a Friday"}); err != nil {
			fmt.Println(err)
		}
	}()
	var q permit.Question
	q.Call, q.Access = llm.ToolCall{ID: "1", Name: "shell"}, tool.Access{Command: "make release"}
	answer, err := gate.Ask(context.Background(), q)
	fmt.Println(answer.Verdict, answer.Reason, err)
	// Output:
	// May it run make release
	// deny not on a Friday <nil>
}
