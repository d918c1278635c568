// Minimal runs one task in the current directory, and prints what the agent says and which tools it
// uses. It takes the provider from the environment: ANTHROPIC_API_KEY has to be set, or another
// provider's key. The agent may only read, and what else it tries is refused: examples/readme
// allows more.
//
//	$ minimal "What does this project do?"
//	I'll read the README.
//	[read_file]
//	It greets whoever runs it.
//	completed, 2 turns
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 2 {
		log.Fatal(`usage: minimal "TASK"`)
	}
	if err := run(ctx, os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, task string) error {
	session, err := attractor.Open(ctx, attractor.Config{OnEvent: func(e agent.Event) {
		switch e := e.(type) {
		case *agent.AssistantTextEnd:
			fmt.Println(e.Text)
		case *agent.ToolCallStart:
			fmt.Printf("[%s]\n", e.Name)
		}
	}})
	if err != nil {
		return err
	}
	defer session.Close()
	result, err := session.Submit(ctx, task)
	if err != nil {
		return err
	}
	fmt.Printf("%s, %d turns\n", result.Reason, result.Turns)
	return nil
}
