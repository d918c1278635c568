package examples_test

import (
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
)

func TestQ2_Customtool(t *testing.T) {
	t.Parallel()
	tickets := `{"OPS-17": {"state": "open", "title": "Timeout when saving large orders"}}`
	// The answer quotes what the tool returned, so it is right only if the tool ran.
	model := func(r *fakellm.Request) fakellm.Turn {
		for _, m := range r.Messages {
			for _, p := range m.Parts {
				if result, ok := p.(llm.ToolResult); ok {
					return fakellm.Turn{Text: "The ticket says: " + result.Content.Text()}
				}
			}
		}
		return fakellm.Turn{Calls: []fakellm.Call{{Name: "ticket", Args: []byte(`{"ticket":"OPS-17"}`)}}}
	}
	example(t, "customtool", map[string]string{"tickets.json": tickets}, model, "What is OPS-17 about?")
}
