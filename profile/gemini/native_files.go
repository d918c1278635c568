package gemini

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

type listDirectoryArgs struct {
	DirPath string   `json:"dir_path"`
	Ignore  []string `json:"ignore"`
}

const listDirectoryParameters = `{
	"type": "object",
	"properties": {
		"dir_path": {"type": "string", "description": "The directory to list."},
		"ignore": {"type": "array", "items": {"type": "string"}, "description": "Patterns of names that are left out, such as *.log."},
		"file_filtering_options": {
			"type": "object",
			"description": "Has no effect: everything is listed but what ignore names.",
			"properties": {
				"respect_git_ignore": {"type": "boolean", "description": "Has no effect."},
				"respect_gemini_ignore": {"type": "boolean", "description": "Has no effect."}
			}
		}
	},
	"required": ["dir_path"]
}`

func listDirectory() tool.Tool {
	return tool.Adapt(coding.ListDir(), llm.ToolDefinition{
		Name: "list_directory",
		Description: "Lists the entries of a directory, sorted by name, also hidden ones and those that .gitignore excludes. Directories end with /, " +
			"symbolic links with @; files have their size.",
		Parameters: json.RawMessage(listDirectoryParameters),
	}, func(args listDirectoryArgs) (any, error) {
		return map[string]any{"path": args.DirPath, "ignore": args.Ignore}, nil
	}, func(r tool.Result) tool.Result {
		r.Hint = "List a subdirectory, or use glob."
		return r
	})
}

type readFileArgs struct {
	FilePath  string `json:"file_path"`
	StartLine int    `json:"start_line"`
	EndLine   int    `json:"end_line"`
}

const readFileParameters = `{
	"type": "object",
	"properties": {
		"file_path": {"type": "string", "description": "Path of the file, absolute or relative to the working directory."},
		"start_line": {"type": "integer", "minimum": 1, "description": "The first line to read, counted from 1. Default: the first."},
		"end_line": {"type": "integer", "minimum": 1, "description": "The last line to read. Default: 2000 lines are read."}
	},
	"required": ["file_path"]
}`

func readFile() tool.Tool {
	t := tool.Adapt(coding.ReadFileAs(coding.ReadForm{Number: coding.BarNumbers, Offset: "start_line"}), llm.ToolDefinition{
		Name: "read_file",
		Description: "Reads a file, or the lines of it from start_line to end_line, each with its line number in front as `NNN | text`. The number and " +
			"the separator are not part of the file. Images (PNG, JPEG, GIF, WebP) come back as images. Directories and other binary " +
			"files are refused. Characters that cannot be seen are shown as \\u{hex}.",
		Parameters: json.RawMessage(readFileParameters),
	}, func(args readFileArgs) (any, error) {
		first, limit := max(args.StartLine, 1), 0
		if args.EndLine > 0 {
			if args.EndLine < first {
				return nil, fmt.Errorf("end_line %d is before start_line %d", args.EndLine, first)
			}
			limit = args.EndLine - first + 1
		}
		return map[string]any{"file_path": args.FilePath, "offset": first, "limit": limit}, nil
	}, func(r tool.Result) tool.Result {
		r.Hint = "Use start_line and end_line to read the missing lines."
		return r
	})
	return withGlossary(t, "offset is start_line and shell is run_shell_command here")
}

type replaceArgs struct {
	FilePath      string `json:"file_path"`
	OldString     string `json:"old_string"`
	NewString     string `json:"new_string"`
	AllowMultiple bool   `json:"allow_multiple"`
}

const replaceParameters = `{
	"type": "object",
	"properties": {
		"file_path": {"type": "string", "description": "Path of the file, absolute or relative to the working directory."},
		"instruction": {"type": "string", "description": "What the change is and what it is for, for the person who watches."},
		"old_string": {"type": "string", "description": "The text to replace, exactly as it is in the file, without the line numbers that read_file shows. It must be there once, unless allow_multiple is true: include enough lines around the place."},
		"new_string": {"type": "string", "description": "The text to put in its place, complete. Empty to delete."},
		"allow_multiple": {"type": "boolean", "description": "Replace every occurrence of old_string. Default: false."}
	},
	"required": ["file_path", "instruction", "old_string", "new_string"]
}`

func replace() tool.Tool {
	t := tool.Adapt(coding.EditFile(), llm.ToolDefinition{
		Name: "replace",
		Description: "Replaces text in a file. old_string must match the file exactly, indentation included, and be there exactly once; with " +
			"allow_multiple every occurrence is replaced. Read the file before you change it. The file keeps its line endings and its mode.",
		Parameters: json.RawMessage(replaceParameters),
	}, func(args replaceArgs) (any, error) {
		return map[string]any{"file_path": args.FilePath, "old_string": args.OldString, "new_string": args.NewString,
			"replace_all": args.AllowMultiple}, nil
	}, nil)
	return withGlossary(t, "edit_file is replace, replace_all is allow_multiple and shell is run_shell_command here")
}

// withGlossary explains the names in a tool's errors, which are those of the tool below it. They cannot be exchanged in the text: an error
// may quote a file.
func withGlossary(t tool.Tool, glossary string) tool.Tool {
	run := t.Run
	t.Run = func(ctx context.Context, call *tool.Call) (tool.Result, error) {
		result, err := run(ctx, call)
		if err != nil {
			err = fmt.Errorf("%w\n[%s.]", err, glossary)
		}
		return result, err
	}
	return t
}
