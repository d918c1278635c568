// Subagents runs one task whose parts the model may give to agents of its own, at most three at a
// time. When it is done, it prints what each of them was asked and what it found. The order is that
// of the questions, because it differs which agent starts first.
//
//	$ subagents "Review the change."
//	Are errors handled?
//	  Save drops the error of Close.
//	Are there races?
//	  No: every field has a lock.
//	Is it documented?
//	  Save has no comment.
//	Fix Close, and document Save.
package main

import (
	"context"
	"fmt"
	"log"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, strings.Join(os.Args[1:], " ")); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, task string) error {
	asked, found := map[string]string{}, map[string]string{} // by the agent's id, and by what it was asked
	session, err := attractor.Open(ctx, attractor.Config{
		// Events come one at a time, also those of agents that work at the same time. So this needs
		// no lock.
		OnEvent: func(e agent.Event) {
			sub, is := e.(*agent.SubagentEvent)
			if !is {
				return
			}
			switch e := sub.Event.(type) {
			case *agent.UserInput:
				asked[sub.AgentID] = e.Text
			case *agent.ProcessingEnd:
				found[asked[sub.AgentID]] = e.Text
			}
		},
		Options: func(o *agent.Options) { o.Subagents.MaxRunning = 3 },
	})
	if err != nil {
		return err
	}
	defer session.Close()
	result, err := session.Submit(ctx, task+" Give each question to an agent of its own.")
	if err != nil {
		return err
	}
	for _, question := range slices.Sorted(maps.Keys(found)) {
		fmt.Printf("%s\n  %s\n", question, found[question])
	}
	fmt.Println(result.Text)
	return nil
}
