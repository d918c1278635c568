package agent_test

import (
	"context"
	"fmt"
	"log"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
)

// A session continues a conversation that began elsewhere.
func ExampleOptions_history() {
	ctx := context.Background()
	o := scripted(llmtest.Calls(fixCall), llmtest.Text("Fixed."))
	o.History = []llm.Message{
		llm.User("is the greeting spelled right?"),
		{Role: llm.RoleAssistant, Parts: llm.Parts{llm.ToolCall{ID: "call-1", Name: "read_file",
			Args: `{"file_path":"greet.txt"}`}}},
		llm.ToolResults(llm.ToolResult{CallID: "call-1", Name: "read_file", Content: llm.TextParts("Hello, wrold!")}),
		llm.Assistant("No, it says wrold."),
	}
	s, err := agent.New(ctx, o)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Submit(ctx, "then fix it"); err != nil {
		log.Fatal(err)
	}
	for _, turn := range s.History() {
		fmt.Printf("%d %s %q\n", turn.Number, turn.Kind, turn.Message.Parts.Text())
	}
	// Output:
	// 1 user "is the greeting spelled right?"
	// 2 assistant ""
	// 3 tool_results ""
	// 4 assistant "No, it says wrold."
	// 5 user "then fix it"
	// 6 assistant ""
	// 7 tool_results ""
	// 8 assistant "Fixed."
}
