package coding

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/attractor-go/attractor/internal/regex"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/sanitize"
	"github.com/attractor-go/attractor/search"
	"github.com/attractor-go/attractor/tool"
)

type readOutputArgs struct {
	ID      string `json:"id,omitempty" jsonschema:"The id that the truncated result names."`
	Turns   string `json:"turns,omitempty" jsonschema:"Instead of an id: turns that a summary has replaced, such as 3 or 3-5. Only a pattern, without id and turns, searches all of them."`
	Offset  int    `json:"offset,omitempty" jsonschema:"Line to start at, counted from 1. Default: 1."`
	Limit   int    `json:"limit,omitempty" jsonschema:"How many lines to return. Default: 500."`
	Pattern string `json:"pattern,omitempty" jsonschema:"Regular expression (RE2 syntax): only lines that match are returned, with their line numbers."`
}

// defaultOutputLines is the default of limit.
const defaultOutputLines = 500

// maxOutputLine is how much of a line is shown, in bytes.
const maxOutputLine = 2_000

// ReadOutput returns the tool read_output(id, turns, offset, limit, pattern). It reads and searches
// what truncation removed from a result, and what compaction removed from the conversation.
func ReadOutput() tool.Tool {
	t := tool.New(llm.ToolDefinition{
		Name: tool.ReadOutput,
		Description: "Reads the whole output of an earlier call whose result was truncated, or turns of the conversation that a summary has " +
			"replaced: some lines, or the lines that match a pattern. Lines come with their numbers in front as `NNN | text`.",
		Parameters: schema(tool.ReadOutput),
	}, readOutput)
	t.Limit = tool.Limit{Chars: 30_000, Encoded: true}
	return tool.WithAccess(t, func(readOutputArgs) tool.Access { return tool.Access{Effect: tool.ReadOnly} })
}

func readOutput(ctx context.Context, call *tool.Call, args readOutputArgs) (tool.Result, error) {
	if args.Offset < 0 || args.Limit < 0 {
		return tool.Result{}, errors.New("offset and limit cannot be negative; lines are counted from 1")
	}
	match, err := regex.Compile(args.Pattern)
	if err != nil {
		return tool.Result{}, fmt.Errorf(
			"the pattern is not a valid regular expression (%w); put a \\ before characters such as ( [ { . * that are meant as they are", err)
	}
	ctx, cancel := context.WithTimeout(ctx, search.MaxTime)
	defer cancel()
	switch {
	case args.ID != "" && args.Turns != "":
		return tool.Result{}, errors.New("give an id or turns, not both")
	case args.ID == "" && args.Turns == "" && args.Pattern == "":
		return tool.Result{}, errors.New(
			"give the id of an output, the turns to read, or a pattern to search all replaced turns")
	case args.ID == "":
		return readTurns(ctx, call, args, match)
	}
	outputs := sessionOf(call).Outputs()
	if outputs == nil {
		return tool.Result{}, errors.New("this session keeps no outputs; run the command again and ask for less")
	}
	r, err := outputs.Open(args.ID)
	if errors.Is(err, tool.ErrNoOutput) {
		return tool.Result{}, fmt.Errorf(
			"there is no output %q in this session, or it was lost when the session was resumed; run the call again",
			args.ID)
	} else if err != nil {
		return tool.Result{}, err
	}
	text, err := outputLines(ctx, r, max(args.Offset, 1), args.Limit, match)
	if err = errors.Join(err, r.Close()); err != nil {
		return tool.Result{}, err
	}
	return tool.Text(text), nil
}

// outputLines returns the requested lines, or those before the context ends. It holds at most one
// other line in memory.
func outputLines(ctx context.Context, r io.Reader, offset, limit int, match *regexp.Regexp) (string, error) {
	if limit == 0 {
		limit = defaultOutputLines
	}
	var b strings.Builder
	lines := bufio.NewReaderSize(r, 64<<10)
	number, shown := 0, 0
	for {
		line, err := shortLine(lines)
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		if errors.Is(err, io.EOF) && line == "" {
			break
		}
		number++
		if number >= offset && (ctx.Err() != nil || match.MatchString(line)) {
			if shown == limit || ctx.Err() != nil {
				fmt.Fprintf(&b, "[There is more; go on with offset %d.]\n", number)
				return b.String(), nil
			}
			fmt.Fprintf(&b, "%3d | %s\n", number, line)
			shown++
		}
		if err != nil {
			break
		}
	}
	switch {
	case shown > 0:
	case match.String() != "":
		fmt.Fprintf(&b, "No line from %d on matches; the output has %d lines.", offset, number)
	default:
		fmt.Fprintf(&b, "The output has only %d lines.", number)
	}
	return b.String(), nil
}

// shortLine reads a line and keeps its beginning.
func shortLine(r *bufio.Reader) (string, error) {
	var line []byte
	cut := false
	for {
		piece, err := r.ReadSlice('\n')
		n := min(len(piece), maxOutputLine-len(line))
		line = append(line, piece[:n]...)
		cut = cut || len(bytes.TrimRight(piece[n:], "\r\n")) > 0
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if !cut {
			return sanitize.Terminal(string(bytes.TrimRight(line, "\r\n"))), err // the store has the raw bytes
		}
		return sanitize.Terminal(string(wholeRunes(line))) + " [the line goes on]", err
	}
}
