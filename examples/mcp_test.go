package examples_test

import (
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

func TestQ2_MCP(t *testing.T) {
	t.Parallel()
	example(t, "mcp", nil, func(r *fakellm.Request) fakellm.Turn {
		if r.Turn() == 0 {
			return fakellm.Turn{Calls: []fakellm.Call{{Name: "mcp__trains__next", Args: []byte(`{"station":"Basel"}`)}}}
		}
		return fakellm.Turn{Text: "At 10:04."}
	}, "When does the next train leave Basel?")
}
