package gemini

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

// nativeTimeout is the time limit of a command. It is longer than the profile's own, because the
// tool has no parameter for it.
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

// runShellCommand returns the tool run_shell_command. It runs commands as the shared tool shell
// does, and starts those in the background itself, to keep what they print.
func runShellCommand() tool.Tool {
	shell := dialect().Shell(nativeTimeout)
	t := tool.New(llm.ToolDefinition{
		Name: "run_shell_command",
		Description: fmt.Sprintf(
			"Runs a command in a shell (bash -c where there is one) and returns what it prints, and its exit code if "+
				"that is not 0. Each command has a shell of its own: changes of directory and variables do not last. "+
				"It gets no input, and may take %d minutes. A command in the background has a number, pid, which is "+
				"the session's and not the system's: read_background_output reads what it prints, process ends it.",
			int(nativeTimeout.Minutes())),
		Parameters: json.RawMessage(runShellParameters),
	}, func(ctx context.Context, call *tool.Call, args runShellArgs) (tool.Result, error) {
		within := *call
		if args.DirPath != "" {
			if err := coding.CheckDir(ctx, call.Env, args.DirPath, "dir_path"); err != nil {
				return tool.Result{}, err
			}
			within.Env = env.Sub(call.Env, args.DirPath)
		}
		if args.Background {
			return startInBackground(ctx, &within, args)
		}
		return shell.RunAs(ctx, &within, map[string]any{"command": args.Command})
	})
	t.Limit, t.Instead = shell.Limit, shell.Instead
	return tool.WithAccess(t, func(args runShellArgs) tool.Access {
		if args.Background { // the shell gets a patch as well, and knows no apply_patch
			return tool.Access{Effect: tool.Writes, Command: args.Command, Dir: args.DirPath}
		}
		return coding.CommandAccess(args.Command, args.DirPath)
	})
}

// shellResult returns the result of a command in the form that Gemini models know. It has no line
// with a process group: what a command leaves running has an id of the session's.
func shellResult(r tool.Result) tool.Result {
	r = escaped(r)
	ending := ""
	if r.Ran != nil { // nil for a patch
		remarks, code := dialect().Remarks(r.Ran), coding.ExitCode(r.Ran)
		if end := coding.Unfinished(r.Ran, "Start commands that take longer with is_background.",
			"is_background"); end != "" {
			r = coding.AppendText(r, escape(end)) // it has command lines
		} else if code != "" {
			ending = "Exit Code: " + code + "\n"
		} else if remarks == "" && r.Content.Text() == "" {
			r = coding.AppendText(r, coding.NoOutput)
		}
		if remarks != "" {
			ending += escape(remarks) + "\n"
		}
	}
	r.Content = llm.TextParts(orEmpty(r.Content.Text()) + "\n" + ending + closingTag)
	return coding.PrependText(openingTag+"\nOutput: ", r)
}

// Everything between these tags is output.
const (
	openingTag = "<untrusted_context>"
	closingTag = "</untrusted_context>"
)

// tagged returns an output between the tags.
func tagged(text string) string {
	return fmt.Sprintf("%s\nOutput: %s\n%s", openingTag, orEmpty(escape(text)), closingTag)
}

// closingTagPattern matches what can be read as the closing tag.
var closingTagPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)<(\s*/\s*untrusted_context)`)
})

// escape returns a text in which nothing can be read as the closing tag. It cleans the text first,
// because cleaning can turn the rest into a tag.
func escape(text string) string {
	return closingTagPattern().ReplaceAllString(sanitize.Text(text), "&lt;$1")
}

// escaped escapes the text of a result on both sides of its gap.
func escaped(r tool.Result) tool.Result {
	text := r.Content.Text()
	if r.Gap.Bytes == 0 {
		r.Content = llm.TextParts(escape(text))
		return r
	}
	head := escape(text[:r.Gap.At])
	r.Content = llm.TextParts(head + escape(text[r.Gap.At:]))
	r.Gap.At = len(head)
	return r
}
