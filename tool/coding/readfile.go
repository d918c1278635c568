package coding

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/attractor-go/attractor/internal/names"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

const (
	defaultReadLines = 2000
	binaryPeek       = 8 << 10 // a NUL byte in these makes a file binary
)

type readFileArgs struct {
	FilePath string `json:"file_path" jsonschema:"Path of the file, absolute or relative to the working directory."`
	Offset   int    `json:"offset,omitempty" jsonschema:"Line number to start at, counted from 1. Leave it out to start at the first line."`
	Limit    int    `json:"limit,omitempty" jsonschema:"How many lines to read. Default: 2000."`
}

// ReadForm is how a dialect of read_file shows lines.
type ReadForm struct {
	Number Numbering
	Offset string // the parameter that reads on
}

// ReadFile returns the tool read_file: lines of a text file with their numbers, or an image.
func ReadFile() tool.Tool { return ReadFileAs(ReadForm{Number: BarNumbers, Offset: "offset"}) }

// ReadFileAs returns the tool read_file with results in the form of a dialect.
func ReadFileAs(form ReadForm) tool.Tool {
	t := tool.New(llm.ToolDefinition{
		Name: "read_file",
		Description: "Reads a file and returns its lines, each with its line number in front as `NNN | text`. The number and the " +
			"separator are not part of the file. Without offset and limit the first 2000 lines come back; use them to read other " +
			"parts of a long file. Images (PNG, JPEG, GIF, WebP) come back as images. Directories and other binary files are " +
			"refused. Characters that cannot be seen are shown as \\u{hex}; edit lines that have such with the shell.",
	}, form.readFile)
	t.Limit = tool.Limit{Chars: 50_000, Keep: tool.KeepHeadTail}
	return tool.WithAccess(t, func(args readFileArgs) tool.Access {
		return tool.Access{Effect: tool.ReadOnly, Paths: []string{lexical(args.FilePath)}}
	})
}

func (form ReadForm) readFile(ctx context.Context, call *tool.Call, args readFileArgs) (result tool.Result, err error) {
	switch {
	case args.Offset < 0:
		return result, fmt.Errorf("offset is %d; line numbers start at 1", args.Offset)
	case args.Limit < 0:
		return result, fmt.Errorf("limit is %d; it must be 1 or more", args.Limit)
	}
	f, err := call.Env.Open(ctx, args.FilePath)
	if err != nil {
		return result, explainOpen(ctx, call.Env, args.FilePath, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	whole := newReading(f)
	r := bufio.NewReaderSize(whole, readBuffer)
	if result, err = form.readStarted(ctx, r, args); err == nil {
		result.Seen = whole.saw(ctx, call.Env, args.FilePath)
	}
	return result, err
}

// readStarted reads a file that was opened.
func (form ReadForm) readStarted(ctx context.Context, r *bufio.Reader, args readFileArgs) (result tool.Result, err error) {
	start, err := r.Peek(binaryPeek) // an error shows again when the lines are read
	switch {
	case imageType(start) != "":
		return readImage(r, imageType(start), args.FilePath)
	case isUTF16(start):
		return result, fmt.Errorf("%s is text in UTF-16, which this tool does not read; with shell, `iconv -f UTF-16 -t UTF-8` shows it", names.Shown(args.FilePath))
	case bytes.IndexByte(start, 0) >= 0:
		return result, fmt.Errorf("%s is a binary file and cannot be shown as text; with shell, programs such as file, xxd or strings can look into it", names.Shown(args.FilePath))
	case len(start) == 0 && err != nil && isEOF(err):
		return tool.Text("(the file is empty)"), nil
	}
	return form.readText(ctx, r, args)
}

func (form ReadForm) readText(ctx context.Context, r *bufio.Reader, args readFileArgs) (tool.Result, error) {
	first, limit := max(args.Offset, 1), args.Limit
	if limit == 0 {
		limit = defaultReadLines
	}
	x, err := readLines(ctx, r, first, limit)
	switch {
	case err != nil:
		return tool.Result{}, fmt.Errorf("reading %s: %w", names.Shown(args.FilePath), err)
	case len(x.lines) == 0:
		return tool.Result{}, fmt.Errorf("offset %d is past the end of %s, which has %s", first, names.Shown(args.FilePath), count(x.total, "line"))
	}
	text := form.Number.lines(x.lines, first)
	next := first + len(x.lines)
	switch {
	case x.full:
		text += fmt.Sprintf("\n[The answer is full after line %d; the file goes on. Use %s %d to read on.]", next-1, form.Offset, next)
	case x.more:
		text += fmt.Sprintf("\n[Lines %d to %d are shown; the file goes on. Use %s %d to read on.]", first, next-1, form.Offset, next)
	}
	result := tool.Text(text)
	result.Hint = "Use offset and limit to read the missing lines."
	return result, nil
}
