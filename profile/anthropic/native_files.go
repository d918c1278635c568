package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

type readArgs struct {
	FilePath string `json:"file_path"`
	Offset   int    `json:"offset"`
	Limit    int    `json:"limit"`
	Pages    string `json:"pages"`
}

const readParameters = `{
	"type": "object",
	"properties": {
		"file_path": {"type": "string", "description": "Path of the file, absolute or relative to the working directory."},
		"offset": {"type": "integer", "minimum": 0, "description": "Line to start at, counted from 1. Default: the first."},
		"limit": {"type": "integer", "exclusiveMinimum": 0, "description": "How many lines to read. Default: 2000."},
		"pages": {"type": "string", "description": "Pages of a PDF. PDF files are not read here: leave it out."},
		"allow_large": {"type": "boolean", "description": "Has no effect: files of any size are read in parts."}
	},
	"required": ["file_path"],
	"additionalProperties": false
}`

func read() tool.Tool {
	return tool.Adapt(dialect().ReadFile(), llm.ToolDefinition{
		Name: "Read",
		Description: "Reads a file and returns its lines with their numbers, as cat -n does: the number, a tab, the " +
			"line. The number and the tab are not part of the file. Without offset and limit the first 2000 lines " +
			"come back. Images (PNG, JPEG, GIF, WebP) come back as images. Directories and other binary files are " +
			"refused. Characters that cannot be seen are shown as \\u{hex}.",
		Parameters: json.RawMessage(readParameters),
	}, func(args readArgs) (any, error) {
		if args.Pages != "" {
			return nil, errors.New("pages is for PDF files, which are not read here; use a program such as pdftotext " +
				"with Bash, and leave pages out for other files")
		}
		return map[string]any{"file_path": args.FilePath, "offset": args.Offset, "limit": args.Limit}, nil
	}, nil)
}

// catNumbers numbers lines as cat -n does.
func catNumbers(b *strings.Builder, n, _ int) { fmt.Fprintf(b, "%6d\t", n) }

const editParameters = `{
	"type": "object",
	"properties": {
		"file_path": {"type": "string", "description": "Path of the file, absolute or relative to the working directory."},
		"old_string": {"type": "string", "description": "The text to replace, exactly as it is in the file, without the line numbers that Read shows."},
		"new_string": {"type": "string", "description": "The text to put in its place; it must differ from old_string."},
		"replace_all": {"type": "boolean", "default": false, "description": "Replace every occurrence of old_string."}
	},
	"required": ["file_path", "old_string", "new_string"],
	"additionalProperties": false
}`

func edit() tool.Tool {
	return tool.Adapt[json.RawMessage](dialect().EditFile(), llm.ToolDefinition{
		Name: "Edit",
		Description: "Replaces text in a file. old_string must match the file exactly, indentation included, and be " +
			"there exactly once, unless replace_all is true. Read the file before you edit it. The file keeps its " +
			"line endings and its mode.",
		Parameters: json.RawMessage(editParameters),
	}, nil, nil)
}

const writeParameters = `{
	"type": "object",
	"properties": {
		"file_path": {"type": "string", "description": "Path of the file, absolute or relative to the working directory."},
		"content": {"type": "string", "description": "The whole content of the file."}
	},
	"required": ["file_path", "content"],
	"additionalProperties": false
}`

func write() tool.Tool {
	return tool.Adapt[json.RawMessage](dialect().WriteFile(), llm.ToolDefinition{
		Name: "Write",
		Description: "Creates a file, or replaces the whole content of one that exists. Missing directories are " +
			"created. An existing file has to be read first. To change a part of a file, use Edit.",
		Parameters: json.RawMessage(writeParameters),
	}, nil, nil)
}

// editResult returns the text that Claude models know as the result of an edit.
func editResult(e coding.Edited) string {
	text := fmt.Sprintf("The file %s has been updated.%s", e.Name, e.Note())
	if e.Snippet == "" {
		return text + fmt.Sprintf(" All %d occurrences were successfully replaced (%s).", e.Count, e.Lines)
	}
	return text + " Here's the result of running `cat -n` on a snippet of the edited file:\n" + e.Snippet
}

// writeResult returns the text that Claude models know as the result of writing a file.
func writeResult(w coding.Wrote) string {
	if w.Replaced {
		return fmt.Sprintf("The file %s has been updated successfully.%s", w.Name, w.Note())
	}
	return "File created successfully at: " + w.Name
}
