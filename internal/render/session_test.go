package render

import (
	"encoding/json"
	"testing"

	"github.com/attractor-go/attractor/agent"
)

// A call that is passed on is shown as the tool that it calls.
func TestM4_ForwardedCallsInProgress(t *testing.T) {
	for args, want := range map[string]string{
		`{"name": "mcp__files__read", "arguments": {"path": "a/b"}}`: "✓ mcp__files__read a/b <1ms\n",
		`{"name": "mcp__files__read"}`:                               "✓ mcp__files__read  <1ms\n",
		`{"name": ""}`:                                               `✓ tool_call {"name": ""} <1ms` + "\n",
		`{"_raw": "x"}`:                                              "✓ tool_call x <1ms\n",
	} {
		s := NewSession(Style{})
		out := s.Event(&agent.ToolCallStart{CallID: "1", Name: "tool_call", Arguments: json.RawMessage(args)})
		out += s.Event(&agent.ToolCallEnd{CallID: "1", Name: "tool_call"})
		if out != want {
			t.Errorf("%s is shown as %q, want %q", args, out, want)
		}
	}
}
