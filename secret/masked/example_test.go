package masked_test

import (
	"context"
	"fmt"
	"log"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/secret"
	"github.com/attractor-go/attractor/secret/masked"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// A session whose model and host never see a token that is in a file, nor one that a person types.
func ExampleAttach() {
	ctx := context.Background()
	m := secret.New()
	if err := m.Register("DEPLOY_TOKEN", "k7Gq-29xLm-44-z"); err != nil {
		log.Fatal(err)
	}
	model := llmtest.NewProvider("test",
		llmtest.Calls(llmtest.Call("read_file", map[string]string{"file_path": ".env"})), llmtest.Text("It is set."))
	options := agent.Options{
		Client: &llm.Client{Providers: []llm.Provider{model}},
		Profile: profile.Profile{Name: "test", Provider: "test", Model: "model-1", Prompt: "You read.",
			Tools: []tool.Tool{coding.ReadFile()}},
		Env: envtest.NewMemory(map[string]string{".env": "TOKEN=k7Gq-29xLm-44-z\n"}),
		OnEvent: func(event agent.Event) {
			if e, ok := event.(*agent.ToolCallEnd); ok {
				fmt.Print(e.Output)
			}
		},
	}
	options.System = masked.Prompt(ctx, m, options)
	masked.Attach(m, &options)
	session, err := agent.New(ctx, options)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	if _, err := session.Submit(ctx, "Is the token set to k7Gq-29xLm-44-z?"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(model.Requests()[0].Messages[1].Parts.Text())
	// Output:
	//   1 | TOKEN=[secret DEPLOY_TOKEN]
	// Is the token set to [secret DEPLOY_TOKEN]?
}
