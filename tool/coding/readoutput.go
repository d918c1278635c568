package coding

import (
	"bufio"
	"bytes"
	"cmp"
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
		Description: "Reads the whole output of an earlier call whose result was truncated, or turns of the " +
			"conversation that a summary has replaced: some lines, or the lines that match a pattern. Lines come " +
			"with their numbers in front as `NNN | text`.",
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
			"the pattern is not a valid regular expression (%w); put a \\ before characters such as ( [ { . * that "+
				"are meant as they are", err)
	}
	p := &page{match: match, offset: max(args.Offset, 1), limit: cmp.Or(args.Limit, defaultOutputLines)}
	ctx, cancel := context.WithTimeout(ctx, search.MaxTime)
	defer cancel()
	switch {
	case args.ID != "" && args.Turns != "":
		return tool.Result{}, errors.New("give an id or turns, not both")
	case args.ID == "" && args.Turns == "" && args.Pattern == "":
		return tool.Result{}, errors.New(
			"give the id of an output, the turns to read, or a pattern to search all replaced turns")
	case args.ID == "":
		return readTurns(ctx, call, args.Turns, p)
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
	text, err := outputLines(ctx, r, p)
	if err = errors.Join(err, r.Close()); err != nil {
		return tool.Result{}, err
	}
	return tool.Text(text), nil
}

// maxPage limits the text that one call returns, in bytes: less than the tool's limit, so that
// nothing is truncated.
const maxPage = 24_000

// page collects the lines that one call shows.
type page struct {
	match         *regexp.Regexp
	offset, limit int
	heading       string // of the next line that is shown
	text          strings.Builder
	line, shown   int // lines so far
}

// add counts a line, and writes it if it is requested. It returns false if there is no room for it,
// or no time.
func (p *page) add(ctx context.Context, line string) bool {
	p.line++
	switch {
	case p.line < p.offset || ctx.Err() == nil && !p.match.MatchString(line):
		return true
	case ctx.Err() != nil || p.shown == p.limit || p.text.Len() > maxPage:
		return false
	}
	fmt.Fprintf(&p.text, "%s%3d | %s\n", p.heading, p.line, line)
	p.heading = ""
	p.shown++
	return true
}

// outputLines returns the requested lines, or those before the context ends. It holds at most one
// other line in memory.
func outputLines(ctx context.Context, r io.Reader, p *page) (string, error) {
	lines := bufio.NewReaderSize(r, 64<<10)
	for ended := false; !ended; {
		line, err := shortLine(lines)
		ended = errors.Is(err, io.EOF)
		switch {
		case err != nil && !ended:
			return "", err
		case ended && line == "":
		case !p.add(ctx, line):
			fmt.Fprintf(&p.text, "[There is more; go on with offset %d.]\n", p.line)
			return p.text.String(), nil
		}
	}
	switch {
	case p.shown > 0:
	case p.match.String() != "":
		fmt.Fprintf(&p.text, "No line from %d on matches; the output has %d lines.", p.offset, p.line)
	default:
		fmt.Fprintf(&p.text, "The output has only %d lines.", p.line)
	}
	return p.text.String(), nil
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
