// Command anthropic is a bash tool in the streaming tool runner of Anthropic's SDK.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/toolrunner"
)

type bash struct {
	Command string `json:"command" jsonschema:"required"`
}

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "anthropic:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, url, task string) error {
	client := sdk.NewClient(option.WithAPIKey("k"), option.WithBaseURL(url))
	tool, err := toolrunner.NewBetaToolFromJSONSchema("bash", "Runs a command.",
		func(ctx context.Context, in bash) (sdk.BetaToolResultBlockParamContentUnion, error) {
			out, err := exec.CommandContext(ctx, "bash", "-c", in.Command).CombinedOutput()
			text := sdk.BetaTextBlockParam{Text: string(out)}
			return sdk.BetaToolResultBlockParamContentUnion{OfText: &text}, err
		})
	if err != nil {
		return err
	}
	runner := client.Beta.Messages.NewToolRunnerStreaming([]sdk.BetaTool{tool},
		sdk.BetaToolRunnerParams{BetaMessageNewParams: sdk.BetaMessageNewParams{
			Model: "claude-sonnet-5-5", MaxTokens: 1000,
			Messages: []sdk.BetaMessageParam{sdk.NewBetaUserMessage(sdk.NewBetaTextBlock(task))}}})
	for events, err := range runner.AllStreaming(ctx) {
		if err != nil {
			return err
		}
		for ev, err := range events {
			if err != nil {
				return err
			}
			fmt.Print(ev.Delta.Text)
		}
	}
	return runner.Err()
}
