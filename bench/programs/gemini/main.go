// Command gemini is a loop with a bash tool on Google's SDK, which streams from generateContent.
// The SDK has no tool runner.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"google.golang.org/genai"
)

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "gemini:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, url, task string) error {
	client, err := genai.NewClient(ctx, &genai.ClientConfig{APIKey: "k", Backend: genai.BackendGeminiAPI,
		HTTPOptions: genai.HTTPOptions{BaseURL: url}})
	if err != nil {
		return err
	}
	bash := &genai.FunctionDeclaration{Name: "bash", Description: "Runs a command.",
		Parameters: &genai.Schema{Type: genai.TypeObject,
			Properties: map[string]*genai.Schema{"command": {Type: genai.TypeString}},
			Required:   []string{"command"}}}
	config := &genai.GenerateContentConfig{
		Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{bash}}}}
	history := genai.Text(task)
	for {
		answer := &genai.Content{Role: genai.RoleModel}
		results := &genai.Content{Role: genai.RoleUser}
		for chunk, err := range client.Models.GenerateContentStream(ctx, "gemini-3-pro", history, config) {
			if err != nil {
				return err
			}
			if len(chunk.Candidates) == 0 || chunk.Candidates[0].Content == nil {
				continue
			}
			for _, part := range chunk.Candidates[0].Content.Parts {
				if part.Text == "" && part.FunctionCall == nil {
					continue
				}
				answer.Parts = append(answer.Parts, part)
				fmt.Print(part.Text)
				if part.FunctionCall == nil {
					continue
				}
				out, err := exec.CommandContext(ctx, "bash", "-c",
					fmt.Sprint(part.FunctionCall.Args["command"])).CombinedOutput()
				if err != nil {
					return err
				}
				results.Parts = append(results.Parts,
					genai.NewPartFromFunctionResponse("bash", map[string]any{"output": string(out)}))
			}
		}
		if len(results.Parts) == 0 {
			return nil
		}
		history = append(history, answer, results)
	}
}
