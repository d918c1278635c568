package cli

import (
	"strings"
	"testing"

	"github.com/attractor-go/attractor"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/llm/llmtest"
)

// A provider that a program adds to the command has the models of which the program knows
// something, and hints do not name a flag that it does not take.
func TestX6_ModelsOfTheProgramsProviders(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", "")
	program := Program{Configure: func(c *attractor.Config) {
		c.Providers = append(c.Providers, llmtest.NewProvider("acme"), llmtest.NewProvider("bare"))
		c.Models = append(c.Models, llm.Model{ID: "writer", Provider: "acme", Window: 7000})
	}}
	for want, args := range map[string][]string{
		"acme      writer  7000":                {"models", "--provider", "acme"},
		"No model of bare is listed here":       {"models", "--provider", "bare"},
		`unknown provider "other"; use one of `: {"models", "--provider", "other"},
	} {
		var out strings.Builder
		execute(args, terminal{in: strings.NewReader(""), out: &out, err: &out, program: program})
		if !strings.Contains(out.String(), want) {
			t.Errorf("%v: %s, want %s", args, out.String(), want)
		}
	}
	if hint := modelHint(&llm.Error{Kind: llm.ErrNetwork, Provider: "acme"}); hint == "" ||
		strings.Contains(hint, "--base-url") {
		t.Errorf("the hint %q", hint)
	}
}
