// Readme is the program in the project's README: it has one task done in the current directory. It takes the provider from the environment:
// ANTHROPIC_API_KEY has to be set.
//
//	$ readme
//	I'll run the test.
//	[shell {"command":"sh sum_test.sh"}]
//	The operator is wrong.
//	[edit_file {"file_path":"sum.sh","old_string":"-","new_string":"+"}]
//	[shell {"command":"sh sum_test.sh"}]
//	The test passes: sum adds now.
//	completed, 3 turns
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm/providers"
	"github.com/attractor-go/attractor/profile/anthropic"
)

func main() {
	if err := run(context.Background(), "fix the failing test"); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, task string) error {
	client, err := providers.FromEnv(os.Getenv) // a provider for each key that is set
	if err != nil {
		return err
	}
	local, err := env.NewLocal(".", env.LocalOptions{}) // where the tools run
	if err != nil {
		return err
	}
	defer local.Close()
	options := agent.Options{Client: client, Profile: anthropic.Profile(), Env: local}
	options.Policy.Budget.USD = 2
	session, err := agent.New(ctx, options)
	if err != nil {
		return err
	}
	defer session.Close()
	for event, err := range session.Run(ctx, task) {
		if err != nil {
			return err
		}
		switch e := event.(type) {
		case *agent.AssistantTextEnd:
			fmt.Println(e.Text)
		case *agent.ToolCallStart:
			fmt.Printf("[%s %s]\n", e.Name, e.Arguments)
		}
	}
	fmt.Printf("%s, %d turns\n", session.Result().Reason, session.Result().Turns)
	return nil
}
