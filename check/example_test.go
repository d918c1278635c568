package check_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/check"
	"github.com/attractor-go/attractor/checkpoint"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// The model says that it is done before it is. The check sends it back to work, and verifies what
// it then does.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	work := filepath.Join(dir, "work") // in a real program, a project
	if err := errors.Join(os.Mkdir(work, 0o755), os.WriteFile(filepath.Join(work, "greet.txt"),
		[]byte("Hello, wrold!\n"), 0o644)); err != nil {
		log.Fatal(err)
	}
	local, err := env.NewLocal(work, env.LocalOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer local.Close()
	store, err := checkpoint.OpenDir(filepath.Join(dir, "trees"), checkpoint.DirOptions{})
	if err != nil {
		log.Fatal(err)
	}
	recorder := checkpoint.NewRecorder(checkpoint.RecorderOptions{Store: store, Owner: "session-1"})

	var s *agent.Session
	checks, err := check.New(check.Options{
		Commands: []string{"grep -n world greet.txt"},
		Env:      local,
		Tree:     func(ctx context.Context) (checkpoint.Tree, error) { return recorder.Record(ctx, local) },
		Note: func(ctx context.Context, kind string, data json.RawMessage, text string) error {
			return s.Note(ctx, kind, data, text)
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	model := llmtest.NewProvider("test",
		llmtest.Text("Done."),
		llmtest.Calls(llmtest.Call("edit_file", `{"file_path":"greet.txt","old_string":"wrold","new_string":"world"}`)),
		llmtest.Text("Now it is."))
	s, err = agent.New(ctx, agent.Options{
		Client: &llm.Client{Providers: []llm.Provider{model}},
		Profile: profile.Profile{Provider: "test", Model: "model-1", Prompt: "You fix.",
			Tools: []tool.Tool{coding.EditFile()}},
		Env:    local,
		Hooks:  agent.Hooks{BeforeStop: checks.BeforeStop(nil, 0)},
		Policy: agent.Policy{MaxConfirms: checks.MaxConfirms(0)},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	result, err := s.Submit(ctx, "fix the greeting")
	if err != nil {
		log.Fatal(err)
	}
	report, err := checks.End(ctx, result.Reason)
	fmt.Println(result.Text, err)
	fmt.Println(report.Status, "after", report.Rounds, "round")
	for _, run := range report.Runs {
		fmt.Printf("%s: %q\n", run.Command, run.Output)
	}
	// Output:
	// Now it is. <nil>
	// verified after 1 round
	// grep -n world greet.txt: "1:Hello, world!\n"
}
