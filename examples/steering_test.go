package examples_test

import (
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
)

func TestQ2_Steering(t *testing.T) {
	t.Parallel()
	greeting := fakellm.Turn{Calls: []fakellm.Call{{Name: "write_file",
		Args: []byte(`{"file_path":"greeting.txt","content":"Hello, dear reader!\n"}`)}}}
	changelog := fakellm.Turn{Calls: []fakellm.Call{{Name: "write_file",
		Args: []byte(`{"file_path":"CHANGELOG.md","content":"- A friendlier greeting\n"}`)}}}
	example(t, "steering", nil, func(r *fakellm.Request) fakellm.Turn {
		switch {
		case r.Turn() == 0:
			return greeting
		case r.Turn() == 1 && asked(r, "CHANGELOG.md"):
			return changelog
		case r.Turn() == 2:
			return fakellm.Turn{Text: "The greeting is friendlier, and the changelog says so."}
		}
		return fakellm.Turn{Text: "Nobody asked for a changelog."}
	}, "Make the greeting friendlier.")
}

// asked reports whether a message of the user has the text.
func asked(r *fakellm.Request, text string) bool {
	for _, m := range r.Messages {
		if m.Role == llm.RoleUser && strings.Contains(m.Parts.Text(), text) {
			return true
		}
	}
	return false
}
