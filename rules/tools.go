package rules

import (
	"cmp"
	"strings"
	"sync"
)

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

// names holds the tools, one row for each name of Claude Code: the kind, that name, and the names
// that tools of this module and of native dialects have for the same.
const names = `
command  Bash             shell run_shell_command exec_command
input    -                process write_stdin
read     Read             read_file read_many_files view_image
read     Grep             grep grep_search
read     Glob             glob
read     LS               list_dir list_directory
read     NotebookRead
edit     Edit             edit_file replace apply_patch
edit     Write            write_file
edit     MultiEdit
edit     NotebookEdit
fetch    WebFetch         web_fetch
lookUp   WebSearch        web_search google_web_search
agents   Agent            Task spawn_agent invoke_agent
agents   SendMessage      send_input
skill    Skill            skill activate_skill
inner    AskUserQuestion  ask_user request_user_input
inner    TodoWrite        update_plan
inner    TaskOutput       read_output read_background_output
inner    TaskStop         close_agent
inner    ExitPlanMode     exit_plan_mode
inner    -                list_background_processes BashOutput KillShell KillBash wait EnterPlanMode
`

// named holds what names says of one tool.
type named struct {
	kind   kind
	claude string // its name in Claude Code, or ""
}

var tools = sync.OnceValue(func() map[string]named {
	kinds := map[string]kind{"command": command, "input": input, "read": read, "edit": edit, "fetch": fetch,
		"lookUp": lookUp, "agents": agents, "skill": skill, "inner": inner}
	all := map[string]named{}
	for row := range strings.Lines(strings.TrimSpace(names)) {
		fields := strings.Fields(row)
		of, claude, others := kinds[fields[0]], fields[1], fields[2:]
		if claude == "-" {
			claude = ""
		} else {
			others = append(others, claude)
		}
		for _, name := range others {
			all[name] = named{of, claude}
		}
	}
	return all
})

// kindOf returns the kind of a tool of this module, of a native dialect, or of Claude Code.
func kindOf(name string) kind {
	if strings.HasPrefix(name, "mcp__") {
		return mcp
	}
	return tools()[name].kind
}

// Covers reports whether a name of a tool, as Claude Code's files have it, stands for a tool of
// this module, of a native dialect or of an MCP server: Bash for shell, Edit for all tools that
// change files, mcp__server for all tools of the server.
func Covers(name, tool string) bool { return name == tool || covers(name, tool, kindOf(tool)) }

// ClaudeName returns the name that Claude Code has for what a tool does, such as Bash for shell,
// and the name itself if it has none.
func ClaudeName(tool string) string {
	if kindOf(tool) == input {
		return "Bash"
	}
	return cmp.Or(tools()[tool].claude, tool)
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
	case "Agent", "Task":
		return of == agents
	}
	if of == mcp {
		return coversMCP(rule, tool)
	}
	return rule == tool || rule == ClaudeName(tool)
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
