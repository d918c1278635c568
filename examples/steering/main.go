// Steering runs a task, and sends the agent a message while it works: as soon as a call has changed
// a file, it asks for an entry in the changelog. The message comes with the next model call, in the
// middle of the task.
//
//	$ steering "Make the greeting friendlier."
//	[write_file] greeting.txt
//	steered: Add a line about this change to CHANGELOG.md, too.
//	[write_file] CHANGELOG.md
//	The greeting is friendlier, and the changelog says so.
//	completed, 3 turns
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) != 2 {
		log.Fatal("usage: steering TASK")
	}
	if err := run(ctx, os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, task string) (err error) {
	var session *attractor.Session
	steered := false
	session, err = attractor.Open(ctx, attractor.Config{Allow: []string{"Edit(./**)"}, OnEvent: func(e agent.Event) {
		switch e := e.(type) {
		case *agent.SteeringInjected:
			fmt.Println("steered:", e.Text)
		case *agent.ToolCallEnd:
			for _, change := range e.Changes {
				fmt.Printf("[%s] %s\n", e.Name, filepath.Base(change.Path))
			}
			if steered || len(e.Changes) == 0 {
				return
			}
			steered = true
			// The session waits for OnEvent, so the message is there before the next model call.
			if err := session.Steer(ctx, "Add a line about this change to CHANGELOG.md, too."); err != nil {
				log.Print(err)
			}
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
	fmt.Printf("%s\n%s, %d turns\n", result.Text, result.Reason, result.Turns)
	return nil
}
