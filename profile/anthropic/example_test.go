package anthropic_test

import (
	"context"
	"fmt"
	"log"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile/anthropic"
)

// A session has the prompt, the tools and the model of the profile.
func ExampleProfile() {
	ctx := context.Background()
	model := llmtest.NewProvider("anthropic", // in a real program, that of llm/anthropic
		llmtest.Calls(llmtest.Call("edit_file", `{"file_path":"greet.txt","old_string":"wrold","new_string":"world"}`)),
		llmtest.Text("Fixed."))
	files := envtest.NewMemory(map[string]string{"greet.txt": "Hello, wrold!\n"}) // in a real program, an env.Local
	s, err := agent.New(ctx, agent.Options{Client: &llm.Client{Providers: []llm.Provider{model}},
		Profile: anthropic.Profile(), Env: files})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	result, err := s.Submit(ctx, "fix the greeting")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(files.Files()["greet.txt"])
	fmt.Println(result.Text)
	fmt.Println(model.Requests()[0].Model)
	// Output:
	// Hello, world!
	// Fixed.
	// claude-sonnet-5-5
}

// The native dialect has the names that the vendor's own agent uses.
func ExampleNative() {
	for _, t := range anthropic.Native().Tools {
		fmt.Println(t.Name)
	}
	// Output:
	// Agent
	// Bash
	// Edit
	// Read
	// SendMessage
	// TaskStop
	// Write
	// read_output
	// process
	// wait
	// ask_user
}
