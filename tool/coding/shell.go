package coding

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/patch"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tracecontext"
)

type shellArgs struct {
	Command     string `json:"command" jsonschema:"The command line to run, in the shell's language."`
	TimeoutMS   int64  `json:"timeout_ms,omitempty" jsonschema:"How many milliseconds the command may take, at most 600000. It has no effect in the background."`
	Background  bool   `json:"run_in_background,omitempty" jsonschema:"Start the command and go on at once, for servers and watchers. The tool process reads what it prints, writes to it and kills it."`
	Description string `json:"description,omitempty" jsonschema:"What the command does, in a few words, for the person who watches."`
}

// Shell returns the tool shell, which runs a command to its end. defaultTimeout is the limit unless
// the model gives another.
func Shell(defaultTimeout time.Duration) tool.Tool { return Dialect{}.Shell(defaultTimeout) }

// Shell returns the tool shell.
func (d Dialect) Shell(defaultTimeout time.Duration) tool.Tool {
	t := tool.New(llm.ToolDefinition{
		Name: "shell",
		Description: fmt.Sprintf(
			"Runs a command in a new shell in the working directory and returns what it prints (standard output and "+
				"standard error) and, if it fails, its exit code. Changes of directory and variables do not last. It "+
				"gets no input, so do not run commands that wait for any. Without timeout_ms it may take %d ms; run "+
				"servers, and whatever else does not end, in the background. To read, edit and search files, use the "+
				"tools made for that.", defaultTimeout.Milliseconds()),
		Parameters: schema("shell"),
	}, func(ctx context.Context, call *tool.Call, args shellArgs) (tool.Result, error) {
		return d.shell(ctx, call, args, defaultTimeout)
	})
	t.Instead = shellInstead()
	t.Limit = tool.Limit{Chars: 30_000, Lines: 256, Keep: tool.KeepHeadTail}
	return tool.WithAccess(t, func(args shellArgs) tool.Access { return CommandAccess(args.Command, "") })
}

// CommandAccess returns what a command would touch in a directory, which is empty for the working
// directory: for a patch that models write as a command ([patch.FromScript]) its files, and for any
// other the command itself.
func CommandAccess(script, dir string) tool.Access {
	if _, ok := patch.FromScript(script); !ok {
		return tool.Access{Effect: tool.Writes, Command: script, Dir: dir}
	}
	access := PatchAccess(script)
	for i, name := range access.Paths {
		if dir != "" && !path.IsAbs(name) {
			access.Paths[i] = path.Join(dir, name)
		}
	}
	return access
}

func (d Dialect) shell(ctx context.Context, call *tool.Call, args shellArgs,
	timeout time.Duration) (tool.Result, error) {
	render := d.Ran
	if render == nil {
		render = shellResult
	}
	switch {
	case strings.TrimSpace(args.Command) == "":
		return tool.Result{}, errors.New("command is empty; give the command line to run")
	case args.TimeoutMS < 0:
		return tool.Result{}, fmt.Errorf("%s is %d; it must be 1 or more, or left out for the default of %d",
			d.word("shell.timeout_ms"), args.TimeoutMS, timeout.Milliseconds())
	case args.TimeoutMS > 0: // bounded before it is multiplied, so that it cannot overflow
		timeout = time.Duration(min(args.TimeoutMS, env.MaxTimeout.Milliseconds())) * time.Millisecond
	}
	// some models run apply_patch as a command, but there is no such program
	if _, ok := patch.FromScript(args.Command); ok {
		result, err := RunPatch(ctx, call, args.Command)
		return render(result), err
	}
	if args.Background {
		return d.startInBackground(ctx, call, args)
	}
	result := RunCommand(ctx, call, env.Command{Script: args.Command}, timeout)
	if result.Hint == "" {
		result.Hint = "Run a narrower command, or send its output to a file and read or search that."
	}
	return render(result), nil
}

// RunCommand runs a command to its end, or until the timeout. It returns what the command printed
// as the Content and its end as Ran. What the command leaves running becomes a background process
// of the session, if the session allows any.
func RunCommand(ctx context.Context, call *tool.Call, cmd env.Command, timeout time.Duration) tool.Result {
	printed := tool.NewTranscript(sessionOf(call).Outputs(), call.ID, 0)
	cmd.Output = func(stream int, p []byte) {
		printed.Write(stream, p)
		if call.Live != nil {
			call.Live(stream, p)
		}
	}
	cmd.Env = append(slices.Clip(cmd.Env), tracecontext.Environ(ctx)...)
	came, err := env.Run(ctx, call.Env, cmd, timeout)
	printed.Close()
	result := printed.Take()
	ran := result.Ran
	ran.Interrupted = err != nil && ctx.Err() != nil
	if err == nil || ran.Interrupted && came.Duration > 0 { // otherwise it did not start or could not be killed
		ran.Exit = &came.Exit
	} else {
		ran.Err, ran.Lost = err.Error(), errors.Is(err, env.ErrLost) && !errors.Is(err, env.ErrLostBefore)
	}
	if came.TimedOut {
		ran.TimedOut = came.Timeout
	}
	if processes := call.Processes(); processes != nil && len(came.Left) > 0 {
		ran.ID = processes.Adopt(came.Process, cmd, came.Left)
	}
	result.IsError = ran.Failed()
	return result
}

// startInBackground starts a command that outlives the call, and shows its first output.
func (d Dialect) startInBackground(ctx context.Context, call *tool.Call, args shellArgs) (tool.Result, error) {
	processes := call.Processes()
	if processes == nil {
		return tool.Result{}, fmt.Errorf("nothing can run in the background here; run the command without %s",
			d.word("shell.run_in_background"))
	}
	id, err := processes.Start(ctx, call.Env, env.Command{Script: args.Command, Stdin: true})
	if err != nil {
		return tool.Result{}, err
	}
	result, err := processes.Read(ctx, id, settleTime)
	if err != nil { // the model has to know the id, by which it ends the process
		return tool.Result{}, fmt.Errorf("process %s was started, but what it prints was not waited for: %w", id, err)
	}
	result = AppendText(result, d.processStatus(result.Ran))
	started := fmt.Sprintf("Started as process %s. It runs until it ends, until %s kills it, or until the "+
		"session ends.\n", id, d.word("process"))
	return PrependText(started, result), nil
}
