package attractor_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http/httptest"
	"os"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm/fakellm"
	"github.com/attractor-go/attractor/llm/providers"
	"github.com/attractor-go/attractor/profile/anthropic"
)

// A program gives an agent a task in a directory, and shows what it does. Here the variables lead to a server with a script in place of the
// vendor's; a real program passes os.Getenv, and the directory of a project.
func Example() {
	server := httptest.NewServer(fakellm.New(fakellm.Script(
		fakellm.Turn{Calls: []fakellm.Call{{Name: "shell", Args: []byte(`{"command":"echo 'Hello, world!' > greet.txt"}`)}}},
		fakellm.Turn{Text: "greet.txt has a greeting."},
	), fakellm.Options{}))
	defer server.Close()
	vars := map[string]string{"ANTHROPIC_API_KEY": "a-key", "ANTHROPIC_BASE_URL": server.URL}
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	ctx := context.Background()
	client, err := providers.FromEnv(func(name string) string { return vars[name] })
	if err != nil {
		log.Fatal(err)
	}
	local, err := env.NewLocal(dir, env.LocalOptions{})
	if err != nil {
		log.Fatal(err)
	}
	session, err := agent.New(ctx, agent.Options{
		Client:  client,
		Profile: anthropic.Profile(),
		Env:     local,
		Policy:  agent.Policy{Budget: agent.Budget{USD: 2}},
	})
	if err != nil {
		log.Fatal(err)
	}
	for event, err := range session.Run(ctx, "write a greeting") {
		if err != nil {
			log.Fatal(err)
		}
		switch e := event.(type) {
		case *agent.ToolCallEnd:
			fmt.Println(e.Name, "exit code", e.Ran.Exit.Code)
		case *agent.AssistantTextEnd:
			fmt.Println(e.Text)
		}
	}
	result := session.Result()
	fmt.Println(result.Reason, result.Turns, "turns")
	fmt.Println(errors.Join(session.Close(), local.Close()))
	// Output:
	// shell exit code 0
	// greet.txt has a greeting.
	// completed 2 turns
	// <nil>
}
