// Command openai is a loop with a bash tool on OpenAI's SDK, which streams from the Responses API.
// The SDK has no tool runner.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
)

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "openai:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, url, task string) error {
	client := sdk.NewClient(option.WithAPIKey("k"), option.WithBaseURL(url+"/v1"))
	bash := &responses.FunctionToolParam{Name: "bash", Strict: param.NewOpt(false),
		Parameters: map[string]any{"type": "object",
			"properties": map[string]any{"command": map[string]any{"type": "string"}},
			"required":   []string{"command"}}}
	tools := []responses.ToolUnionParam{{OfFunction: bash}}
	input := responses.ResponseInputParam{responses.ResponseInputItemParamOfMessage(task,
		responses.EasyInputMessageRoleUser)}
	for {
		calls, err := ask(ctx, client, responses.ResponseNewParams{Model: "gpt-6.1-sol", Tools: tools,
			Store: param.NewOpt(false), Input: responses.ResponseNewParamsInputUnion{OfInputItemList: input}})
		if err != nil || len(calls) == 0 {
			return err
		}
		for _, c := range calls {
			input = append(input, responses.ResponseInputItemParamOfFunctionCall(c.Arguments.OfString, c.CallID,
				c.Name))
		}
		for _, c := range calls {
			var args struct{ Command string }
			if err := json.Unmarshal([]byte(c.Arguments.OfString), &args); err != nil {
				return err
			}
			out, err := exec.CommandContext(ctx, "bash", "-c", args.Command).CombinedOutput()
			if err != nil {
				return err
			}
			result := responses.ResponseInputItemParamOfFunctionCallOutput(string(out))
			result.OfFunctionCallOutput.CallID = param.NewOpt(c.CallID)
			input = append(input, result)
		}
	}
}

// ask prints the text of an answer and returns its calls.
func ask(ctx context.Context, client sdk.Client,
	params responses.ResponseNewParams) (calls []responses.ResponseOutputItemUnion, err error) {
	events := client.Responses.NewStreaming(ctx, params)
	for events.Next() {
		switch ev := events.Current(); ev.Type {
		case "response.output_text.delta":
			fmt.Print(ev.Delta)
		case "response.output_item.done":
			if ev.Item.Type == "function_call" {
				calls = append(calls, ev.Item)
			}
		}
	}
	return calls, events.Err()
}
