// Advance drives a session from a loop of its own, one step at a time, as a workflow engine would.
// A Store in its Config would keep each step, so that another process can resume the session and
// take the next one.
//
//	$ advance "What does this project do?"
//	call_model
//	run_calls read_file {"file_path":"README.md"} read_file {"file_path":"main.sh"}
//	call_model
//	end_input
//	rest
//	It greets whoever runs it.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 2 {
		log.Fatal(`usage: advance "TASK"`)
	}
	if err := run(ctx, os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, task string) error {
	session, err := attractor.Open(ctx, attractor.Config{})
	if err != nil {
		return err
	}
	defer session.Close()
	if err := session.Begin(ctx, task); err != nil {
		return err
	}
	for {
		step, err := session.Advance(ctx)
		if err != nil {
			return err
		}
		fmt.Print(step.Act)
		for _, call := range step.Calls {
			fmt.Printf(" %s %s", call.Name, call.Args)
		}
		fmt.Println()
		switch step.Act {
		case agent.ActRest:
			fmt.Println(session.Result().Text)
			return nil
		case agent.ActWait: // an attempt failed and the next one is due later: a host could do other work until then
			select {
			case <-time.After(time.Until(step.Until)):
			case <-ctx.Done():
			}
		}
	}
}
