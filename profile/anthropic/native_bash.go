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
	return tool.Adapt(coding.Shell(shellTimeout), llm.ToolDefinition{
		Name: "Bash",
		Description: "Runs a command in a shell, in the working directory, and returns what it prints on standard output and standard error; the " +
			"result of one that fails starts with its exit code. Each command has a shell of its own: changes of directory and variables do " +
			"not last. It gets no input. Of a command in the background the number comes back at once: process reads what it " +
			"prints, TaskStop ends it. To read and change files, use the tools made for that.",
		Parameters: json.RawMessage(bashParameters),
	}, func(args bashArgs) (any, error) {
		shell := map[string]any{"command": args.Command, "run_in_background": args.Background, "description": args.Description}
		if args.Timeout != 0 && !args.Background {
			// Cut before it becomes an integer; a fraction of a millisecond is one.
			shell["timeout_ms"] = int64(math.Ceil(max(-1, min(args.Timeout, float64(env.MaxTimeout.Milliseconds())))))
		}
		return shell, nil
	}, exitFirst)
}

// The shell tool says at its result's end how a command ended, and behind that what it left running, in these forms.
const (
	exitLine    = "Exit code: "
	leftRunning = "\n[The command has ended and left running"
	timeoutHint = "setting the timeout_ms parameter.]"
)

// exitFirst turns a result of the tool shell into the form that Claude models know: the exit code comes first, and the output has no
// newline at its end.
func exitFirst(r tool.Result) tool.Result {
	text := r.Content.Text()
	if !r.IsError {
		r.Content = llm.TextParts(strings.TrimSuffix(text, "\n"))
		return r
	}
	output, code, left := splitEnding(text)
	if code == "" {
		if hint := strings.LastIndex(text, timeoutHint); hint >= 0 {
			text = text[:hint] + "setting timeout.]" + text[hint+len(timeoutHint):]
		}
		r.Content = llm.TextParts(text)
		return r
	}
	first := "Exit code " + code + "\n"
	if r.Gap.Bytes > 0 {
		r.Gap.At += len(first)
	}
	r.Content = llm.TextParts(strings.TrimSuffix(first+strings.TrimSuffix(output, "\n")+left, "\n"))
	return r
}

// splitEnding parts what a command printed from its exit code and from what is said behind that. There is no code when the command
// ended in another way. The code is looked for where the tool puts it and nowhere else: commands print such lines too.
func splitEnding(text string) (output, code, left string) {
	rest := text
	if at := strings.LastIndex(text, leftRunning); at >= 0 && strings.HasSuffix(text, "]") {
		rest, left = text[:at], text[at:]
	}
	line := strings.LastIndex(rest, "\n") + 1
	code, ok := strings.CutPrefix(rest[line:], exitLine)
	if !ok {
		return text, "", ""
	}
	return rest[:line], code, left
}
