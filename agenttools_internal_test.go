package attractor

import (
	"slices"
	"testing"

	"github.com/attractor-go/attractor/ext"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

// The names in definitions stand for the tools that do the same, whatever they are called.
func TestM8_ToolsByName(t *testing.T) {
	var tools []tool.Tool
	for _, name := range []string{"read_file", "write_file", "edit_file", "shell", "process", "grep", "web_fetch",
		"spawn_agent", "skill", "read_output", "mcp__a__one", "mcp__a__two", "mcp__b__one"} {
		tools = append(tools, tool.Tool{ToolDefinition: llm.ToolDefinition{Name: name,
			Deferred: name == "mcp__b__one"}})
	}
	tools = append(tools, tool.Tool{ToolDefinition: llm.ToolDefinition{Name: "tool_search", Finds: true}},
		tool.Tool{ToolDefinition: llm.ToolDefinition{Name: "tool_call"}, Forwards: true})
	for name, c := range map[string]struct {
		agent           ext.Agent
		chosen, missing []string
	}{
		"names of Claude Code": {ext.Agent{Tools: []string{"Read", "MultiEdit", "Bash(git:*)"}},
			[]string{"read_file", "edit_file", "shell", "process", "read_output"}, nil},
		"own names": {ext.Agent{Tools: []string{"read_file", "grep"}},
			[]string{"read_file", "grep", "read_output"}, nil},
		"unknown": {ext.Agent{Tools: []string{"Grep", "Glob", "WebSearch"}},
			[]string{"grep", "read_output"}, []string{"Glob", "WebSearch"}},
		"a server": {ext.Agent{Tools: []string{"mcp__a"}},
			[]string{"read_output", "mcp__a__one", "mcp__a__two"}, nil},
		"a server's tool": {ext.Agent{Tools: []string{"mcp__a__two", "mcp__c"}},
			[]string{"read_output", "mcp__a__two"}, []string{"mcp__c"}},
		"a tool to be found": {ext.Agent{Tools: []string{"mcp__b__*"}},
			[]string{"read_output", "mcp__b__one", "tool_search", "tool_call"}, nil},
		"none": {ext.Agent{Tools: []string{}}, []string{"read_output"}, nil},
		"without": {ext.Agent{AllTools: true, Without: []string{"Edit", "mcp__a", "WebFetch", "read_output", "Bash"}},
			[]string{"read_file", "grep", "spawn_agent", "skill", "mcp__b__one", "tool_search", "tool_call"}, nil},
		"without reading": {ext.Agent{AllTools: true, Without: []string{"Read", "mcp__*"}},
			[]string{"write_file", "edit_file", "shell", "process", "grep", "web_fetch", "spawn_agent", "skill",
				"read_output", "tool_search", "tool_call"}, nil},
		"both": {ext.Agent{Tools: []string{"Read", "Bash"}, Without: []string{"Bash"}},
			[]string{"read_file", "read_output"}, nil},
		"plan": {ext.Agent{AllTools: true, Plans: true}, []string{"read_file", "grep", "web_fetch", "skill",
			"read_output"}, []string{"Glob", "LS", "WebSearch", "TodoWrite"}},
		"narrow plan": {ext.Agent{Tools: []string{"Read", "Bash", "mcp__a"}, Plans: true},
			[]string{"read_file", "read_output"}, nil},
	} {
		chosen, missing := choose(&c.agent, tools)
		if !slices.Equal(chosen, c.chosen) || !slices.Equal(missing, c.missing) {
			t.Errorf("%s: %q and not %q, want %q and not %q", name, chosen, missing, c.chosen, c.missing)
		}
	}
}
