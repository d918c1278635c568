//go:build unix

package cli

import (
	"strings"
	"testing"
)

// An unknown language server is a mistake on the command line, and the answer names those there
// are.
func TestM11_Flag(t *testing.T) {
	h := newHome(t, "http://127.0.0.1:1")
	out := h.run(exitUsage, "run", "--yes", "--lsp", "gols", "the task")
	if !strings.Contains(out.stderr,
		"there is no language server gols; choose auto or off, or some of gopls, typescript,") {
		t.Errorf("stderr: %s", out.stderr)
	}
	h.writeFile("./.attractor/config.json", `{"lsp": "gols"}`)
	out = h.run(exitUsage, "run", "--yes", "--trust-project", "the task")
	if want := ".attractor/config.json, line 1: there is no language server gols"; !strings.Contains(out.stderr, want) {
		t.Errorf("the project's choice is told as %s", out.stderr)
	}
}
