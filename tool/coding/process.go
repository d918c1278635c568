package coding

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

type processArgs struct {
	ID     string `json:"id" jsonschema:"The id that the process got when it was started."`
	Action string `json:"action,omitempty" jsonschema:"What to do: read (the default) returns what it printed since the last time, write sends input, end_input says that no more comes, kill ends it with everything that it started."`
	WaitMS int64  `json:"wait_ms,omitempty" jsonschema:"For read and write: how many milliseconds to wait for the process to end before reading, at most 600000. Default: 0 for read, 500 for write."`
	Input  string `json:"input,omitempty" jsonschema:"For write: the text, with its newlines."`
}

// The actions of the tool process.
const (
	actionRead     = "read"
	actionWrite    = "write"
	actionEndInput = "end_input"
	actionKill     = "kill"
)

// settleTime is how long a process runs after its start or its input before its output is read, so
// that a command that fails at once has failed.
const settleTime = 500 * time.Millisecond

// Process returns the tool process(id, action, wait_ms, input), which reads from, writes to and
// kills commands in the background.
func Process() tool.Tool { return Dialect{}.Process() }

// Process returns the tool process.
func (d Dialect) Process() tool.Tool {
	t := tool.New(llm.ToolDefinition{
		Name: "process",
		Description: "Works with a process that " + d.word("shell") +
			" started in the background or left running: reads what it has printed since the last time, " +
			"writes to its input, or kills it.",
		Parameters: schema("process"),
	}, d.process)
	t.Instead = replaces("process")
	t.Limit = tool.Limit{Chars: 30_000, Lines: 256, Keep: tool.KeepHeadTail}
	return tool.WithAccess(t, func(args processArgs) tool.Access {
		if args.Action == "" || args.Action == actionRead {
			return tool.Access{Effect: tool.ReadOnly}
		}
		return tool.Access{Effect: tool.Writes, Command: fmt.Sprintf("process %s: %s %q", args.ID, args.Action,
			args.Input), Ends: args.Action == actionKill}
	})
}

func (d Dialect) process(ctx context.Context, call *tool.Call, args processArgs) (tool.Result, error) {
	table := call.Processes()
	if table == nil {
		return tool.Result{}, fmt.Errorf(
			"nothing can run in the background here; run the command with %s, and wait for its end", d.word("shell"))
	}
	if args.WaitMS < 0 {
		return tool.Result{}, fmt.Errorf("wait_ms is %d; it must be 0 or more", args.WaitMS)
	}
	if args.Input != "" && args.Action != actionWrite {
		return tool.Result{}, fmt.Errorf("input goes with the action %s only; set action to %[1]s, or leave input out",
			actionWrite)
	}
	wait := time.Duration(min(args.WaitMS, env.MaxTimeout.Milliseconds())) * time.Millisecond
	switch args.Action {
	case "", actionRead:
	case actionWrite:
		if args.Input == "" {
			return tool.Result{}, errors.New("input is empty; give the text to write, with its newline")
		}
		if err := table.Write(ctx, args.ID, args.Input); err != nil {
			return tool.Result{}, err
		}
		if args.WaitMS == 0 {
			wait = settleTime
		}
	case actionEndInput:
		if err := table.EndInput(ctx, args.ID); err != nil {
			return tool.Result{}, err
		}
		wait = max(wait, settleTime)
	case actionKill:
		if err := table.Kill(ctx, args.ID); err != nil {
			return tool.Result{}, err
		}
	default:
		return tool.Result{}, fmt.Errorf("there is no action %q; use %s, %s, %s or %s", args.Action, actionRead,
			actionWrite, actionEndInput, actionKill)
	}
	result, err := table.Read(ctx, args.ID, wait)
	if err != nil {
		return tool.Result{}, err
	}
	return AppendText(result, d.processStatus(result.Ran)), nil
}
