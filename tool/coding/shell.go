package coding

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/patch"
	"github.com/attractor-go/attractor/tool"
)

type shellArgs struct {
	Command     string `json:"command" jsonschema:"The command line to run, in the shell's language."`
	TimeoutMS   int64  `json:"timeout_ms,omitempty" jsonschema:"How many milliseconds the command may take, at most 600000."`
	Background  bool   `json:"run_in_background,omitempty" jsonschema:"Start the command and go on at once, for servers and watchers. The tool process reads what it prints, writes to it and kills it."`
	Description string `json:"description,omitempty" jsonschema:"What the command does, in a few words, for the person who watches."`
}

// Shell is the tool shell: a command, run to its end. Without a timeout of the model's the command has the default one.
func Shell(defaultTimeout time.Duration) tool.Tool {
	t := tool.New(llm.ToolDefinition{
		Name: "shell",
		Description: fmt.Sprintf("Runs a command in a shell, in the working directory, and returns what it prints (standard output and "+
			"standard error) and, if it fails, its exit code. Each command runs in a shell of its own: changes of directory and "+
			"variables do not last. It gets no input, so do not run anything that waits for some. Without timeout_ms it may take "+
			"%d ms; servers and whatever else does not end belong in the background. To read, edit and search files, use the tools made for that.", defaultTimeout.Milliseconds()),
	}, func(ctx context.Context, call *tool.Call, args shellArgs) (tool.Result, error) {
		return shell(ctx, call, args, defaultTimeout)
	})
	t.Limit = tool.Limit{Chars: 30_000, Lines: 256, Keep: tool.KeepHeadTail}
	return tool.WithAccess(t, func(args shellArgs) tool.Access {
		if _, ok := patch.FromScript(args.Command); ok {
			return patchAccess(args.Command)
		}
		return tool.Access{Effect: tool.Writes, Command: args.Command}
	})
}

func shell(ctx context.Context, call *tool.Call, args shellArgs, timeout time.Duration) (tool.Result, error) {
	switch {
	case strings.TrimSpace(args.Command) == "":
		return tool.Result{}, errors.New("command is empty; give the command line to run")
	case args.TimeoutMS < 0:
		return tool.Result{}, fmt.Errorf("timeout_ms is %d; it must be 1 or more, or left out for the default of %d", args.TimeoutMS, timeout.Milliseconds())
	case args.TimeoutMS > 0: // cut before it is multiplied, so that it cannot overflow
		timeout = time.Duration(min(args.TimeoutMS, env.MaxTimeout.Milliseconds())) * time.Millisecond
	}
	if _, ok := patch.FromScript(args.Command); ok { // models that were trained with it call it here, where there is no such program
		return applyPatch(ctx, call, args.Command)
	}
	if args.Background {
		return startInBackground(ctx, call, args)
	}
	return runToTheEnd(ctx, call, args.Command, timeout)
}

func runToTheEnd(ctx context.Context, call *tool.Call, script string, timeout time.Duration) (tool.Result, error) {
	printed := tool.NewTranscript(outputsOf(call), call.ID, 0)
	cmd := env.Command{Script: script, Output: func(stream int, p []byte) {
		printed.Write(stream, p)
		if call.Live != nil {
			call.Live(stream, p)
		}
	}}
	ran, err := env.Run(ctx, call.Env, cmd, timeout)
	printed.Close()
	result := printed.Take()
	end := ending(ran, ctx.Err() != nil, err)
	if len(ran.Left) > 0 {
		id := ""
		if processes := processesOf(call); processes != nil {
			id = processes.Adopt(ran.Process, cmd, ran.Left)
		}
		end = strings.TrimPrefix(end+"\n"+leftRunning(ran.Left, id), "\n")
	}
	if end == "" && result.Content.Text() == "" {
		end = "(no output)"
	}
	result = closing(result, end)
	result.IsError = err != nil || ran.TimedOut || ran.Signal != "" || ran.Code != 0
	if result.Hint == "" {
		result.Hint = "Run a narrower command, or send its output to a file and read or search that."
	}
	return result, nil
}

// startInBackground starts a command that goes on when the call is over, and shows how it began.
func startInBackground(ctx context.Context, call *tool.Call, args shellArgs) (tool.Result, error) {
	processes := processesOf(call)
	if processes == nil {
		return tool.Result{}, errors.New("there are no background processes here; run the command without run_in_background")
	}
	id, err := processes.Start(ctx, call.Env, env.Command{Script: args.Command, Stdin: true})
	if err != nil {
		return tool.Result{}, err
	}
	result, err := readProcess(ctx, processes, id, settle)
	if err != nil {
		return tool.Result{}, err
	}
	started := fmt.Sprintf("Started as process %s. It runs until it ends, until process kills it, or until the session ends.\n", id)
	if args.TimeoutMS > 0 {
		started += "timeout_ms has no effect in the background.\n"
	}
	if result.Gap.Bytes > 0 {
		result.Gap.At += len(started)
	}
	result.Content = llm.TextParts(started + result.Content.Text())
	return result, nil
}

func outputsOf(call *tool.Call) tool.Outputs {
	if call.Session == nil {
		return nil
	}
	return call.Session.Outputs()
}

func processesOf(call *tool.Call) tool.Processes {
	if call.Session == nil {
		return nil
	}
	return call.Session.Processes()
}

// ending is what is said after a command's output.
func ending(ran env.Result, interrupted bool, err error) string {
	var lines []string
	switch {
	case interrupted && ran.Exit.Duration == 0: // it did not start, or would not die
		lines = append(lines, fmt.Sprintf("[ERROR: The command was interrupted (%v). Output up to then is shown above.]", err))
	case interrupted:
		lines = append(lines, "[ERROR: The command was interrupted and killed. Output up to then is shown above.]")
	case err != nil:
		lines = append(lines, fmt.Sprintf("Error: the command could not be run to its end: %v", err))
	case ran.TimedOut:
		lines = append(lines,
			fmt.Sprintf("[ERROR: Command timed out after %dms. Partial output is shown above.", ran.Timeout.Milliseconds()),
			"You can retry with a longer timeout by setting the timeout_ms parameter.]")
	case ran.Signal != "":
		lines = append(lines, fmt.Sprintf("Exit code: %d (killed by %s)", ran.Code, ran.Signal))
	case ran.Code != 0:
		lines = append(lines, fmt.Sprintf("Exit code: %d", ran.Code))
	}
	return strings.Join(lines, "\n")
}
