package examples_test

import (
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

func TestQ2_Advance(t *testing.T) {
	t.Parallel()
	files := map[string]string{"README.md": "Greets whoever runs it.\n", "main.sh": "echo Hello!\n"}
	example(t, "advance", files, fakellm.Script(
		fakellm.Turn{Calls: []fakellm.Call{
			{Name: "read_file", Args: []byte(`{"file_path":"README.md"}`)},
			{Name: "read_file", Args: []byte(`{"file_path":"main.sh"}`)},
		}},
		fakellm.Turn{Text: "It greets whoever runs it."},
	), "What does this project do?")
}
