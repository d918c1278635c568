package agent_test

import (
	"context"
	"fmt"
	"log"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool"
)

// A host shows what happens, decides about calls, answers questions, and gives the agent tasks.
// docs/hosts.md has this code.
func Example_host() {
	ctx := context.Background()
	o := scripted(llmtest.Calls(readCall), llmtest.Calls(fixCall), llmtest.Text("Fixed."))
	o.OnEvent = func(ev agent.Event) {
		if e, ok := ev.(*agent.ToolCallEnd); ok {
			fmt.Println(e.Name, "has run")
		}
	}
	o.Authorize = func(_ context.Context, req tool.Request) (tool.Decision, error) {
		if req.Access.Effect == tool.ReadOnly {
			return tool.Decision{Verdict: tool.Allow}, nil
		}
		return tool.Decision{Verdict: tool.Ask}, nil
	}
	o.Approve = func(_ context.Context, req tool.Request) (tool.Decision, error) { // here a person would be asked
		fmt.Println("may it change", req.Access.Paths)
		return tool.Decision{Verdict: tool.Allow}, nil
	}
	s, err := agent.New(ctx, o) // agent.Resume goes on with the session of a journal
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	result, err := s.Submit(ctx, "fix the greeting") // Steer, FollowUp and Interrupt meanwhile, from any goroutine
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Text)
	// Output:
	// read_file has run
	// may it change [/work/greet.txt]
	// edit_file has run
	// Fixed.
}
