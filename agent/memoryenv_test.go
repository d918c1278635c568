package agent_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/attractor-go/attractor/agent"
	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/envtest"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// spell is a command of the test, a spell checker that knows one mistake.
func spell(ctx context.Context, e env.Environment, cmd env.Command) env.Exit {
	f, err := e.Open(ctx, "greet.txt")
	if err != nil {
		return env.Exit{Code: 2}
	}
	text, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return env.Exit{Code: 2}
	}
	if strings.Contains(string(text), "wrold") {
		cmd.Output(env.Stderr, []byte("wrold: unknown word\n"))
		return env.Exit{Code: 1}
	}
	return env.Exit{}
}

// A whole session runs in a synctest bubble: the real coding tools on an environment in memory.
func TestD1_SessionInMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := envtest.NewMemory(map[string]string{"greet.txt": "Hello, wrold!\n", "AGENTS.md": "Mind your spelling.\n"})
		e.Commands = func(ctx context.Context, cmd env.Command) env.Exit {
			if cmd.Script == "spell greet.txt" {
				return spell(ctx, e, cmd)
			}
			<-ctx.Done() // it serves
			return env.Exit{}
		}
		model := llmtest.NewProvider("test",
			llmtest.Calls(llmtest.Call("read_file", `{"file_path":"greet.txt"}`),
				llmtest.Call("shell", `{"command":"spell greet.txt"}`)),
			llmtest.Calls(llmtest.Call("edit_file",
				`{"file_path":"greet.txt","old_string":"wrold","new_string":"world"}`)),
			llmtest.Calls(llmtest.Call("shell", `{"command":"spell greet.txt"}`),
				llmtest.Call("grep", `{"pattern":"world"}`)),
			llmtest.Calls(llmtest.Call("shell", `{"command":"serve","timeout_ms":600000}`)),
			llmtest.Text("done"))
		s, err := agent.New(context.Background(), agent.Options{
			Client: &llm.Client{Providers: []llm.Provider{model}},
			Env:    e,
			Profile: profile.Profile{Name: "test", Provider: "test", Model: "model-1",
				Tools: []tool.Tool{coding.ReadFile(), coding.EditFile(), coding.Shell(time.Minute), coding.Grep()}},
			OutputDir: t.TempDir(),
		})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if result, err := s.Submit(context.Background(), "fix the spelling"); err != nil || result.Text != "done" {
			t.Errorf("Submit = %+v, %v", result, err)
		}
		if took := time.Since(began); took != 10*time.Minute {
			t.Errorf("the session took %v, want the command's timeout", took)
		}
		want := map[string]string{"greet.txt": "Hello, world!\n", "AGENTS.md": "Mind your spelling.\n"}
		if diff := gocmp.Diff(want, e.Files()); diff != "" {
			t.Error(diff)
		}
		if prompt := model.Requests()[0].Messages[0].Parts.Text(); !strings.Contains(prompt, "Mind your spelling.") ||
			!strings.Contains(prompt, "Working directory: /work") {
			t.Errorf("the system prompt is %q", prompt)
		}
		var results []string
		for _, turn := range s.History() {
			for _, part := range turn.Message.Parts {
				if r, ok := part.(llm.ToolResult); ok {
					results = append(results, r.Content.Text())
				}
			}
		}
		for i, part := range []string{"Hello, wrold!", "wrold: unknown word\nExit code: 1", "line 1", "(no output)",
			"greet.txt", "timed out after 600000ms"} {
			if i >= len(results) || !strings.Contains(results[i], part) {
				t.Errorf("result %d of %q lacks %q", i, results, part)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
