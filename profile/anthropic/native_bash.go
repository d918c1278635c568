package anthropic

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

type bashArgs struct {
	Command     string  `json:"command"`
	Timeout     float64 `json:"timeout"`
	Description string  `json:"description"`
	Background  bool    `json:"run_in_background"`
	Outside     bool    `json:"dangerouslyDisableSandbox"`
}

const bashParameters = `{
	"type": "object",
	"properties": {
		"command": {"type": "string", "description": "The command line to run."},
		"timeout": {"type": "number", "description": "How many milliseconds the command may take, at most 600000. Default: 120000. In the background there is no limit."},
		"description": {"type": "string", "description": "What the command does, in a few words, for the person who watches."},
		"run_in_background": {"type": "boolean", "description": "Start the command and go on at once, for servers and watchers. Default: false."},
		"dangerouslyDisableSandbox": {"type": "boolean", "description": "Has no effect: there is no sandbox that a call could leave."}
	},
	"required": ["command"],
	"additionalProperties": false
}`

func bash() tool.Tool {
	t := tool.Adapt(dialect().Shell(shellTimeout), llm.ToolDefinition{
		Name: "Bash",
		Description: "Runs a command in a shell, in the working directory, and returns what it prints on standard " +
			"output and standard error; the result of one that fails starts with its exit code. Each command has a " +
			"shell of its own: changes of directory and variables do not last. It gets no input. A command in the " +
			"background returns its number at once: process reads what it prints, TaskStop ends it. To read and " +
			"change files, use the tools made for that.",
		Parameters: json.RawMessage(bashParameters),
	}, func(args bashArgs) (any, error) {
		shell := map[string]any{"command": args.Command, "run_in_background": args.Background,
			"description": args.Description}
		if args.Timeout != 0 && !args.Background {
			// Bounded before the conversion, which could overflow, and rounded up.
			shell["timeout_ms"] = int64(math.Ceil(max(-1, min(args.Timeout, float64(env.MaxTimeout.Milliseconds())))))
		}
		return shell, nil
	}, nil)
	shell := t.Access
	t.Access = func(text string) (tool.Access, error) {
		access, err := shell(text)
		if args, wrong := tool.Decode[bashArgs](text); wrong == nil && args.Outside && access.Command != "" {
			access.Asks = "it asks to run outside the sandbox"
		}
		return access, err
	}
	return t
}

// bashResult returns the result of a command in the form that Claude models know: the exit code
// comes first, and the output does not end with a newline.
func bashResult(r tool.Result) tool.Result {
	if r.Ran == nil { // a patch
		if !r.IsError {
			r.Content = llm.TextParts(strings.TrimSuffix(r.Content.Text(), "\n"))
		}
		return r
	}
	remarks := dialect().Remarks(r.Ran)
	if end := coding.Unfinished(r.Ran, "You can retry with a longer timeout by setting timeout.",
		"run_in_background"); end != "" {
		return coding.AppendText(coding.AppendText(r, end), remarks)
	}
	code := coding.ExitCode(r.Ran)
	if code == "" && remarks == "" && r.Content.Text() == "" {
		remarks = coding.NoOutput
	}
	if code != "" {
		r = coding.PrependText("Exit code "+code+"\n", r)
	}
	r = coding.AppendText(r, remarks)
	r.Content = llm.TextParts(strings.TrimSuffix(r.Content.Text(), "\n"))
	return r
}
