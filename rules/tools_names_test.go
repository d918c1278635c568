package rules_test

import (
	"testing"

	"github.com/attractor-go/attractor/rules"
)

// Each tool of the three profiles in both dialects has the name that Claude Code's files use, and
// is covered by it.
func TestM9_ClaudeNames(t *testing.T) {
	for tool, want := range map[string]string{
		"shell": "Bash", "run_shell_command": "Bash", "exec_command": "Bash", "Bash": "Bash", "write_stdin": "Bash",
		"process":   "Bash",
		"read_file": "Read", "read_many_files": "Read", "view_image": "Read", "Read": "Read", "write_file": "Write",
		"Write":     "Write",
		"edit_file": "Edit", "replace": "Edit", "apply_patch": "Edit", "Edit": "Edit", "MultiEdit": "MultiEdit",
		"grep": "Grep", "grep_search": "Grep",
		"glob": "Glob", "list_dir": "LS", "list_directory": "LS", "web_fetch": "WebFetch", "spawn_agent": "Agent",
		"invoke_agent": "Agent", "Task": "Agent",
		"Agent": "Agent", "skill": "Skill", "update_plan": "TodoWrite", "ask_user": "AskUserQuestion",
		"request_user_input": "AskUserQuestion",
		"mcp__files__read":   "mcp__files__read", "tool_search": "tool_search", "read_output": "TaskOutput",
		"TaskStop": "TaskStop", "wait": "wait",
	} {
		if got := rules.ClaudeName(tool); got != want {
			t.Errorf("ClaudeName(%s) = %s, want %s", tool, got, want)
		}
		if !rules.Covers(want, tool) && want != "TaskOutput" {
			t.Errorf("%s does not cover %s", want, tool)
		}
	}
	for tool, no := range map[string]string{"read_file": "Edit", "shell": "Read", "mcp__a__b": "mcp__c",
		"grep": "Glob"} {
		if rules.Covers(no, tool) {
			t.Errorf("%s covers %s", no, tool)
		}
	}
	if !rules.Covers("mcp__files", "mcp__files__read") || !rules.Covers("Edit", "write_file") {
		t.Error("a name of a server, or Edit, covers too little")
	}
}
