package openai_test

import (
	"context"
	"fmt"
	"log"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile/openai"
)

// A session has the prompt, the tools and the model of the profile.
func ExampleProfile() {
	ctx := context.Background()
	model := llmtest.NewProvider("openai", // in a real program, that of llm/openai
		llmtest.Calls(llmtest.Call("apply_patch",
			`{"patch":"*** Begin Patch\n*** Update File: greet.txt\n@@\n-Hello, wrold!\n+Hello, world!\n*** End Patch"}`)),
		llmtest.Text("Fixed."))
	files := envtest.NewMemory(map[string]string{"greet.txt": "Hello, wrold!\n"}) // in a real program, an env.Local
	s, err := agent.New(ctx, agent.Options{Client: &llm.Client{Providers: []llm.Provider{model}},
		Profile: openai.Profile(), Env: files})
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
	// gpt-6.2-sol
}

// The native dialect has the names that the vendor's own agent uses.
func ExampleNative() {
	for _, t := range openai.Native().Tools {
		fmt.Println(t.Name)
	}
	// Output:
	// exec_command
	// write_stdin
	// update_plan
	// request_user_input
	// apply_patch
	// view_image
	// read_output
	// spawn_agent
	// send_input
	// wait
	// close_agent
}
