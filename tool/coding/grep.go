package coding

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/search"
	"github.com/attractor-go/attractor/tool"
)

const (
	defaultMaxResults = 100
	maxContextLines   = 50
)

// MaxResults limits the matching lines, or the files, that one search returns. The model sees
// fewer; a host may show them all.
const MaxResults = 10_000

type grepArgs struct {
	Pattern         string `json:"pattern"`
	Path            string `json:"path,omitempty"`
	GlobFilter      string `json:"glob_filter,omitempty"`
	CaseInsensitive bool   `json:"case_insensitive,omitempty"`
	MaxResults      int    `json:"max_results,omitempty"`
	OutputMode      string `json:"output_mode,omitempty"`
	Context         int    `json:"context,omitempty"`
}

// grepParameters is written by hand because struct tags cannot express an enum.
const grepParameters = `{
	"type": "object",
	"properties": {
		"pattern": {"type": "string", "description": "Regular expression (RE2 syntax, without lookaround and backreferences) that is matched line by line. Put a \\ before characters such as . ( [ { that are meant as they are."},
		"path": {"type": "string", "description": "File or directory to search. Default: the working directory."},
		"glob_filter": {"type": "string", "description": "Search only files that match this glob, such as *.go, *.{ts,tsx} or src/**/*.py. With ! in front: only those that do not."},
		"case_insensitive": {"type": "boolean", "description": "Ignore case. Default: false."},
		"max_results": {"type": "integer", "description": "How many matching lines, or files, are returned. Default: 100."},
		"output_mode": {"type": "string", "enum": ["content", "files_with_matches", "count"], "description": "content: the matching lines. files_with_matches: the files' names. count: how many lines match in each file. Default: content."},
		"context": {"type": "integer", "description": "How many lines are shown before and after each match, in the mode content. Default: 0."}
	},
	"required": ["pattern"],
	"additionalProperties": false
}`

// Grep returns the tool grep, which finds lines that match a regular expression.
func Grep() tool.Tool { return Dialect{}.Grep() }

// Grep returns the tool grep.
func (d Dialect) Grep() tool.Tool {
	t := tool.New(llm.ToolDefinition{
		Name: "grep",
		Description: "Searches the contents of files for a regular expression. Files that .gitignore excludes, .git " +
			"directories and binary files are left out; hidden files are searched. Matches come as `path:line:text`, " +
			"lines of context as `path-line-text`.",
		Parameters: json.RawMessage(grepParameters),
	}, d.grep)
	t.Instead = replaces("grep")
	t.Limit = tool.Limit{Chars: 20_000, Lines: 200, Keep: tool.KeepTail}
	return tool.WithAccess(t, func(args grepArgs) tool.Access {
		return tool.Access{Effect: tool.ReadOnly, Paths: []string{path.Clean(args.Path)}}
	})
}

func (d Dialect) grep(ctx context.Context, call *tool.Call, args grepArgs) (tool.Result, error) {
	args.Path = call.Named(args.Path)
	q, err := args.query()
	if err != nil {
		return tool.Result{}, err
	}
	found, err := search.Grep(ctx, call.Env, q)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return tool.Result{}, fmt.Errorf(
			"%s does not exist; give an existing file or directory, or leave path out to search the working directory",
			texts.Shown(args.Path))
	case err != nil:
		return tool.Result{}, d.explainPath(ctx, call.Env, args.Path, err)
	}
	text := renderGrep(found, q)
	if search.BothForms(q.Pattern) {
		text += "[The pattern was searched in both Unicode normal forms, which look the same.]\n"
	}
	result := tool.Text(text)
	result.Hint = "Narrow the search with path, glob_filter or a more exact pattern."
	return result, nil
}

// query returns the query for the search engine.
func (args grepArgs) query() (search.Query, error) {
	q := search.Query{Pattern: args.Pattern, Path: args.Path, Glob: args.GlobFilter, IgnoreCase: args.CaseInsensitive,
		Max: min(args.MaxResults, MaxResults)}
	switch {
	case args.Pattern == "":
		return q, errors.New("pattern is empty; give a regular expression")
	case args.MaxResults < 0:
		return q, fmt.Errorf("max_results is %d; it must be 1 or more", args.MaxResults)
	case args.Context < 0:
		return q, fmt.Errorf("context is %d; it must be 0 or more", args.Context)
	case args.MaxResults == 0:
		q.Max = defaultMaxResults
	}
	switch args.OutputMode {
	case "", "content":
		q.Before = min(args.Context, maxContextLines)
		q.After = q.Before
	case "files_with_matches":
		q.Mode = search.Files
	case "count":
		q.Mode = search.Counts
	default:
		return q, fmt.Errorf("output_mode is %q; it must be content, files_with_matches or count", args.OutputMode)
	}
	return q, nil
}

func renderGrep(found search.Result, q search.Query) string {
	var b strings.Builder
	total := 0
	for i, f := range found.Files {
		total += f.Count
		switch q.Mode {
		case search.Files:
			fmt.Fprintln(&b, texts.Shown(f.Path))
		case search.Counts:
			fmt.Fprintf(&b, "%s:%d\n", texts.Shown(f.Path), f.Count)
		default:
			if i > 0 && q.Before > 0 {
				b.WriteString("--\n")
			}
			renderLines(&b, f, q.Before > 0)
		}
	}
	switch {
	case len(found.Files) == 0 && found.Searched == 0:
		fmt.Fprintf(&b, "No matches: %s.\n", whyNothing(found, q))
	case len(found.Files) == 0:
		fmt.Fprintf(&b, "No matches in %s.\n", texts.Count(found.Searched, "file"))
	case found.More:
		fmt.Fprintf(&b, "[Only the first %d results are shown; there are more. Narrow the search, or set "+
			"max_results.]\n", q.Max)
	case q.Mode != search.Files:
		fmt.Fprintf(&b, "[%s in %s]\n", texts.Count(total, "matching line"), texts.Count(len(found.Files), "file"))
	}
	b.WriteString(Stopped(found.Stopped) + Unreadable(found.Unreadable))
	return b.String()
}

// whyNothing returns why no file was searched.
func whyNothing(found search.Result, q search.Query) string {
	switch {
	case found.Binary > 0:
		return "there was no text file to search, only " + texts.Count(found.Binary, "binary file")
	case q.Glob != "":
		return fmt.Sprintf("no file to search matches glob_filter %s; check it, or leave it out", q.Glob)
	}
	return "there was no text file to search"
}

// renderLines writes a file's lines. If separate is set, -- stands where lines are left out.
func renderLines(b *strings.Builder, f search.FileMatches, separate bool) {
	name := texts.Shown(f.Path)
	for i, l := range f.Lines {
		if separate && i > 0 && l.Number > f.Lines[i-1].Number+1 {
			b.WriteString("--\n")
		}
		mark := "-"
		if l.Match {
			mark = ":"
		}
		fmt.Fprintf(b, "%s%s%d%s%s\n", name, mark, l.Number, mark, l.Shown())
	}
}

// Stopped returns the line of a result about a search that took too long, or "".
func Stopped(stopped bool) string {
	if !stopped {
		return ""
	}
	return "[The search took too long and was stopped, so there may be more than this. Search in a part of the " +
		"directory, or for a simpler pattern.]\n"
}

// Unreadable returns the line of a result about files and directories that could not be read, or
// "".
func Unreadable(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf("[Not readable: %s]\n", strings.Join(list, "; "))
}
