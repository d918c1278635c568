package mcp

import (
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A tool whose schema no rewriting saves is left out, and the host is told. The others stay.
func TestM1_ToolsThatCannotBe(t *testing.T) {
	w := new(warnings)
	s := start(t, Options{Warn: w.add})
	one := newServer(s, Server{Name: "lab"}, "lab")
	list := one.offer([]*sdk.Tool{{Name: "text", InputSchema: map[string]any{"type": "string"}},
		{Name: "never", InputSchema: false}, {Name: "list\u202e", InputSchema: []any{}},
		{Name: "good", InputSchema: map[string]any{"type": "object"}}, {Name: "bare"}})
	var kept []string
	for i := range list {
		kept = append(kept, list[i].tool.Name)
	}
	if got := strings.Join(kept, " "); got != "mcp__lab__good mcp__lab__bare" {
		t.Errorf("the tools are %s", got)
	}
	for _, want := range []string{"the tool text of the MCP server lab is left out: ", "a value of type",
		"the tool never of the MCP server lab is left out: ", `the tool list\u{202e} of`} {
		if !strings.Contains(w.all(), want) {
			t.Errorf("the warnings are %s, want %q", w.all(), want)
		}
	}
}
