package gemini

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/attractor-go/attractor/internal/regex"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/search"
	"github.com/attractor-go/attractor/tool"
	"github.com/attractor-go/attractor/tool/coding"
)

const (
	defaultMatches = 100    // of grep_search, as in gemini-cli
	maxFiltered    = 50_000 // matching lines that are looked at if some are dropped
	maxContext     = 50     // lines on either side of a match
)

type grepSearchArgs struct {
	Pattern       string `json:"pattern"`
	DirPath       string `json:"dir_path"`
	Include       string `json:"include_pattern"`
	Exclude       string `json:"exclude_pattern"`
	NamesOnly     bool   `json:"names_only"`
	CaseSensitive bool   `json:"case_sensitive"`
	FixedStrings  bool   `json:"fixed_strings"`
	Context       int    `json:"context"`
	After         int    `json:"after"`
	Before        int    `json:"before"`
	MaxPerFile    int    `json:"max_matches_per_file"`
	TotalMax      int    `json:"total_max_matches"`
}

const grepSearchParameters = `{
	"type": "object",
	"properties": {
		"pattern": {"type": "string", "description": "Regular expression (RE2 syntax, without lookaround and backreferences) that is matched line by line."},
		"dir_path": {"type": "string", "description": "File or directory to search. Default: the working directory."},
		"include_pattern": {"type": "string", "description": "Search only files that match this glob, such as *.{ts,tsx} or src/**. Default: all files."},
		"exclude_pattern": {"type": "string", "description": "Regular expression: lines that match it are left out of the matches."},
		"names_only": {"type": "boolean", "description": "Return the names of the files with matches alone."},
		"case_sensitive": {"type": "boolean", "description": "Distinguish upper and lower case. Default: false."},
		"fixed_strings": {"type": "boolean", "description": "Take the pattern as plain text. Default: false."},
		"context": {"type": "integer", "minimum": 0, "description": "Lines shown before and after each match. Default: 0."},
		"after": {"type": "integer", "minimum": 0, "description": "Lines shown after each match. Default: 0."},
		"before": {"type": "integer", "minimum": 0, "description": "Lines shown before each match. Default: 0."},
		"no_ignore": {"type": "boolean", "description": "Has no effect: to search what .gitignore excludes, give its directory or file as dir_path."},
		"max_matches_per_file": {"type": "integer", "minimum": 1, "description": "Matches returned of each file. Default: all."},
		"total_max_matches": {"type": "integer", "minimum": 1, "description": "Matches returned in all. Default: 100."}
	},
	"required": ["pattern"]
}`

// grepSearch returns the tool grep_search. It uses the search engine directly, because the tool
// grep has fewer parameters.
func grepSearch() tool.Tool {
	t := tool.New(llm.ToolDefinition{
		Name: "grep_search",
		Description: "Searches the contents of files for a regular expression. Files that .gitignore excludes, .git " +
			"directories and binary files are left out; hidden files are searched. Matches are `L12: text`, lines " +
			"around them `L13- text`, below a line with the file.",
		Parameters: json.RawMessage(grepSearchParameters),
	}, runGrepSearch)
	base := coding.Grep()
	t.Limit, t.Instead = base.Limit, base.Instead
	return tool.WithAccess(t, func(args grepSearchArgs) tool.Access {
		return tool.Access{Effect: tool.ReadOnly, Paths: []string{path.Clean(args.DirPath)}}
	})
}

// runGrepSearch runs grep_search.
func runGrepSearch(ctx context.Context, call *tool.Call, args grepSearchArgs) (tool.Result, error) {
	args.DirPath = call.Named(args.DirPath)
	if args.Pattern == "" {
		return tool.Result{}, errors.New("pattern is empty; give a regular expression")
	}
	exclude, err := regex.Compile(args.Exclude)
	if err != nil {
		return tool.Result{}, fmt.Errorf(
			"exclude_pattern is not a valid regular expression (%w); put a \\ before characters such as ( [ { . * "+
				"that are meant as they are", err)
	}
	q := args.query()
	found, err := search.Grep(ctx, call.Env, q)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return tool.Result{}, fmt.Errorf(
			"%s does not exist; give an existing file or directory as dir_path, or leave it out to search the "+
				"working directory", texts.Shown(args.DirPath))
	case err != nil:
		return tool.Result{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, search.MaxTime)
	defer cancel()
	m := matches{perFile: args.MaxPerFile, left: args.most(), before: q.Before, after: q.After,
		namesOnly: args.NamesOnly}
	if args.Exclude != "" {
		m.exclude = exclude
	}
	for _, f := range found.Files {
		m.add(ctx, f)
	}
	result := tool.Text(m.render(args, found))
	result.Hint = "Narrow the search with dir_path, include_pattern or a more exact pattern."
	return result, nil
}

// most returns how many matches, or names of files, the result may have.
func (args grepSearchArgs) most() int {
	return min(cmp.Or(args.TotalMax, defaultMatches), coding.MaxResults)
}

// query returns the query for the search engine. If matches are dropped afterwards, it asks for
// more than the result may have.
func (args grepSearchArgs) query() search.Query {
	q := search.Query{Pattern: args.Pattern, Path: args.DirPath, Glob: args.Include, IgnoreCase: !args.CaseSensitive}
	if args.FixedStrings {
		q.Pattern = regexp.QuoteMeta(args.Pattern)
	}
	if args.NamesOnly && args.Exclude == "" {
		q.Mode = search.Files
	} else if !args.NamesOnly {
		q.Before, q.After = min(max(args.Before, args.Context), maxContext), min(max(args.After, args.Context),
			maxContext)
	}
	if q.Max = args.most(); args.Exclude != "" || args.MaxPerFile > 0 {
		q.Max = maxFiltered
	}
	return q
}

// matches collects the matches to show.
type matches struct {
	exclude       *regexp.Regexp
	perFile, left int
	before, after int
	namesOnly     bool

	text  strings.Builder
	shown int
	more  bool
}

// add adds a file's matches with the lines around them, within the limits.
func (m *matches) add(ctx context.Context, f search.FileMatches) {
	if m.namesOnly && len(f.Lines) == 0 { // the search returned names only
		m.name(f.Path)
		return
	}
	var at []int // indexes of the matching lines
	for i, l := range f.Lines {
		switch {
		case ctx.Err() != nil: // expressions may be slow
			m.more = true
		case !l.Match || m.exclude != nil && m.exclude.MatchString(l.Text):
		case m.perFile > 0 && len(at) == m.perFile, !m.namesOnly && m.left == len(at):
			m.more = true
		default:
			at = append(at, i)
		}
	}
	if len(at) == 0 {
		return
	}
	if m.namesOnly {
		m.name(f.Path)
		return
	}
	m.left -= len(at)
	m.shown += len(at)
	fmt.Fprintf(&m.text, "File: %s\n", texts.Shown(f.Path))
	last := 0
	for i, l := range f.Lines {
		mark := m.mark(f.Lines, at, i)
		if mark == "" {
			continue
		}
		if last > 0 && l.Number > last+1 && m.before+m.after > 0 {
			m.text.WriteString("...\n")
		}
		fmt.Fprintf(&m.text, "L%d%s %s\n", l.Number, mark, l.Shown())
		last = l.Number
	}
	m.text.WriteString("---\n")
}

func (m *matches) name(name string) {
	if m.left == 0 {
		m.more = true
		return
	}
	m.left--
	m.shown++
	m.text.WriteString(texts.Shown(name) + "\n")
}

// mark returns what follows a line's number: a colon for a match, a dash for a line near one, or
// nothing for a line that is not shown.
func (m *matches) mark(lines []search.Line, at []int, i int) string {
	near := ""
	for _, j := range at {
		distance := lines[i].Number - lines[j].Number
		switch {
		case distance == 0:
			return ":"
		case distance < 0 && -distance <= m.before, distance > 0 && distance <= m.after:
			near = "-"
		}
	}
	return near
}

// render returns the text of the result.
func (m *matches) render(args grepSearchArgs, found search.Result) string {
	where := fmt.Sprintf("for pattern %q in path %q", args.Pattern, cmp.Or(args.DirPath, "."))
	if args.Include != "" {
		where += fmt.Sprintf(" (filter: %q)", args.Include)
	}
	var b strings.Builder
	switch {
	case m.shown == 0:
		fmt.Fprintf(&b, "No matches found %s. %s searched.\n", where, plural(found.Searched, "file was", "files were"))
	case m.namesOnly:
		fmt.Fprintf(&b, "Found %s with matches %s:\n%s", plural(m.shown, "file", "files"), where, m.text.String())
	default:
		fmt.Fprintf(&b, "Found %s %s:\n---\n%s", plural(m.shown, "match", "matches"), where, m.text.String())
	}
	if m.more || found.More {
		b.WriteString("[There are more matches. Narrow the search, or set total_max_matches.]\n")
	}
	b.WriteString(coding.Stopped(found.Stopped) + coding.Unreadable(found.Unreadable))
	return b.String()
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
