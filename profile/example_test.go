package profile_test

import (
	"context"
	"fmt"
	"log"
	"slices"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/profile/anthropic"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// A profile of your own has a prompt and a few tools. Here it is for an agent that only reads.
func Example() {
	ctx := context.Background()
	reviewer := profile.Profile{
		Name: "reviewer", Provider: "test", Model: "model-1",
		Prompt: "You review files. Say what is wrong, with the line.",
		Tools:  []tool.Tool{coding.ReadFile(), coding.Grep(), coding.Glob()},
	}
	model := llmtest.NewProvider("test", // in a real program, one of llm/providers
		llmtest.Calls(llmtest.Call("grep", `{"pattern":"wrold"}`)),
		llmtest.Text("greet.txt, line 1: world is misspelled."))
	s, err := agent.New(ctx, agent.Options{
		Client:  &llm.Client{Providers: []llm.Provider{model}},
		Profile: reviewer,
		Env:     envtest.NewMemory(map[string]string{"greet.txt": "Hello, wrold!\n"}),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	result, err := s.Submit(ctx, "review the greeting")
	fmt.Println(result.Text, err)
	// Output:
	// greet.txt, line 1: world is misspelled. <nil>
}

// A host changes its copy of a profile: another model, one tool less, one sentence more.
func ExampleProfile() {
	p := anthropic.Profile()
	p.Model = "claude-opus-5-5"
	p.Prompt += "\n\nAnswer in French."
	p.Tools = slices.DeleteFunc(p.Tools, func(t tool.Tool) bool { return t.Name == "shell" })
	fmt.Println(p.Name, p.Provider, p.Model)
	for _, t := range p.Tools {
		fmt.Println(t.Name)
	}
	// Output:
	// anthropic anthropic claude-opus-5-5
	// read_file
	// write_file
	// edit_file
	// grep
	// glob
	// read_output
	// process
	// ask_user
	// spawn_agent
	// send_input
	// wait
	// close_agent
}
