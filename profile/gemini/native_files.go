package gemini

import (
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
	return tool.Adapt(dialect().ListDir(), llm.ToolDefinition{
		Name: "list_directory",
		Description: "Lists the entries of a directory, sorted by name, also hidden ones and those that .gitignore " +
			"excludes. Directories end with /, symbolic links with @; files have their size.",
		Parameters: json.RawMessage(listDirectoryParameters),
	}, func(args listDirectoryArgs) (any, error) {
		return map[string]any{"path": args.DirPath, "ignore": args.Ignore}, nil
	}, nil)
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
	return tool.Adapt(dialect().ReadFile(), llm.ToolDefinition{
		Name: "read_file",
		Description: "Reads a file, or the lines of it from start_line to end_line, each with its line number in " +
			"front as `NNN | text`. The number and the separator are not part of the file. Images (PNG, JPEG, GIF, " +
			"WebP) come back as images. Directories and other binary files are refused. Characters that cannot be " +
			"seen are shown as \\u{hex}.",
		Parameters: json.RawMessage(readFileParameters),
	}, func(args readFileArgs) (any, error) {
		first, limit := max(args.StartLine, 1), 0
		if args.EndLine > 0 {
			if args.EndLine < first {
				return nil, fmt.Errorf("end_line %d is before start_line %d; end_line is the last line to read, not "+
					"a number of lines", args.EndLine, first)
			}
			limit = args.EndLine - first + 1
		}
		return map[string]any{"file_path": args.FilePath, "offset": first, "limit": limit}, nil
	}, nil)
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
	return tool.Adapt(dialect().EditFile(), llm.ToolDefinition{
		Name: "replace",
		Description: "Replaces text in a file. old_string must match the file exactly, indentation included, and be " +
			"there exactly once; with allow_multiple every occurrence is replaced. Read the file before you change " +
			"it. The file keeps its line endings and its mode.",
		Parameters: json.RawMessage(replaceParameters),
	}, func(args replaceArgs) (any, error) {
		return map[string]any{"file_path": args.FilePath, "old_string": args.OldString, "new_string": args.NewString,
			"replace_all": args.AllowMultiple}, nil
	}, nil)
}

// editResult returns the text that Gemini models know as the result of an edit.
func editResult(e coding.Edited) string {
	text := fmt.Sprintf("Successfully modified file: %s (%d replacements).%s", e.Name, e.Count, e.Note())
	if e.Snippet == "" {
		return text
	}
	return text + " Here is the updated code:\n" + e.Snippet
}

// writeResult returns the text that Gemini models know as the result of writing a file.
func writeResult(w coding.Wrote) string {
	if w.Replaced {
		return fmt.Sprintf("Successfully overwrote file: %s.%s", w.Name, w.Note())
	}
	return fmt.Sprintf("Successfully created and wrote to new file: %s.", w.Name)
}
