//go:build unix

package hooks_test

import (
	"context"
	"fmt"
	"log"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/ext"
	"github.com/attractor-go/attractor/ext/hooks"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// settings is a file of a user's, in the form of Claude Code's settings.
const settings = `{"hooks": {
	"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command",
		"command": "grep -q 'git push' || exit 0; echo 'A person pushes.' >&2; exit 2"}]}],
	"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "echo 'It is Friday: nothing is deployed.'"}]}]
}}`

// A session with the hooks of a file. This one refuses a command, and tells the model something
// about each input.
func ExampleHooks_Attach() {
	ctx := context.Background()
	local, err := env.NewLocal(".", env.LocalOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer local.Close()
	parsed := hooks.Parse(ext.File{Name: "settings.json", Data: []byte(settings)})
	for _, m := range parsed.Mistakes {
		log.Print(m)
	}
	h := hooks.New(hooks.Options{Hooks: parsed.Hooks, Dir: local.WorkDir(),
		Env:  func(ext.Origin) (env.Environment, error) { return local, nil },
		Warn: func(code, text string) { log.Print(code, ": ", text) }})

	model := llmtest.NewProvider("test", llmtest.Calls(llmtest.Call("shell", map[string]any{"command": "git push"})),
		llmtest.Text("I may not push."))
	options := agent.Options{
		Client: &llm.Client{Providers: []llm.Provider{model}},
		Profile: profile.Profile{Name: "test", Provider: "test", Model: "model-1", Prompt: "You work.",
			Tools: []tool.Tool{coding.Shell(0)}},
		Env: local,
		OnEvent: func(event agent.Event) {
			if e, ok := event.(*agent.ToolCallEnd); ok {
				fmt.Println(e.Output)
			}
		},
	}
	h.Attach(&options)
	session, err := agent.New(ctx, options)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close() // tells the hooks for SessionEnd
	if err := h.Start(ctx, session, "startup", "model-1"); err != nil {
		log.Fatal(err)
	}
	result, err := session.Submit(ctx, "Publish it.")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Text)
	for _, m := range model.Requests()[0].Messages[1:] {
		fmt.Printf("%s: %s\n", m.Role, m.Parts.Text())
	}
	// Output:
	// Error: the call of shell was not permitted: A person pushes.
	// I may not push.
	// user: Publish it.
	// user: It is Friday: nothing is deployed.
}

// What a file says, and what is wrong in it.
func ExampleParse() {
	parsed := hooks.Parse(ext.File{Name: "hooks.json", Data: []byte(`{"hooks": {
		"PostToolUse": [{"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "gofmt -w .", "timeout": 10}]}],
		"AfterLunch":  [{"hooks": [{"type": "command", "command": "true"}]}]
	}}`)})
	for _, h := range parsed.Hooks {
		fmt.Println(h.Event, h.Matcher, h.Timeout, &h)
	}
	for _, m := range parsed.Mistakes {
		fmt.Println(m)
	}
	// Output:
	// PostToolUse Edit|Write 10s gofmt -w .
	// hooks.json, line 3: there is no event AfterLunch here, so its hooks are not used; supported are SessionStart, UserPromptSubmit, PreToolUse, PermissionRequest, PostToolUse, PostToolUseFailure, Notification, SubagentStart, SubagentStop, Stop, PreCompact, SessionEnd
}
