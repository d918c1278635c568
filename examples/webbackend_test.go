package examples_test

import (
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

func TestQ2_Webbackend(t *testing.T) {
	t.Parallel()
	example(t, "webbackend", map[string]string{"README.md": "Greets whoever runs it.\n"}, fakellm.Script(
		fakellm.Turn{Calls: []fakellm.Call{{Name: "read_file", Args: []byte(`{"file_path":"README.md"}`)}}},
		fakellm.Turn{Text: "It greets whoever runs it."},
	), "What does this project do?")
}
