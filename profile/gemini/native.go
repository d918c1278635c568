package gemini

import (
	_ "embed"

	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

//go:embed native.md
var nativePart string

// Native returns the profile in the dialect of the vendor's own agent, gemini-cli. Names,
// parameters and formats are those that its version 0.61.0 sends to models from Gemini 3 on, which
// get no task list. It leaves out web_fetch and google_web_search, and also update_topic,
// enter_plan_mode and activate_skill, which control a user interface. Three tools are this
// project's own: read_output for truncated results, process, which writes to and ends background
// commands, and ask_user.
func Native() profile.Profile {
	p := Profile()
	p.Dialect = "native"
	p.Prompt = profile.PromptWith(prompt, nativePart)
	p.Tools = []tool.Tool{
		listDirectory(),
		readFile(),
		grepSearch(),
		globFiles(),
		replace(),
		dialect().WriteFile(), // has the same name and parameters in gemini-cli
		runShellCommand(),
		listBackgroundProcesses(),
		readBackgroundOutput(),
		invokeAgent(),
		coding.ReadOutput(),
		process(),
		coding.AskUser(),
	}
	return p
}

// dialect returns the vendor's words for the shared tools.
func dialect() coding.Dialect {
	return coding.Dialect{
		Words: map[string]string{
			"read_file.offset": "start_line", "read_file.limit": "end_line", "edit_file": "replace",
			"edit_file.replace_all": "allow_multiple",
			"shell":                 "run_shell_command", "shell.run_in_background": "is_background",
			"grep":      "grep_search",
			"list_dir":  "list_directory",
			"glob.path": "dir_path",
		},
		Ran:    shellResult,
		Edited: editResult,
		Wrote:  writeResult,
	}
}
