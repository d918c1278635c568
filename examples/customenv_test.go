package examples_test

import (
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
)

func TestQ2_Customenv(t *testing.T) {
	t.Parallel()
	call := func(name, args string) fakellm.Turn {
		return fakellm.Turn{Calls: []fakellm.Call{{Name: name, Args: []byte(args)}}}
	}
	script := fakellm.Script(
		call("write_file", `{"file_path":"docs/guide.md","content":"A guide.\n"}`),
		call("read_file", `{"file_path":"main.go"}`),
		call("write_file", `{"file_path":"main.go","content":"// See docs/guide.md.\n"}`),
		call("shell", `{"command":"echo changed > main.go"}`),
		call("read_file", `{"file_path":"docs/guide.md"}`),
		call("read_file", `{"file_path":"main.go"}`),
		fakellm.Turn{Text: "I wrote the guide, but may not change main.go."},
	)
	// The results of the calls say what became of the files.
	want := []string{"", "package main", "docs may be changed", "read-only", "A guide.", "package main"}
	model := func(r *fakellm.Request) fakellm.Turn {
		if r.Turn() == len(want) {
			results := toolResults(r)
			if len(results) != len(want) {
				t.Errorf("there are %d results, want %d", len(results), len(want))
				return script(r)
			}
			for i, result := range results {
				if !strings.Contains(result.Content.Text(), want[i]) {
					t.Errorf("call %d returned %q, want %q", i, result.Content.Text(), want[i])
				}
			}
		}
		return script(r)
	}
	example(t, "customenv", map[string]string{"main.go": "package main\n"}, model,
		"Write a guide, and mention it in main.go.")
}

func toolResults(r *fakellm.Request) (results []llm.ToolResult) {
	for _, m := range r.Messages {
		for _, p := range m.Parts {
			if result, ok := p.(llm.ToolResult); ok {
				results = append(results, result)
			}
		}
	}
	return results
}
