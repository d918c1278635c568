// Readme is the program in the project's README: it has one task done in the current directory. It
// takes the provider from the environment: ANTHROPIC_API_KEY has to be set, or another provider's
// key.
//
//	$ readme
//	I'll run the test.
//	The operator is wrong.
//	The test passes: sum adds now.
//	completed
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
)

func main() {
	ctx := context.Background()
	session, err := attractor.Open(ctx, attractor.Config{Budget: agent.Budget{USD: 2},
		Allow: []string{"Edit(./**)", "Bash(sh sum_test.sh)"}}) // reading the project needs no rule
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	for event, err := range session.Run(ctx, "fix the failing test") {
		if err != nil {
			log.Println(err)
		}
		switch e := event.(type) {
		case *agent.AssistantTextEnd:
			fmt.Println(e.Text)
		case *agent.ProcessingEnd:
			fmt.Println(e.Reason) // completed, or error, or which limit ended it
		}
	}
}
