package stepstream_test

import (
	"context"
	"fmt"
	"log"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/agent/stepstream"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// A host prints what a session did, a step after the other. The model is scripted, and the files
// are in memory.
func Example() {
	ctx := context.Background()
	read := llmtest.Call("read_file", `{"file_path":"greet.txt"}`)
	s, err := agent.New(ctx, agent.Options{
		Client: &llm.Client{Providers: []llm.Provider{llmtest.NewProvider("test", llmtest.Calls(read),
			llmtest.Text("It says hello."))}},
		Profile: profile.Profile{Provider: "test", Model: "model-1", Tools: []tool.Tool{coding.ReadFile()}},
		Env:     envtest.NewMemory(map[string]string{"greet.txt": "Hello, world!\n"}),
	})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := s.Submit(ctx, "What does greet.txt say?"); err != nil {
		log.Fatal(err)
	}
	if err := s.Close(); err != nil { // ends the events
		log.Fatal(err)
	}
	for ev := range stepstream.Events(s.Events(ctx)) {
		switch e := ev.(type) {
		case *stepstream.Begin:
			fmt.Println("step", e.Step, e.Name)
		case *stepstream.Complete:
			fmt.Println("step", e.Step, e.Status)
		case *stepstream.Final:
			fmt.Println(e.Text)
		}
	}
	// Output:
	// step 1 read_file
	// step 1 completed
	// It says hello.
}
