package coding

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/picture"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

const (
	defaultReadLines = 2000
	binaryPeek       = 8 << 10 // a file with a NUL byte in the first 8 KiB is binary
)

type readFileArgs struct {
	FilePath string `json:"file_path" jsonschema:"Path of the file, absolute or relative to the working directory."`
	Offset   int    `json:"offset,omitempty" jsonschema:"Line number to start at, counted from 1. Leave it out to start at the first line."`
	Limit    int    `json:"limit,omitempty" jsonschema:"How many lines to read. Default: 2000."`
}

// ReadFile returns the tool read_file, which reads numbered lines of a text file, or an image.
func ReadFile() tool.Tool { return Dialect{}.ReadFile() }

// ReadFile returns the tool read_file.
func (d Dialect) ReadFile() tool.Tool {
	t := tool.New(llm.ToolDefinition{
		Name: "read_file",
		Description: "Reads a file and returns its lines, each with its line number in front as `NNN | text`. The " +
			"number and the separator are not part of the file. Without offset and limit the first 2000 lines come " +
			"back; use them to read other parts of a long file. Images (PNG, JPEG, GIF, WebP) come back as images. " +
			"Directories and other binary files are refused. Characters that cannot be seen are shown as \\u{hex}; " +
			"edit such lines with the shell.",
		Parameters: schema("read_file"),
	}, d.readFile)
	t.Instead = replaces("read_file")
	t.Limit = tool.Limit{Chars: 50_000, Keep: tool.KeepHeadTail}
	return tool.WithAccess(t, func(args readFileArgs) tool.Access {
		return tool.Access{Effect: tool.ReadOnly, Paths: []string{cleanPath(args.FilePath)}}
	})
}

func (d Dialect) readFile(ctx context.Context, call *tool.Call, args readFileArgs) (tool.Result, error) {
	switch {
	case args.Offset < 0:
		return tool.Result{}, fmt.Errorf("%s is %d; line numbers start at 1", d.word("read_file.offset"), args.Offset)
	case args.Limit < 0:
		return tool.Result{}, fmt.Errorf("%s is %d; it must be 1 or more", d.word("read_file.limit"), args.Limit)
	}
	args.FilePath = call.Named(args.FilePath)
	return d.open(ctx, call.Env, args.FilePath, func(r *bufio.Reader) (tool.Result, error) {
		return d.readStarted(ctx, r, args)
	})
}

// open returns the result of read for a file, with what the session has then seen of it.
func (d Dialect) open(ctx context.Context, e env.Environment, name string,
	read func(*bufio.Reader) (tool.Result, error)) (result tool.Result, err error) {
	f, err := e.Open(ctx, name)
	if err != nil {
		return result, d.explainOpen(ctx, e, name, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	whole := newHashingReader(f)
	if result, err = read(bufio.NewReaderSize(whole, readBuffer)); err == nil {
		result.Seen = whole.seen(ctx, e, name)
		d.addNotUTF8(&result, whole, name)
	}
	return result, err
}

// addNotUTF8 adds a line to the text of a file that is not UTF-8, as far as it was read.
func (d Dialect) addNotUTF8(result *tool.Result, whole *hashingReader, name string) {
	if len(result.Content) != 1 || !whole.notUTF8() {
		return
	}
	if text, ok := result.Content[0].(llm.Text); ok {
		result.Content = llm.TextParts(strings.TrimSuffix(text.Text, "\n") + "\n" + d.notUTF8(name))
	}
}

// readStarted reads an open file.
func (d Dialect) readStarted(ctx context.Context, r *bufio.Reader, args readFileArgs) (result tool.Result, err error) {
	start, err := r.Peek(binaryPeek) // reading the lines returns the error again
	switch {
	case picture.Type(start) != "":
		return d.readImage(r, args.FilePath)
	case isUTF16(start):
		return result, fmt.Errorf(
			"%s is text in UTF-16, which this tool does not read; convert it with %s and `iconv -f UTF-16 -t UTF-8`",
			texts.Shown(args.FilePath), d.word("shell"))
	case bytes.IndexByte(start, 0) >= 0:
		return result, fmt.Errorf(
			"%s is a binary file and cannot be shown as text; look into it with %s and programs such as file, xxd "+
				"or strings", texts.Shown(args.FilePath), d.word("shell"))
	case len(start) == 0 && err != nil && isEOF(err):
		return tool.Text("(the file is empty)"), nil
	}
	return d.readText(ctx, r, args)
}

func (d Dialect) readText(ctx context.Context, r *bufio.Reader, args readFileArgs) (tool.Result, error) {
	first, limit := max(args.Offset, 1), args.Limit
	if limit == 0 {
		limit = defaultReadLines
	}
	x, err := readLines(ctx, r, first, limit)
	switch {
	case err != nil:
		return tool.Result{}, fmt.Errorf("reading %s: %w", texts.Shown(args.FilePath), err)
	case len(x.lines) == 0:
		return tool.Result{}, fmt.Errorf("%s %d is past the end of %s, which has %s; choose one from 1 to %d",
			d.word("read_file.offset"), first, texts.Shown(args.FilePath), texts.Count(x.total, "line"), x.total)
	}
	text := d.number(x.lines, first)
	next := first + len(x.lines)
	switch {
	case x.full:
		text += fmt.Sprintf("\n[The result is full after line %d; the file goes on. Use %s %d to read on.]", next-1,
			d.word("read_file.offset"), next)
	case x.more:
		text += fmt.Sprintf("\n[Lines %d to %d are shown; the file goes on. Use %s %d to read on.]", first, next-1,
			d.word("read_file.offset"), next)
	}
	result := tool.Text(text)
	result.Hint = fmt.Sprintf("Use %s and %s to read the missing lines.", d.word("read_file.offset"),
		d.word("read_file.limit"))
	return result, nil
}
