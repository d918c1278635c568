package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/shquote"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/patch"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

type execArgs struct {
	Cmd             string  `json:"cmd"`
	Workdir         string  `json:"workdir"`
	Shell           string  `json:"shell"`
	Login           bool    `json:"login"`
	TTY             bool    `json:"tty"`
	Sandbox         string  `json:"sandbox_permissions"`
	YieldTimeMS     float64 `json:"yield_time_ms"`
	MaxOutputTokens float64 `json:"max_output_tokens"`
}

// How long exec_command waits for a command, and how much output it returns: the same as in
// OpenAI's agent.
const (
	execYield     = 10 * time.Second
	minYield      = 250 * time.Millisecond
	maxYield      = 30 * time.Second
	execTokens    = 10_000
	bytesPerToken = 4 // an estimate
)

// execParameters is written by hand because an enum is not inferred. The last two are for whoever
// approves, and nothing here reads them.
const execParameters = `{"type":"object","properties":{
"cmd":{"type":"string","description":"The command line to run."},
"workdir":{"type":"string","description":"The directory to run it in. Default: the working directory."},
"shell":{"type":"string","description":"The POSIX shell that runs it. Default: the environment's own."},
"login":{"type":"boolean","description":"Whether the shell reads its login files first. Default: false."},
"tty":{"type":"boolean","description":"Whether the command gets a terminal, which keeps its input open for write_stdin. Default: false, and it has no input."},
"yield_time_ms":{"type":"number","description":"How many milliseconds to wait for its end before returning, from 250 to 30000. Default: 10000."},
"max_output_tokens":{"type":"number","description":"How much output to return, in tokens. Default, and the most: 10000."},
"sandbox_permissions":{"type":"string","enum":["use_default","require_escalated"],"description":"require_escalated asks whoever approves commands to let this one out of the sandbox, where there is one."},
"justification":{"type":"string","description":"With require_escalated: why, in one sentence, for whoever approves."},
"prefix_rule":{"type":"array","items":{"type":"string"},"description":"With require_escalated: the first words of the commands that an approval could cover."}
},"required":["cmd"],"additionalProperties":false}`

// execCommand returns the tool exec_command(cmd, workdir, yield_time_ms, ...). It runs a command
// and returns its output. If the command still runs after the yield time, it returns a session id
// for write_stdin, and the command goes on until it ends, is killed or its session ends. Where
// there are no background processes, every command runs to its end, for at most [env.MaxTimeout].
func execCommand() tool.Tool {
	t := tool.New(llm.ToolDefinition{
		Name: "exec_command",
		Description: "Runs a command in a shell and returns its output, or a session ID if it is still running after " +
			"yield_time_ms. write_stdin then waits for it, writes to it or interrupts it.",
		Parameters: json.RawMessage(execParameters),
	}, runExec)
	t.Limit, t.Instead = execLimit(execTokens), dialect().Shell(0).Instead
	return tool.WithAccess(t, func(args execArgs) tool.Access {
		access := coding.CommandAccess(args.Cmd, args.Workdir)
		if access.Command != "" { // no shell runs for a patch
			access.Asks = args.asks()
		}
		return access
	})
}

// asks returns why a person has to approve of a command whatever it is, or "".
func (a *execArgs) asks() string {
	switch {
	case a.Shell != "":
		return "it chooses the shell " + a.Shell
	case a.Login:
		return "the shell reads its login files first"
	case a.TTY:
		return "in a terminal it may start other programs, such as pagers"
	case a.Sandbox == "require_escalated":
		return "it asks to run outside the sandbox"
	}
	return ""
}

// execLimit returns the limit for a number of tokens.
func execLimit(tokens int) tool.Limit {
	return tool.Limit{Chars: tokens * bytesPerToken, Keep: tool.KeepHeadTail}
}

func runExec(ctx context.Context, call *tool.Call, args execArgs) (tool.Result, error) {
	switch {
	case strings.TrimSpace(args.Cmd) == "":
		return tool.Result{}, errors.New("cmd is empty; give the command line to run")
	case args.YieldTimeMS < 0 || args.MaxOutputTokens < 0:
		return tool.Result{}, errNegative()
	}
	if args.Workdir != "" {
		if err := coding.CheckDir(ctx, call.Env, args.Workdir, "workdir"); err != nil {
			return tool.Result{}, err
		}
	}
	// some models run apply_patch as a command, but there is no such program
	if _, ok := patch.FromScript(args.Cmd); ok {
		within := *call
		if args.Workdir != "" {
			within.Env = env.Sub(call.Env, args.Workdir)
		}
		return coding.RunPatch(ctx, &within, args.Cmd)
	}
	cmd := env.Command{Script: execScript(call.Env, args), Dir: args.Workdir}
	if args.TTY {
		cmd.TTY = &env.Size{Rows: 24, Cols: 80}
	}
	processes := call.Processes()
	if processes == nil {
		return execToTheEnd(ctx, call, cmd, args), nil
	}
	return execInSession(ctx, call, processes, cmd, args)
}

// execScript returns the script that runs the command in the shell that the model asked for.
func execScript(e env.Environment, args execArgs) string {
	shell, flags := cmp.Or(args.Shell, e.Platform().Shell), "-c"
	if args.Login {
		flags = "-lc"
	}
	if shell == "" || args.Shell == "" && !args.Login {
		return args.Cmd
	}
	return fmt.Sprintf("exec %s %s %s", shquote.Words(shell), flags, shquote.Words(args.Cmd))
}

// execToTheEnd runs a command where no command can outlive its call.
func execToTheEnd(ctx context.Context, call *tool.Call, cmd env.Command, args execArgs) tool.Result {
	start := time.Now()
	cmd.TTY = nil // nobody can write to it
	result := coding.RunCommand(ctx, call, cmd, env.MaxTimeout)
	if end := coding.Unfinished(result.Ran, "Run a part of it at a time.", ""); end != "" {
		return coding.AppendText(result, end)
	}
	return execResult(call, start, result, args.MaxOutputTokens)
}

// execInSession starts a command that may outlive the call, and waits for it as long as the call
// may take.
func execInSession(ctx context.Context, call *tool.Call, processes tool.Processes, cmd env.Command,
	args execArgs) (tool.Result, error) {
	start := time.Now()
	live := &liveEnv{Environment: call.Env, live: call.Live}
	defer live.stop()
	id, err := processes.Start(ctx, live, cmd)
	if args.TTY && errors.Is(err, errors.ErrUnsupported) { // a pipe takes input as well
		cmd.TTY, cmd.Stdin = nil, true
		id, err = processes.Start(ctx, live, cmd)
	}
	if err != nil {
		return tool.Result{}, err
	}
	if !args.TTY {
		noInput(call).Store(id, true)
	}
	result, err := processes.Read(ctx, id, yieldTime(args.YieldTimeMS, execYield, minYield, maxYield))
	switch {
	case err != nil && ctx.Err() != nil: // the model does not know its id
		return execInterrupted(ctx, processes, id)
	case err != nil:
		return tool.Result{}, err
	}
	return execResult(call, start, result, args.MaxOutputTokens), nil
}

// execInterrupted kills a command whose call was interrupted, and returns its result.
func execInterrupted(ctx context.Context, processes tool.Processes, id string) (tool.Result, error) {
	beyond := context.WithoutCancel(ctx)
	if err := processes.Kill(beyond, id); err != nil {
		return tool.Result{}, err
	}
	result, err := processes.Read(beyond, id, 0)
	if err != nil {
		return tool.Result{}, err
	}
	result.Ran.Interrupted = true
	result = coding.AppendText(result, coding.Unfinished(result.Ran, "", ""))
	result.IsError = true
	return result, nil
}

// yieldTime returns how long to wait for a command. The model gives milliseconds, and 0 means the
// default.
func yieldTime(ms float64, unset, least, most time.Duration) time.Duration {
	if ms == 0 {
		return unset
	}
	// Bounded before the conversion, which could overflow.
	ms = min(max(ms, float64(least.Milliseconds())), float64(most.Milliseconds()))
	return time.Duration(ms * float64(time.Millisecond))
}

// execResult returns the result of a command in the form that OpenAI's models know.
func execResult(call *tool.Call, start time.Time, result tool.Result, maxTokens float64) tool.Result {
	text, ran := result.Content.Text(), result.Ran
	var head strings.Builder
	// The form needs a chunk id. It is made from the call's id, so that a replay gives the same
	// text.
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(call.ID))
	fmt.Fprintf(&head, "Chunk ID: %06x\n", sum.Sum32()&0xffffff)
	fmt.Fprintf(&head, "Wall time: %.4f seconds\n", time.Since(start).Seconds())
	head.WriteString(execStatus(ran))
	fmt.Fprintf(&head, "Original token count: %d\nOutput:\n",
		(int64(len(text))+result.Gap.Bytes+bytesPerToken-1)/bytesPerToken)
	result.Hint = cmp.Or(result.Hint, "Run a narrower command, or send its output to a file and look at parts of that.")
	if maxTokens > 0 && maxTokens < execTokens { // the pipeline applies the tool's own limit
		text, _ = execLimit(max(1, int(maxTokens))).Apply(text, result.Gap, result.Hint)
		result.Gap = tool.Gap{}
		result.Content = llm.TextParts(text)
	}
	result = coding.PrependText(head.String(), result)
	if remarks := dialect().Remarks(ran); remarks != "" {
		result = coding.AppendText(result, remarks)
	}
	result.IsError = ran.Failed()
	return result
}

// execStatus returns the line that says whether the command runs or how it ended.
func execStatus(r *tool.Ran) string {
	switch {
	case r.Lost:
		return fmt.Sprintf("Process is gone, and how far it had come is unknown: %s\n", r.Err)
	case r.Err != "":
		return fmt.Sprintf("Process cannot be watched any more: %s\n", r.Err)
	case r.Exit == nil:
		return fmt.Sprintf("Process running with session ID %s\n", r.ID)
	case r.Exit.Signal != "":
		return fmt.Sprintf("Process exited with code %d (killed by %s)\n", r.Exit.Code, r.Exit.Signal)
	}
	return fmt.Sprintf("Process exited with code %d\n", r.Exit.Code)
}

// errNegative returns the error of a call with a negative time or number of tokens.
func errNegative() error {
	return errors.New("yield_time_ms and max_output_tokens cannot be negative; leave them out for their defaults")
}
