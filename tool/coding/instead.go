package coding

import "github.com/attractor-go/attractor/tool"

// otherNames returns the names that other agents give to a tool of this package.
func otherNames(name string) []string {
	switch name {
	case "read_file":
		return []string{"Read", "cat", "view", "open", "open_file", "view_file", "file_read", "fs_read",
			"read_many_files", "read_file"}
	case "write_file":
		return []string{"Write", "create", "create_file", "write_to_file", "save_file", "file_write", "write_file"}
	case "edit_file":
		return []string{"Edit", "replace", "MultiEdit", "str_replace", "str_replace_editor",
			"str_replace_based_edit_tool", "search_replace",
			"insert", "apply_diff", "apply_patch", "patch", "update_file", "edit_file"}
	case "shell":
		return []string{"Bash", "sh", "exec", "exec_command", "shell_command", "run_shell_command", "run_command",
			"run_terminal_cmd", "terminal",
			"local_shell", "execute_command", "execute_bash", "execute", "shell"}
	case "grep":
		return []string{"grep_search", "search_file_content", "search", "search_files", "rg", "ripgrep",
			"codebase_search", "grep"}
	case "glob":
		return []string{"find", "find_files", "file_search", "glob_search", "glob"}
	case "list_dir":
		return []string{"ls", "list", "list_directory", "list_files", "tree", "list_dir"}
	case "process":
		return []string{"BashOutput", "KillShell", "KillBash", "write_stdin", "read_background_output",
			"list_background_processes", "TaskOutput", "TaskStop", "job_output", "job_kill", "process"}
	case "spawn_agent":
		return []string{"Task", "Agent", "invoke_agent", "spawn_agent"}
	case "update_plan":
		return []string{"TodoWrite", "write_todos", "todos", "plan", "update_plan"}
	case "ask_user":
		return []string{"AskUserQuestion", "request_user_input", "ask_followup_question", "ask_user"}
	}
	return nil
}

// replaces returns the Instead of a tool that does what the tool name of this package does.
func replaces(name string) []tool.Instead { return []tool.Instead{{Of: otherNames(name)}} }

// shellInstead returns the Instead of a shell, with commands for tools that a dialect may lack.
func shellInstead() []tool.Instead {
	return append(replaces("shell"),
		tool.Instead{Of: otherNames("read_file"), How: "`cat -n FILE`, or `sed -n 1,200p FILE` for a part of it"},
		tool.Instead{Of: otherNames("grep"), How: "`rg -n PATTERN`, or `grep -rn PATTERN .` where there is no rg"},
		tool.Instead{Of: otherNames("glob"),
			How: "`rg --files -g PATTERN`, or `find . -name PATTERN` where there is no rg"},
		tool.Instead{Of: otherNames("list_dir"), How: "`ls -la DIRECTORY`"},
		tool.Instead{Of: []string{"WebFetch", "web_fetch", "fetch", "download"},
			How: "`curl -sSL URL`, if the network can be reached"},
	)
}
