package examples_test

import (
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

func TestQ2_Structured(t *testing.T) {
	t.Parallel()
	source := "package main\n\nfunc main() {\n\tGreet(\"you\")\n\tprintln(\"Helo\")\n}\n"
	example(t, "structured", map[string]string{"greet.go": source}, fakellm.Script(
		fakellm.Turn{Calls: []fakellm.Call{{Name: "read_file", Args: []byte(`{"file_path":"greet.go"}`)}}},
		fakellm.Turn{Text: `{"findings":[{"line":4,"severity":"high","message":"the error of Greet is ignored"},` +
			`{"line":5,"severity":"low","message":"\"Helo\" is misspelled"}]}`},
	), "greet.go")
}
