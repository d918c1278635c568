package rules

import "strings"

// kind says what the rules for a tool are about.
type kind uint8

const (
	other   kind = iota // a tool that is known by its name alone
	command             // runs a script
	input               // writes to the input of a running command
	read                // reads files
	edit                // changes files
	fetch               // reads from the network
	lookUp              // searches the web, which a vendor may run
	agents              // starts and instructs agents, whose own calls are judged
	skill
	mcp
	inner // has no effect on the machine, or ends what the session has started
)

// kindOf returns the kind of a tool of this module, of a native dialect, or of Claude Code.
func kindOf(name string) kind {
	switch name {
	case "Bash", "shell", "run_shell_command", "exec_command":
		return command
	case "process", "write_stdin":
		return input
	case "Read", "read_file", "read_many_files", "view_image", "list_dir", "list_directory", "LS", "Grep", "grep",
		"grep_search", "Glob", "glob", "NotebookRead":
		return read
	case "Edit", "Write", "MultiEdit", "NotebookEdit", "write_file", "edit_file", "replace", "apply_patch":
		return edit
	case "WebFetch", "web_fetch":
		return fetch
	case "WebSearch", "web_search", "google_web_search":
		return lookUp
	case "Agent", "Task", "SendMessage", "spawn_agent", "send_input", "invoke_agent":
		return agents
	case "Skill", "skill", "activate_skill":
		return skill
	case "ask_user", "request_user_input", "AskUserQuestion", "update_plan", "TodoWrite", "read_output",
		"list_background_processes",
		"read_background_output", "BashOutput", "TaskOutput", "TaskStop", "KillShell", "KillBash", "wait",
		"close_agent", "exit_plan_mode", "ExitPlanMode", "EnterPlanMode":
		return inner
	}
	if strings.HasPrefix(name, "mcp__") {
		return mcp
	}
	return other
}

// Covers reports whether a name of a tool, as Claude Code's files have it, stands for a tool of
// this module, of a native dialect or of an MCP server: Bash for shell, Edit for all tools that
// change files, mcp__server for all tools of the server.
func Covers(name, tool string) bool { return name == tool || covers(name, tool, kindOf(tool)) }

// ClaudeName returns the name that Claude Code has for what a tool does, such as Bash for shell,
// and the name itself if it has none.
func ClaudeName(tool string) string {
	switch tool {
	case "write_file":
		return "Write"
	case "MultiEdit", "NotebookEdit", "NotebookRead", "Write", "SendMessage":
		return tool
	case "send_input":
		return "SendMessage"
	case "Task":
		return "Agent"
	case "read_output", "read_background_output":
		return "TaskOutput"
	case "close_agent":
		return "TaskStop"
	}
	for _, name := range []string{"Grep", "Glob", "LS", "TodoWrite", "AskUserQuestion", "ExitPlanMode", "WebFetch",
		"WebSearch", "Skill", "Bash", "Edit", "Read", "Agent"} {
		if covers(name, tool, kindOf(tool)) {
			return name
		}
	}
	return tool
}

// covers reports whether a rule with a tool's name, and no pattern, is about calls of a tool of
// some kind. The names of Claude Code stand for all tools that do the same.
func covers(rule, tool string, of kind) bool {
	switch rule {
	case "Bash":
		return of == command || of == input
	case "Read":
		return of == read
	case "Edit", "Write", "MultiEdit", "NotebookEdit":
		return of == edit
	case "Grep":
		return tool == "Grep" || tool == "grep" || tool == "grep_search"
	case "Glob":
		return tool == "Glob" || tool == "glob"
	case "LS":
		return tool == "LS" || tool == "list_dir" || tool == "list_directory"
	case "WebFetch":
		return of == fetch
	case "WebSearch":
		return of == lookUp
	case "Agent", "Task":
		return of == agents
	case "Skill":
		return of == skill
	case "TodoWrite":
		return tool == rule || tool == "update_plan"
	case "AskUserQuestion":
		return tool == rule || tool == "ask_user" || tool == "request_user_input"
	case "ExitPlanMode":
		return tool == rule || tool == "exit_plan_mode"
	}
	if of == mcp {
		return coversMCP(rule, tool)
	}
	return rule == tool
}

// coversMCP reports whether mcp__server, mcp__server__* or another name with stars stands for a
// tool of a server.
func coversMCP(rule, tool string) bool {
	if server, isAll := strings.CutSuffix(rule, "__*"); isAll && strings.Count(rule, "*") == 1 {
		return strings.HasPrefix(tool, server+"__")
	}
	if !strings.Contains(rule, "*") {
		return tool == rule || strings.HasPrefix(tool, rule+"__") &&
			!strings.Contains(strings.TrimPrefix(rule, "mcp__"), "__")
	}
	return starred(rule).match(tool)
}

// looks reports whether a tool reads all files in a directory, and whether it reads only their
// names.
func looks(name string) (trees, names bool) {
	switch name {
	case "Grep", "grep", "grep_search", "read_many_files":
		return true, false
	case "Glob", "glob", "LS", "list_dir", "list_directory":
		return false, true
	}
	return false, false
}
