package instructions_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/instructions"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// Which documents a session in a directory has, which document imports each, and what is wrong with
// them. Those of directories below come later.
func ExampleFind() {
	project := envtest.NewMemory(map[string]string{
		"AGENTS.md":     "Run `go test ./...`. See @docs/style.md and @docs/gone.md.\n",
		"CLAUDE.md":     "Commit nothing.\n",
		"docs/style.md": "Short functions.\n",
		"web/AGENTS.md": "No frameworks.\n",
	})
	found := instructions.Find(context.Background(), project, project.WorkDir(),
		instructions.Options{Names: []string{"CLAUDE.md"}})
	for _, d := range found.Documents {
		fmt.Printf("%s %s %q\n", d.Path, d.State, d.By)
	}
	for _, m := range found.Mistakes {
		fmt.Println(m)
	}
	// Output:
	// /work/AGENTS.md whole ""
	// /work/docs/style.md whole "/work/AGENTS.md"
	// /work/CLAUDE.md whole ""
	// /work/AGENTS.md, line 1: @docs/gone.md is not imported: there is no such file
}

// A session reads the documents of its directory by itself. With the middleware, the model also
// gets those of a directory below, when it first reads a file there.
func ExampleBelow() {
	ctx := context.Background()
	model := llmtest.NewProvider("test",
		llmtest.Calls(llmtest.Call("read_file", map[string]any{"file_path": "web/page.js"})), llmtest.Text("Read."))
	options := agent.Options{
		Client: &llm.Client{Providers: []llm.Provider{model}},
		Profile: profile.Profile{Name: "test", Provider: "test", Model: "model-1", Prompt: "You read.",
			Tools: []tool.Tool{coding.ReadFile()}},
		Env: envtest.NewMemory(map[string]string{"AGENTS.md": "Run the tests.\n",
			"web/AGENTS.md": "No frameworks.\n", "web/page.js": "let x\n"}),
		Documents: instructions.Options{Names: []string{"CLAUDE.md"}},
	}
	options.Middleware = append(options.Middleware, instructions.Below(options.Documents))
	session, err := agent.New(ctx, options)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	if _, err := session.Submit(ctx, "Read the page."); err != nil {
		log.Fatal(err)
	}
	for n, req := range model.Requests() {
		var sent strings.Builder
		for _, m := range req.Messages {
			sent.WriteString(m.Parts.Text())
		}
		fmt.Println(n+1, strings.Contains(sent.String(), "Run the tests."),
			strings.Contains(sent.String(), "No frameworks."))
	}
	// Output:
	// 1 true false
	// 2 true true
}
