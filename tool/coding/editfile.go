package coding

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/fuzzy"
	"github.com/attractor-go/attractor/internal/names"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

const (
	maxEditBytes    = 64 << 20 // the largest file that is edited
	snippetContext  = 3        // lines shown before and after an edit
	maxSnippetLines = 40
	maxLineNumbers  = 10 // of occurrences that are named
)

type editFileArgs struct {
	FilePath   string `json:"file_path" jsonschema:"Path of the file, absolute or relative to the working directory."`
	OldString  string `json:"old_string" jsonschema:"The text to replace, exactly as it is in the file, without the line numbers that read_file shows. It must be there once, unless replace_all is true: include enough lines around the place."`
	NewString  string `json:"new_string" jsonschema:"The text to put in its place. Empty to delete."`
	ReplaceAll bool   `json:"replace_all,omitempty" jsonschema:"Replace every occurrence of old_string. Default: false."`
}

// EditFile returns the tool edit_file: a text in a file replaced by another.
func EditFile() tool.Tool { return EditFileAs(BarNumbers) }

// EditFileAs returns the tool edit_file with the line numbers of a dialect.
func EditFileAs(numbers Numbering) tool.Tool {
	t := tool.New(llm.ToolDefinition{
		Name: "edit_file",
		Description: "Replaces text in a file. old_string must match the file exactly, indentation included, and be there exactly " +
			"once; with replace_all every occurrence is replaced. Read the file before you edit it. The file keeps its line " +
			"endings and its mode.",
	}, func(ctx context.Context, call *tool.Call, args editFileArgs) (tool.Result, error) {
		return editFile(ctx, call, args, numbers)
	})
	t.Limit = tool.Limit{Chars: 10_000, Keep: tool.KeepTail}
	return tool.WithAccess(t, func(args editFileArgs) tool.Access {
		return tool.Access{Effect: tool.Writes, Paths: []string{lexical(args.FilePath)}}
	})
}

func editFile(ctx context.Context, call *tool.Call, args editFileArgs, numbers Numbering) (tool.Result, error) {
	e := edit{old: args.OldString, new: args.NewString, all: args.ReplaceAll}
	if err := e.check(); err != nil {
		return tool.Result{}, err
	}
	text := ""
	result, err := change(ctx, call, args.FilePath, func() (d decision, err error) {
		content, err := readWhole(ctx, call.Env, args.FilePath)
		if err != nil {
			return d, err
		}
		d.was = contentOf(call, []byte(content))
		d.data, text, err = e.edited(args.FilePath, content, numbers)
		return d, err
	})
	result.Content = llm.TextParts(text)
	return result, err
}

// edited returns a file's content after an edit, and what is said about it.
func (e edit) edited(name, content string, numbers Numbering) (edited []byte, text string, err error) {
	m := e.match(content)
	switch {
	case len(m.places) == 0:
		return nil, "", fmt.Errorf("old_string was not found in %s; nothing was changed.%s", names.Shown(name), explainNoMatch(content, e))
	case len(m.places) > 1 && !e.all:
		return nil, "", notUnique(names.Shown(name), content, m)
	}
	edited, placed := e.apply(content, m.places)
	text = fmt.Sprintf("Edited %s: replaced %s (%s).", names.Shown(name), count(len(placed), "occurrence"), lineNumbers(edited, placed))
	if m.how != "" {
		text += " old_string did not match exactly, but it did but for " + m.how + "."
	}
	if len(placed) == 1 {
		text += " It now reads:\n" + snippet(edited, placed[0], numbers)
	}
	return edited, text, nil
}

// notUnique says where an old text is that is there more than once.
func notUnique(name, content string, m matching) error {
	places := lineNumbers([]byte(content), m.spans())
	if m.how != "" {
		return fmt.Errorf("old_string is not in %s exactly, and but for %s it is there %d times (%s); nothing was changed. Copy the "+
			"text exactly, with more of the lines around the one that you mean", name, m.how, len(m.places), places)
	}
	return fmt.Errorf("old_string is in %s %d times (%s); nothing was changed. Include more of the lines around the one that you "+
		"mean, or set replace_all to change them all", name, len(m.places), places)
}

// check refuses an edit that can mean nothing.
func (e edit) check() error {
	switch {
	case e.old == "":
		return errors.New("old_string is empty; give the text to replace. To insert, replace a line by itself and the new text; to create a file, use write_file")
	case e.old == e.new:
		return errors.New("old_string and new_string are the same, so there is nothing to change")
	case toLF(e.old) == toLF(e.new):
		return errors.New("old_string and new_string differ in line endings alone, which edit_file keeps as they are; to change them, use shell")
	}
	return nil
}

// readWhole reads a file that is to be edited.
func readWhole(ctx context.Context, e env.Environment, name string) (content string, err error) {
	f, err := e.Open(ctx, name)
	if err != nil {
		return "", explainOpen(ctx, e, name, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := e.Stat(ctx, name)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.Grow(int(min(max(info.Size, 0), maxEditBytes)))
	n, err := io.Copy(&b, io.LimitReader(f, maxEditBytes+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("reading %s: %w", names.Shown(name), err)
	case n > maxEditBytes:
		return "", fmt.Errorf("%s is larger than %d MiB; change it with shell, for example with sed", names.Shown(name), maxEditBytes>>20)
	}
	return b.String(), nil
}

// lineNumbers names the lines in which spans start.
func lineNumbers(content []byte, spans []span) string {
	var numbers []string
	line, at, last := 1, 0, 0
	for _, s := range spans {
		line += bytes.Count(content[at:s.start], []byte("\n"))
		at = s.start
		if line == last {
			continue
		}
		if len(numbers) == maxLineNumbers {
			numbers = append(numbers, "...")
			break
		}
		numbers = append(numbers, strconv.Itoa(line))
		last = line
	}
	if len(numbers) == 1 {
		return "line " + numbers[0]
	}
	return "lines " + strings.Join(numbers, ", ")
}

// snippet shows a part of a content with the lines around it.
func snippet(content []byte, s span, numbers Numbering) string {
	from, to := s.start, s.end
	for range snippetContext + 1 { // the one more is the start of the line itself
		from = bytes.LastIndexByte(content[:max(from, 0)], '\n')
	}
	for range snippetContext + 1 {
		if end := bytes.IndexByte(content[to:], '\n'); end >= 0 {
			to += end + 1
		} else {
			to = len(content)
		}
	}
	first := bytes.Count(content[:from+1], []byte("\n")) + 1
	lines := strings.Split(strings.TrimSuffix(toLF(string(content[from+1:to])), "\n"), "\n")
	if len(lines) <= maxSnippetLines {
		return numbers.lines(fuzzy.Shortened(lines), first)
	}
	const half = maxSnippetLines / 2
	return numbers.lines(fuzzy.Shortened(lines[:half]), first) + "...\n" + numbers.lines(fuzzy.Shortened(lines[len(lines)-half:]), first+len(lines)-half)
}
