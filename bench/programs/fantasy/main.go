// Command fantasy is a loop with a bash tool on charm.land/fantasy, which streams from Anthropic's
// Messages API.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"charm.land/fantasy"
	"charm.land/fantasy/providers/anthropic"
)

type bash struct {
	Command string `json:"command" description:"the command"`
}

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "fantasy:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, url, task string) error {
	provider, err := anthropic.New(anthropic.WithAPIKey("k"), anthropic.WithBaseURL(url))
	if err != nil {
		return err
	}
	model, err := provider.LanguageModel(ctx, "claude-sonnet-5-5")
	if err != nil {
		return err
	}
	tool := fantasy.NewAgentTool("bash", "Runs a command.", func(ctx context.Context, in bash,
		_ fantasy.ToolCall) (fantasy.ToolResponse, error) {
		out, err := exec.CommandContext(ctx, "bash", "-c", in.Command).CombinedOutput()
		if err != nil {
			return fantasy.NewTextErrorResponse(string(out) + err.Error()), nil
		}
		return fantasy.NewTextResponse(string(out)), nil
	})
	agent := fantasy.NewAgent(model, fantasy.WithTools(tool),
		fantasy.WithStopConditions(fantasy.StepCountIs(1_000_000)))
	_, err = agent.Stream(ctx, fantasy.AgentStreamCall{Prompt: task, OnTextDelta: func(_, text string) error {
		fmt.Print(text)
		return nil
	}})
	return err
}
