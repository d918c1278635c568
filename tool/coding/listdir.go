package coding

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/tool"
)

const (
	maxListDepth  = 10
	maxDirEntries = 2000 // the most that one call lists
)

type listDirArgs struct {
	Path   string   `json:"path,omitempty" jsonschema:"Directory to list. Default: the working directory."`
	Depth  int      `json:"depth,omitempty" jsonschema:"How many levels are listed, at most 10. Default: 1, the directory's own entries."`
	Ignore []string `json:"ignore,omitempty" jsonschema:"Patterns of names to leave out at any depth, such as *.log."`
}

// ListDir returns the tool list_dir, which lists the entries of a directory and of those below it.
func ListDir() tool.Tool { return Dialect{}.ListDir() }

// ListDir returns the tool list_dir.
func (d Dialect) ListDir() tool.Tool {
	t := tool.New(llm.ToolDefinition{
		Name: "list_dir",
		Description: "Lists a directory, sorted by name, with subdirectories indented below it as far as depth goes. " +
			"Directories end with /, symbolic links with @; files have their size in bytes. Hidden and ignored " +
			"entries are listed, too; .git directories are not entered.",
		Parameters: schema("list_dir"),
	}, d.listDir)
	t.Instead = replaces("list_dir")
	t.Limit = tool.Limit{Chars: 20_000, Lines: 500, Keep: tool.KeepHead}
	return tool.WithAccess(t, func(args listDirArgs) tool.Access {
		return tool.Access{Effect: tool.ReadOnly, Paths: []string{path.Clean(args.Path)}}
	})
}

func (d Dialect) listDir(ctx context.Context, call *tool.Call, args listDirArgs) (tool.Result, error) {
	depth := args.Depth
	switch {
	case depth < 0 || depth > maxListDepth:
		return tool.Result{}, fmt.Errorf("depth is %d; it must be from 1 to %d", depth, maxListDepth)
	case depth == 0:
		depth = 1
	}
	for _, pattern := range args.Ignore {
		if _, err := path.Match(pattern, ""); err != nil {
			return tool.Result{}, fmt.Errorf(
				"the pattern %q in ignore is not valid: a [ is not closed, or a \\ is at the end; put a \\ before a "+
					"character that is meant as it is", pattern)
		}
	}
	dir := call.Named(args.Path)
	if dir == "" {
		dir = "."
	}
	infos, err := call.Env.ReadDir(ctx, dir)
	if err != nil {
		return tool.Result{}, d.explainReadDir(ctx, call.Env, dir, err)
	}
	l := dirLister{env: call.Env, ignore: args.Ignore}
	if err := l.list(ctx, dir, infos, depth, ""); err != nil {
		return tool.Result{}, err
	}
	switch {
	case len(infos) == 0:
		l.text.WriteString("(the directory is empty)\n")
	case l.entries == 0:
		l.text.WriteString("(ignore leaves out every entry)\n")
	case l.entries > maxDirEntries:
		fmt.Fprintf(&l.text, "[Only the first %d entries are listed; there are more.]\n", maxDirEntries)
	}
	l.text.WriteString(Unreadable(l.unreadable))
	result := tool.Text(l.text.String())
	result.Hint = "List a subdirectory, or use " + d.word("glob") + "."
	return result, nil
}

// explainReadDir returns an error that tells the model why a directory could not be listed and what
// to do.
func (d Dialect) explainReadDir(ctx context.Context, e env.Environment, dir string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return d.explainMissing(ctx, e, dir)
	}
	if info, statErr := e.Stat(ctx, dir); statErr == nil && !info.IsDir() {
		return fmt.Errorf("%s is a file, not a directory; read it with %s", texts.Shown(dir), d.word("read_file"))
	}
	return d.explainPath(ctx, e, dir, err)
}

// dirLister writes a tree of directories.
type dirLister struct {
	env        env.Environment
	ignore     []string // patterns of names
	text       strings.Builder
	entries    int // more than maxDirEntries if the list is incomplete
	unreadable []string
}

// list writes the entries of a directory and, as far as depth goes, of those below it.
func (l *dirLister) list(ctx context.Context, dir string, infos []env.Info, depth int, indent string) error {
	for _, info := range infos {
		if l.ignores(info.Name) {
			continue
		}
		if l.entries++; l.entries > maxDirEntries {
			return nil
		}
		fmt.Fprintf(&l.text, "%s%s\n", indent, entryText(info))
		if !info.IsDir() || depth == 1 || info.Name == ".git" {
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return err
		}
		sub := strings.TrimSuffix(dir, "/") + "/" + info.Name
		below, err := l.env.ReadDir(ctx, sub)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // it may have been removed since it was listed
			l.unreadable = append(l.unreadable, fmt.Sprintf("%s: %s", texts.Shown(sub), texts.Error(err)))
		}
		if err := l.list(ctx, sub, below, depth-1, indent+"  "); err != nil {
			return err
		}
	}
	return nil
}

func (l *dirLister) ignores(name string) bool {
	return slices.ContainsFunc(l.ignore, func(pattern string) bool {
		match, err := path.Match(pattern, name)
		return err == nil && match // listDir has checked the patterns
	})
}

// entryText returns the line for an entry of a directory.
func entryText(info env.Info) string {
	name := texts.Shown(info.Name)
	switch {
	case info.IsDir():
		return name + "/"
	case info.Mode.Type() == fs.ModeSymlink:
		return name + "@"
	case !info.Mode.IsRegular():
		return name + " (special file)"
	}
	return fmt.Sprintf("%s (%s)", name, texts.Count(int(info.Size), "byte"))
}
