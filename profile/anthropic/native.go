package anthropic

import (
	_ "embed"

	"github.com/attractor-go/attractor/profile"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

//go:embed native.md
var nativePart string

// Native returns the profile in the dialect of the vendor's own agent, Claude Code. Names,
// parameters and formats are those that its version 2.1.329 sends, with those of its tools that
// this project can execute. It has no tools for searching: its models search in the shell. Four
// tools are this project's own, where that agent is told things between turns or asks a person:
// read_output, process, wait and ask_user.
func Native() profile.Profile {
	p := base()
	p.Dialect = "native"
	p.Prompt = profile.PromptWith(prompt, nativePart)
	p.Tools = []tool.Tool{
		agentTool(), bash(), edit(), read(), sendMessage(), taskStop(), write(),
		coding.ReadOutput(), dialect().Process(), sharedAgentTool("wait"), coding.AskUser(),
	}
	return p
}

// dialect returns the vendor's words for the shared tools.
func dialect() coding.Dialect {
	return coding.Dialect{
		Words: map[string]string{
			"read_file": "Read", "write_file": "Write", "edit_file": "Edit", "shell": "Bash",
			"shell.timeout_ms": "timeout",
			"grep":             "", "glob": "", "list_dir": "",
		},
		Number: catNumbers,
		Ran:    bashResult,
		Edited: editResult,
		Wrote:  writeResult,
	}
}

// sharedAgentTool returns one of the shared tools for subagents.
func sharedAgentTool(name string) tool.Tool {
	for _, t := range coding.Agents() {
		if t.Name == name {
			return t
		}
	}
	return tool.Tool{} // without a name it cannot be registered, and a test fails
}
