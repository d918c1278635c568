package examples_test

import (
	"os"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
)

// The program in the README is this example, and does its task.
func TestQ1_Readme(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("readme/main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := strings.Cut(string(source), "\npackage main\n")
	page, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "```go\npackage main\n"+program+"```\n") {
		t.Error("the program in README.md is not examples/readme/main.go")
	}
	run := fakellm.Call{Name: "shell", Args: []byte(`{"command":"sh sum_test.sh"}`)}
	edit := fakellm.Call{Name: "edit_file", Args: []byte(`{"file_path":"sum.sh","old_string":"-","new_string":"+"}`)}
	files := map[string]string{"sum.sh": "echo $(($1 - $2))\n", "sum_test.sh": "[ $(sh sum.sh 2 3) = 5 ]\n"}
	example(t, "readme", files, func(r *fakellm.Request) fakellm.Turn {
		return [...]fakellm.Turn{{Text: "I'll run the test.", Calls: []fakellm.Call{run}},
			{Text: "The operator is wrong.", Calls: []fakellm.Call{edit, run}}, {Text: verdict(r)}}[r.Turn()]
	})
}

// verdict returns what the model says once it has seen the results of the edit and of the second
// run.
func verdict(r *fakellm.Request) string {
	for _, part := range r.Messages[len(r.Messages)-1].Parts {
		if result, ok := part.(llm.ToolResult); ok && strings.Contains(result.Content.Text(), "Exit code") {
			return "The test still fails."
		}
	}
	return "The test passes: sum adds now."
}
