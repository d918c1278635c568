package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

type writeStdinArgs struct {
	SessionID       float64 `json:"session_id"`
	Chars           string  `json:"chars"`
	YieldTimeMS     float64 `json:"yield_time_ms"`
	MaxOutputTokens float64 `json:"max_output_tokens"`
}

const stdinParameters = `{"type":"object","properties":{
"session_id":{"type":"number","description":"The session ID that exec_command gave."},
"chars":{"type":"string","description":"What to write, with its newlines; \\u0003 interrupts the command. Default: nothing, which only waits for output."},
"yield_time_ms":{"type":"number","description":"How many milliseconds to wait for the command's end before returning. After writing 250 to 30000, by default 250; else 5000 to 300000, by default 5000."},
"max_output_tokens":{"type":"number","description":"How much output to return, in tokens. Default, and the most: 10000."}
},"required":["session_id"],"additionalProperties":false}`

// How long write_stdin waits if it only polls: the same as in OpenAI's agent.
const (
	pollYield    = 5 * time.Second
	maxPollYield = 300 * time.Second
)

// interruptKey is the character that ^C sends.
const interruptKey = "\x03"

// writeStdin returns the tool write_stdin(session_id, chars, yield_time_ms, max_output_tokens). It
// writes to, waits for or interrupts a command that exec_command left running. A command without a
// terminal takes no input, and interrupting it ends it.
func writeStdin() tool.Tool {
	t := tool.New(llm.ToolDefinition{
		Name: "write_stdin",
		Description: "Writes to a command that exec_command left running, or just waits for it, and returns what it " +
			"has printed since the last time.",
		Parameters: json.RawMessage(stdinParameters),
	}, runStdin)
	t.Limit = execLimit(execTokens)
	t.Instead = coding.Process().Instead
	return tool.WithAccess(t, func(args writeStdinArgs) tool.Access {
		if args.Chars == "" {
			return tool.Access{Effect: tool.ReadOnly}
		}
		return tool.Access{Effect: tool.Writes, Command: fmt.Sprintf("session %s: write %q", args.id(), args.Chars),
			Ends: args.Chars == interruptKey}
	})
}

func (a writeStdinArgs) id() string { return strconv.FormatFloat(a.SessionID, 'f', -1, 64) }

func runStdin(ctx context.Context, call *tool.Call, args writeStdinArgs) (tool.Result, error) {
	start, id := time.Now(), args.id()
	processes := call.Processes()
	if processes == nil {
		return tool.Result{}, errors.New(
			"no command outlives its call here, so there is nothing to write to; give commands their input through a " +
				"file or a pipe")
	}
	if args.YieldTimeMS < 0 || args.MaxOutputTokens < 0 {
		return tool.Result{}, errNegative()
	}
	wait := yieldTime(args.YieldTimeMS, pollYield, pollYield, maxPollYield)
	if args.Chars != "" {
		wait = yieldTime(args.YieldTimeMS, minYield, minYield, maxYield)
		if err := writeChars(ctx, call, processes, id, args.Chars); err != nil {
			return tool.Result{}, err
		}
	}
	result, err := processes.Read(ctx, id, wait)
	if err != nil {
		return tool.Result{}, err
	}
	return execResult(call, start, result, args.MaxOutputTokens), nil
}

// writeChars writes to a command, or interrupts it.
func writeChars(ctx context.Context, call *tool.Call, processes tool.Processes, id, chars string) error {
	_, none := noInput(call).Load(id)
	switch {
	case !none:
		return processes.Write(ctx, id, chars)
	case chars == interruptKey:
		return processes.Kill(ctx, id)
	}
	return fmt.Errorf("session %s has no input; start the command again with tty set to true to write to it", id)
}

type noInputKey struct{}

// noInput returns the ids of the session's commands that were started without an input.
func noInput(call *tool.Call) *sync.Map {
	return call.Session.State(noInputKey{}, func() any { return new(sync.Map) }).(*sync.Map)
}
