package agent_test

import (
	"context"
	"fmt"
	"log"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/tool/coding"
)

// The host defines an agent, and the model chooses it by its name.
func ExampleAgentDefinition() {
	ctx := context.Background()
	answer := llmtest.Func(func(_ context.Context, req *llm.Request) llmtest.Step {
		switch {
		case req.Model == "small-model": // the proofreader's
			return llmtest.Text("line 1: wrold")
		case len(req.Messages) == 2:
			return llmtest.Calls(llmtest.Call("spawn_agent", `{"agent":"proofreader","task":"read greet.txt"}`))
		case len(req.Messages) == 4:
			return llmtest.Calls(llmtest.Call("wait", `{"agent_id":"agent-1"}`))
		}
		return llmtest.Text("No, it says wrold.")
	})
	o := scripted(answer, answer, answer, answer)
	o.Tools = coding.Agents()
	o.Subagents = &agent.Subagents{Definitions: []agent.AgentDefinition{{
		Name:         "proofreader",
		Description:  "Finds misspelled words. It changes nothing.",
		Instructions: "List each misspelled word with its line.",
		Tools:        []string{"read_file"},
		Model:        "small-model",
	}}}
	o.OnEvent = func(ev agent.Event) {
		if call, ok := ev.(*agent.ToolCallEnd); ok {
			fmt.Println(call.Output)
		}
	}
	s, err := agent.New(ctx, o)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	result, err := s.Submit(ctx, "is the greeting spelled right?")
	fmt.Println(result.Text, err)
	// Output:
	// {"agent_id":"agent-1","status":"running"}
	// {"output":"line 1: wrold","success":true,"turns_used":1}
	// No, it says wrold. <nil>
}
