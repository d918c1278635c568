package gemini_test

import (
	"context"
	"fmt"
	"log"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile/gemini"
)

// A session has the prompt, the tools and the model of the profile.
func ExampleProfile() {
	ctx := context.Background()
	model := llmtest.NewProvider("gemini", // in a real program, that of llm/gemini
		llmtest.Calls(llmtest.Call("edit_file", `{"file_path":"greet.txt","old_string":"wrold","new_string":"world"}`)),
		llmtest.Text("Fixed."))
	files := envtest.NewMemory(map[string]string{"greet.txt": "Hello, wrold!\n"}) // in a real program, an env.Local
	s, err := agent.New(ctx, agent.Options{Client: &llm.Client{Providers: []llm.Provider{model}},
		Profile: gemini.Profile(), Env: files})
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
	// gemini-4-argon
}

// The native dialect has the names that the vendor's own agent uses.
func ExampleNative() {
	for _, t := range gemini.Native().Tools {
		fmt.Println(t.Name)
	}
	// Output:
	// list_directory
	// read_file
	// grep_search
	// glob
	// replace
	// write_file
	// run_shell_command
	// list_background_processes
	// read_background_output
	// invoke_agent
	// read_output
	// process
	// ask_user
}
