package examples_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/fakellm"
)

func TestQ2_Batch(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	args := []string{"What is this?"}
	for name, readme := range map[string]string{"api": "A server.", "web": "LONG", "cli": "A command."} {
		if err := os.Mkdir(filepath.Join(root, name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name, "README.md"), []byte(readme), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"api", "web", "cli"} {
		args = append(args, filepath.Join(root, name))
	}
	read := fakellm.Turn{Calls: []fakellm.Call{{Name: "read_file", Args: []byte(`{"file_path":"README.md"}`)}},
		Usage: &llm.Usage{Input: 2000, Output: 500}}
	example(t, "batch", nil, func(r *fakellm.Request) fakellm.Turn {
		if r.Turn() == 0 {
			return read
		}
		for _, p := range r.Messages[len(r.Messages)-1].Parts {
			result, _ := p.(llm.ToolResult)
			text := result.Content.Text()
			for _, answer := range []string{"A server.", "A command."} {
				if strings.Contains(text, answer) {
					return fakellm.Turn{Text: answer, Usage: &llm.Usage{Input: 3000, Output: 300}}
				}
			}
		}
		more := read
		more.Text, more.Usage = "I have to look further.", &llm.Usage{Input: 2000, Output: r.MaxTokens}
		return more
	}, args...)
}
