package attractor_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"
	"os"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// A program gives an agent a task in a directory, and shows what it does. Here the variables lead
// to a server with a script in place of the vendor's; a real program leaves out Vars.
func Example() {
	server := httptest.NewServer(fakellm.New(fakellm.Script(
		fakellm.Turn{Calls: []fakellm.Call{{Name: "shell",
			Args: []byte(`{"command":"echo 'Hello, world!' > greet.txt"}`)}}},
		fakellm.Turn{Calls: []fakellm.Call{{Name: "shell", Args: []byte(`{"command":"rm -r ."}`)}}},
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
	session, err := attractor.Open(ctx, attractor.Config{
		Dir:    dir,
		Model:  "anthropic/claude-sonnet-5-5",
		Budget: agent.Budget{USD: 2},
		Allow:  []string{"Bash(echo:*)", "Edit(./**)"},
		Vars:   vars,
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
			fmt.Println(e.Name, "refused:", e.IsError)
		case *agent.AssistantTextEnd:
			fmt.Println(e.Text)
		}
	}
	result := session.Result()
	fmt.Println(result.Reason, result.Turns, "turns")
	fmt.Println(session.Close())
	// Output:
	// shell refused: false
	// shell refused: true
	// greet.txt has a greeting.
	// completed 3 turns
	// <nil>
}
