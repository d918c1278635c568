package coding

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/search"
	"github.com/attractor-go/attractor/tool"
)

type globArgs struct {
	Pattern string `json:"pattern" jsonschema:"Pattern for the file's path from the directory: * and ? within a name, ** for any number of directories, [abc] and {a,b}. Examples: **/*.go, src/*.{ts,tsx}."`
	Path    string `json:"path,omitempty" jsonschema:"Directory to look in. Default: the working directory."`
}

// Glob returns the tool glob, which finds files by name.
func Glob() tool.Tool { return Dialect{}.Glob() }

// Glob returns the tool glob.
func (d Dialect) Glob() tool.Tool {
	t := tool.New(llm.ToolDefinition{
		Name: "glob",
		Description: "Finds files by name. Returns the paths that match a pattern, the most recently modified first. " +
			"Files that .gitignore excludes and .git directories are left out; hidden files are found.",
		Parameters: schema("glob"),
	}, d.glob)
	t.Instead = replaces("glob")
	t.Limit = tool.Limit{Chars: 20_000, Lines: 500, Keep: tool.KeepHead}
	return tool.WithAccess(t, func(args globArgs) tool.Access {
		return tool.Access{Effect: tool.ReadOnly, Paths: []string{path.Clean(args.Path)}}
	})
}

func (d Dialect) glob(ctx context.Context, call *tool.Call, args globArgs) (tool.Result, error) {
	if args.Pattern == "" {
		return tool.Result{}, errors.New("pattern is empty; give a glob pattern such as **/*.go")
	}
	args.Path = call.Named(args.Path)
	found, err := search.Glob(ctx, call.Env, args.Pattern, args.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return tool.Result{}, d.noDirectory(args)
	}
	if err != nil {
		if info, statErr := call.Env.Stat(ctx, args.Path); args.Path != "" && statErr == nil && !info.IsDir() {
			return tool.Result{}, fmt.Errorf("%s is a file; %s has to be a directory, such as the one that contains it",
				texts.Shown(args.Path), d.word("glob.path"))
		}
		return tool.Result{}, d.explainPath(ctx, call.Env, args.Path, err)
	}
	text := ListFiles(found) + alikeFiles(args.Pattern, found)
	if len(found.Files) == 0 {
		text = fmt.Sprintf("No files match %s.%s\n", texts.Shown(args.Pattern),
			d.whatInstead(ctx, call.Env, args)) + text
	}
	result := tool.Text(text)
	result.Hint = fmt.Sprintf("Give a narrower pattern, or a directory as %s.", d.word("glob.path"))
	return result, nil
}

// ListFiles returns the files that were found as lines of a result, at most [MaxResults] of them,
// and what could not be read.
func ListFiles(found search.Listing) string {
	var b strings.Builder
	for _, f := range found.Files[:min(len(found.Files), MaxResults)] {
		b.WriteString(texts.Shown(f.Path) + "\n")
	}
	if more := len(found.Files) - MaxResults; more > 0 {
		fmt.Fprintf(&b, "[%d more files match]\n", more)
	}
	b.WriteString(Stopped(found.Stopped) + Unreadable(found.Unreadable))
	return b.String()
}

// maxAlike limits the names that a result spells with escapes.
const maxAlike = 10

// alikeFiles returns the line of a result about files that match a pattern only to the eye, or "".
func alikeFiles(pattern string, found search.Listing) string {
	if !texts.HasLook(pattern) || strings.ContainsAny(pattern, `[{\`) {
		return ""
	}
	var list []string
	for _, f := range found.Files {
		for text := range strings.FieldsFuncSeq(pattern, func(r rune) bool { return strings.ContainsRune("*?/", r) }) {
			if texts.HasLook(text) && !strings.Contains(f.Path, text) && len(list) < maxAlike {
				list = append(list, fmt.Sprintf("%+q", f.Path))
				break
			}
		}
	}
	if list == nil {
		return ""
	}
	return fmt.Sprintf("[These only look like %+q: %s]\n", pattern, strings.Join(list, ", "))
}

// noDirectory returns the error for a directory that does not exist.
func (d Dialect) noDirectory(args globArgs) error {
	if args.Path == "" {
		return fmt.Errorf("the directory at the beginning of the pattern %q does not exist; begin it with one that "+
			"does, or with **/", args.Pattern)
	}
	return fmt.Errorf("the directory %s does not exist; give an existing one as %s, or leave it out to look in the "+
		"working directory", texts.Shown(args.Path), d.word("glob.path"))
}

// whatInstead returns advice for a pattern that matched nothing, beginning with a space.
func (d Dialect) whatInstead(ctx context.Context, e env.Environment, args globArgs) string {
	meta := strings.IndexAny(args.Pattern, `*?[{\`)
	if meta < 0 {
		meta = len(args.Pattern)
	}
	dir := args.Pattern[:strings.LastIndexByte(args.Pattern[:meta], '/')+1]
	from := args.Path
	if path.IsAbs(args.Pattern) {
		from = ""
	}
	_, noDir := e.Stat(ctx, path.Join(from, dir))
	info, noFile := e.Stat(ctx, path.Join(from, args.Pattern))
	switch {
	case strings.Contains("/"+args.Pattern+"/", "/.git/"):
		return " Files in .git directories are not listed."
	case meta == len(args.Pattern) && noFile == nil && info.IsDir():
		return fmt.Sprintf(" It is a directory; to find the files in it, use %s.",
			texts.Shown(strings.TrimSuffix(args.Pattern, "/")+"/**"))
	case meta == len(args.Pattern) && noFile == nil:
		return " There is such a file, but .gitignore excludes it."
	case dir != "" && noDir != nil:
		return fmt.Sprintf(" There is no directory %s.", texts.Shown(path.Join(from, dir)))
	case strings.Contains(args.Pattern, "**"):
		return ""
	case dir == "":
		return fmt.Sprintf(" To look in all directories below, use %s.", texts.Shown("**/"+args.Pattern))
	}
	return fmt.Sprintf(" To look in all directories below, use %s; what .gitignore excludes is left out, unless its "+
		"directory is given as %s.", texts.Shown(dir+"**/"+args.Pattern[len(dir):]), d.word("glob.path"))
}
