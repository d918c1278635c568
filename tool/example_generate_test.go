package tool_test

import (
	"context"
	"fmt"
	"log"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/generate"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
)

// One tool can serve both an agent and a program without one.
func ExampleRegistry_ForGenerate() {
	ctx := context.Background()
	files := envtest.NewMemory(nil)
	// The scripted model calls the tool and answers, once for each.
	write, done := llmtest.Calls(llmtest.Call("write_line", `{"path":"notes.txt","line":"hello"}`)),
		llmtest.Text("It is written.")
	client := &llm.Client{Providers: []llm.Provider{llmtest.NewProvider("test", write, done, write, done)}}

	session, err := agent.New(ctx, agent.Options{Client: client, Env: files, Tools: []tool.Tool{writeLine()},
		Profile: profile.Profile{Name: "notes", Provider: "test", Model: "model-1", Prompt: "You take notes."}})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	said, err := session.Submit(ctx, "note hello")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(said.Text)

	registry, err := tool.NewRegistry(writeLine())
	if err != nil {
		log.Fatal(err)
	}
	result, err := generate.Generate(ctx, client, generate.Options{Model: "model-1", Prompt: "note hello",
		Tools: registry.ForGenerate(tool.Call{Env: files}, nil)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Steps[0].Results[0].Content.Text(), result.Text())
	// Output:
	// It is written.
	// Written. It is written.
}
