package shellenv_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env/shellenv"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile/anthropic"
)

// A session works in a remote environment. The example uses a shell of this machine instead of
// docker or ssh, and a scripted model, so that it needs no key.
func Example() {
	if err := session([]string{"/bin/sh", "-c"}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// shell: 3 notes.txt
	// All three are there.
}

func session(prefix []string) error {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "shellenv-")
	if err != nil {
		return err
	}
	e, err := shellenv.New(ctx, prefix, dir)
	if err != nil {
		return err
	}
	model := llmtest.NewProvider("anthropic",
		llmtest.Calls(llmtest.Call("write_file", map[string]any{"file_path": "notes.txt",
			"content": "one\ntwo\nthree\n"})),
		llmtest.Calls(llmtest.Call("shell", map[string]any{"command": "wc -l notes.txt"})),
		llmtest.Text("All three are there."))
	s, err := agent.New(ctx, agent.Options{
		Client:  &llm.Client{Providers: []llm.Provider{model}},
		Profile: anthropic.Profile(),
		Env:     e,
		OnEvent: func(ev agent.Event) {
			if end, ok := ev.(*agent.ToolCallEnd); ok && end.Name == "shell" {
				fmt.Print("shell: ", end.Output)
			}
		},
	})
	if err != nil {
		return errors.Join(err, e.Close())
	}
	result, err := s.Submit(ctx, "Note the first three numbers.")
	if err == nil {
		fmt.Println(result.Text)
	}
	return errors.Join(err, s.Close(), e.Close(), os.RemoveAll(dir))
}
