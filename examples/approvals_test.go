package examples_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/attractor-go/attractor/llm/fakellm"
)

// TestQ2_Approvals answers the questions on the example's standard input.
func TestQ2_Approvals(t *testing.T) {
	t.Parallel()
	shell := func(command string) fakellm.Turn {
		return fakellm.Turn{Calls: []fakellm.Call{{Name: "shell", Args: []byte(`{"command":"` + command + `"}`)}}}
	}
	dir := t.TempDir()
	cmd := command(t, "approvals", dir, fakellm.Script(
		shell("echo 1.2 > VERSION"), shell("cat VERSION"), shell("rm VERSION"), shell("git push origin v1.2"),
		fakellm.Turn{Text: "The version is 1.2, and not yet pushed."},
	), "Release the project.")
	cmd.Stdin = strings.NewReader("y\nn\n")
	prints(t, "approvals", cmd)
	if text, err := os.ReadFile(filepath.Join(dir, "VERSION")); err != nil || string(text) != "1.2\n" {
		t.Errorf("the file has %q, %v", text, err)
	}
}
