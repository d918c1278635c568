package gemini

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// nativeTimeout is how long a command may take. It is longer than the profile's own, because the tool has no parameter for it.
const nativeTimeout = 5 * time.Minute

type runShellArgs struct {
	Command     string `json:"command"`
	Description string `json:"description"`
	DirPath     string `json:"dir_path"`
	Background  bool   `json:"is_background"`
	DelayMS     int64  `json:"delay_ms"`
}

const runShellParameters = `{
	"type": "object",
	"properties": {
		"command": {"type": "string", "description": "The command line to run."},
		"description": {"type": "string", "description": "What the command does, in a few words, for the person who watches."},
		"dir_path": {"type": "string", "description": "The directory to run it in. Default: the working directory."},
		"is_background": {"type": "boolean", "description": "Start the command and go on, for servers and watchers. Default: false."},
		"delay_ms": {"type": "integer", "description": "In the background: how many milliseconds to wait for its first output before going on. Default: 500."}
	},
	"required": ["command"]
}`

func runShellCommand() tool.Tool {
	shell := coding.Shell(nativeTimeout)
	t := tool.New(llm.ToolDefinition{
		Name: "run_shell_command",
		Description: fmt.Sprintf("Runs a command in a shell (bash -c where there is one) and returns what it prints, and its exit code if that is not 0. Each "+
			"command has a shell of its own: changes of directory and variables do not last. It gets no input, and may take %d minutes. A command "+
			"in the background has a number, pid, which is the session's and not the system's: read_background_output reads what it prints, "+
			"process ends it.", int(nativeTimeout.Minutes())),
		Parameters: json.RawMessage(runShellParameters),
	}, func(ctx context.Context, call *tool.Call, args runShellArgs) (tool.Result, error) {
		within := *call
		if args.DirPath != "" {
			within.Env = env.Sub(call.Env, args.DirPath)
		}
		if args.Background {
			return startInBackground(ctx, &within, args)
		}
		result, err := runAs(ctx, shell, &within, map[string]any{"command": args.Command})
		if err != nil {
			return result, err
		}
		return untrusted(result), nil
	})
	t.Limit = shell.Limit
	return tool.WithAccess(t, func(args runShellArgs) tool.Access {
		return tool.Access{Effect: tool.Writes, Command: args.Command}
	})
}

// The shell tool says at its result's end how a command ended, and behind that what it left running, in these forms.
const (
	exitLine    = "Exit code: "
	leftRunning = "[The command has ended and left running"
	timeoutHint = "\nYou can retry with a longer timeout by setting the timeout_ms parameter.]"
)

// untrusted turns a result of the tool shell into the form that Gemini models know. There is no line with a process group: here what a
// command leaves running has a number of the session's.
func untrusted(r tool.Result) tool.Result {
	output, ending := splitEnding(r.Content.Text(), r.IsError)
	const head = "<untrusted_context>\nOutput: "
	if r.Gap.Bytes > 0 {
		r.Gap.At += len(head)
	}
	r.Content = llm.TextParts(head + orEmpty(output) + "\n" + ending + "</untrusted_context>")
	return r
}

// splitEnding parts what a command printed from how it ended. Both are looked for where the tool puts them and nowhere else: commands
// print such lines too.
func splitEnding(text string, failed bool) (output, ending string) {
	if at := lineAt(text, leftRunning); at >= 0 && strings.HasSuffix(text, "]") {
		text, ending = text[:at], text[at:]+"\n"
	}
	if !failed {
		return text, ending
	}
	if rest, ok := strings.CutSuffix(text, timeoutHint); ok {
		return rest + "\nStart commands that take longer with is_background.]", ending
	}
	text = strings.TrimSuffix(text, "\n")
	line := strings.LastIndex(text, "\n") + 1
	if code, ok := strings.CutPrefix(text[line:], exitLine); ok {
		return text[:line], "Exit Code: " + code + "\n" + ending
	}
	return text, ending
}

// lineAt is where the last line with a beginning starts, or -1.
func lineAt(text, beginning string) int {
	if at := strings.LastIndex(text, "\n"+beginning); at >= 0 {
		return at + 1
	}
	if strings.HasPrefix(text, beginning) {
		return 0
	}
	return -1
}
