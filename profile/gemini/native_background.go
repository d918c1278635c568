package gemini

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/capture"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

const (
	defaultDelay    = 500 * time.Millisecond // long enough for a command that fails at once
	defaultLastRead = 100                    // lines, as in gemini-cli
	keptOutput      = 64 << 10               // bytes of each command's last output that are kept for reading again
)

// backgrounds remembers a session's background commands and their last output. The process table
// returns output only once.
type backgrounds struct {
	mu  sync.Mutex
	all []*backgroundCommand
}

type backgroundCommand struct {
	id, script string
	reading    sync.Mutex // held while output is moved to last, which keeps its order
	last       *capture.Buffer
	cut        bool // earlier output was dropped
}

type backgroundsKey struct{}

// backgroundsOf returns the background commands of the calling session and the table that runs
// them.
func backgroundsOf(call *tool.Call) (*backgrounds, tool.Processes, error) {
	processes := call.Processes()
	if processes == nil {
		return nil, nil, errors.New(
			"there are no background processes in this session; run commands without is_background")
	}
	b := call.Session.State(backgroundsKey{}, func() any { return new(backgrounds) }).(*backgrounds)
	return b, processes, nil
}

func (b *backgrounds) add(id, script string) *backgroundCommand {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := &backgroundCommand{id: id, script: script, last: lastOutput()}
	b.all = append(b.all, c)
	return c
}

func (b *backgrounds) list() []*backgroundCommand {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.all)
}

// read waits for output and returns what is kept of it, with the command's status in Ran.
func (c *backgroundCommand) read(ctx context.Context, table tool.Processes, wait time.Duration) (tool.Result, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	result, err := table.Read(ctx, c.id, wait)
	if err != nil {
		return tool.Result{}, err
	}
	printed := result.Content.Text()
	if result.Gap.Bytes > 0 {
		c.last, c.cut = lastOutput(), true
		printed = printed[result.Gap.At:]
	}
	c.last.Write(env.Stdout, []byte(printed))
	_, tail := c.last.Bytes()
	c.cut = c.cut || int64(len(tail)) < c.last.Total()
	return tool.Result{Content: llm.TextParts(string(tail)), Ran: result.Ran}, nil
}

// lastOutput returns an empty buffer for the last output of a command.
func lastOutput() *capture.Buffer { return capture.New(capture.Options{Head: -1, Tail: keptOutput}) }

// statusOf returns the status of a command in gemini-cli's words.
func statusOf(r *tool.Ran) string {
	switch {
	case r.Lost:
		return "gone, and how far it had come is unknown: " + r.Err
	case r.Err != "":
		return "cannot be watched any more: " + r.Err
	case r.Exit == nil:
		return "running"
	case r.Exit.Signal != "":
		return "ended by " + r.Exit.Signal
	}
	return fmt.Sprintf("exited (Exit Code: %d)", r.Exit.Code)
}

// startInBackground starts a command that outlives the call, and shows its first output.
func startInBackground(ctx context.Context, call *tool.Call, args runShellArgs) (tool.Result, error) {
	if strings.TrimSpace(args.Command) == "" {
		return tool.Result{}, errors.New("command is empty; give the command line to run")
	}
	known, table, err := backgroundsOf(call)
	if err != nil {
		return tool.Result{}, err
	}
	delay := defaultDelay
	if args.DelayMS != 0 {
		delay = delayOf(args.DelayMS)
	}
	id, err := table.Start(ctx, call.Env, env.Command{Script: args.Command, Stdin: true})
	if err != nil {
		return tool.Result{}, err
	}
	result, err := known.add(id, args.Command).read(ctx, table, delay)
	if err != nil {
		return tool.Result{}, err
	}
	result.Content = llm.TextParts(
		fmt.Sprintf("Command moved to background (PID: %s, the session's number for it). Status: %s.\n%s",
			id, statusOf(result.Ran), tagged(result.Content.Text())))
	return result, nil
}

// delayOf returns a delay, bounded before the multiplication, which could overflow.
func delayOf(ms int64) time.Duration {
	return time.Duration(min(max(ms, 0), env.MaxTimeout.Milliseconds())) * time.Millisecond
}

func orEmpty(text string) string {
	if text = strings.TrimSuffix(text, "\n"); text == "" {
		return "(empty)"
	}
	return text
}

type listBackgroundArgs struct {
	WaitForPrevious bool `json:"wait_for_previous"`
}

const listBackgroundParameters = `{
	"type": "object",
	"properties": {
		"wait_for_previous": {"type": "boolean", "description": "Run this call after the ones before it in the same response. Default: false."}
	}
}`

func listBackgroundProcesses() tool.Tool {
	t := tool.New(llm.ToolDefinition{
		Name: "list_background_processes",
		Description: "Lists the commands of this session that were started in the background, with their pid " +
			"and status.",
		Parameters: json.RawMessage(listBackgroundParameters),
	}, func(ctx context.Context, call *tool.Call, _ listBackgroundArgs) (tool.Result, error) {
		known, table, err := backgroundsOf(call)
		if err != nil {
			return tool.Result{}, err
		}
		var b strings.Builder
		for _, c := range known.list() {
			result, err := c.read(ctx, table, 0)
			if err != nil {
				return tool.Result{}, err
			}
			fmt.Fprintf(&b, "- [PID %s] %s: `%s`\n", c.id, statusOf(result.Ran), c.script)
		}
		if b.Len() == 0 {
			b.WriteString("No background processes were started in this session.")
		}
		return tool.Text(b.String()), nil
	})
	return tool.WithAccess(t, func(args listBackgroundArgs) tool.Access { return readAccess(args.WaitForPrevious) })
}

// readAccess returns the access of a call that changes nothing. A call that waits for those before
// it has to run alone: Access cannot say less.
func readAccess(waits bool) tool.Access {
	if waits {
		return tool.Access{Effect: tool.Exclusive}
	}
	return tool.Access{Effect: tool.ReadOnly}
}

type readBackgroundArgs struct {
	PID             int64 `json:"pid"`
	Lines           int64 `json:"lines"`
	DelayMS         int64 `json:"delay_ms"`
	WaitForPrevious bool  `json:"wait_for_previous"`
}

const readBackgroundParameters = `{
	"type": "object",
	"properties": {
		"pid": {"type": "integer", "description": "The number that run_shell_command gave the command."},
		"lines": {"type": "integer", "minimum": 1, "description": "How many of the last lines to return. Default: 100."},
		"delay_ms": {"type": "integer", "description": "Wait until the command has ended, at most so many milliseconds, before reading. Default: 0."},
		"wait_for_previous": {"type": "boolean", "description": "Run this call after the ones before it in the same response. Default: false."}
	},
	"required": ["pid"]
}`

func readBackgroundOutput() tool.Tool {
	t := tool.New(llm.ToolDefinition{
		Name: "read_background_output",
		Description: "Reads the last lines that a command in the background has printed, even if they were " +
			"read before.",
		Parameters: json.RawMessage(readBackgroundParameters),
	}, runReadBackground)
	t.Limit = tool.Limit{Chars: 30_000, Keep: tool.KeepTail}
	t.Instead = []tool.Instead{{Of: []string{"BashOutput", "TaskOutput", "job_output"}}}
	return tool.WithAccess(t, func(args readBackgroundArgs) tool.Access { return readAccess(args.WaitForPrevious) })
}

func runReadBackground(ctx context.Context, call *tool.Call, args readBackgroundArgs) (tool.Result, error) {
	known, table, err := backgroundsOf(call)
	if err != nil {
		return tool.Result{}, err
	}
	id := strconv.FormatInt(args.PID, 10)
	for _, c := range known.list() {
		if c.id != id {
			continue
		}
		result, err := c.read(ctx, table, delayOf(args.DelayMS))
		if err != nil {
			return tool.Result{}, err
		}
		last, left := lastLines(result.Content.Text(), cmp.Or(max(args.Lines, 0), defaultLastRead))
		shown := ""
		if left || c.cut {
			shown = " Earlier output is not shown."
		}
		result.Content = llm.TextParts(fmt.Sprintf("Process %s: %s.%s\n%s", id, statusOf(result.Ran), shown,
			tagged(last)))
		return result, nil
	}
	return tool.Result{}, fmt.Errorf(
		"there is no background process %s in this session; list_background_processes has those that there are", id)
}

// lastLines returns the last n lines of a text, and whether any are left out.
func lastLines(text string, n int64) (string, bool) {
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	from := max(0, len(lines)-int(min(n, math.MaxInt32)))
	return strings.Join(lines[from:], ""), from > 0
}

const processParameters = `{
	"type": "object",
	"properties": {
		"id": {"type": "string", "description": "The number that run_shell_command gave the command."},
		"action": {"type": "string", "enum": ["write", "end_input", "kill"], "description": "write sends input, end_input says that no more comes, kill ends the command with everything that it started."},
		"input": {"type": "string", "description": "For write: the text, with its newlines."}
	},
	"required": ["id", "action"],
	"additionalProperties": false
}`

// process returns the tool process without the action read, which would take output from
// read_background_output.
func process() tool.Tool {
	return tool.Adapt[json.RawMessage](dialect().Process(), llm.ToolDefinition{
		Name: "process",
		Description: "Writes to the input of a command in the background, or ends it, and returns what it has " +
			"printed since.",
		Parameters: json.RawMessage(processParameters),
	}, nil, nil)
}
