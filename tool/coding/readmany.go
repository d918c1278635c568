package coding

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/internal/picture"
	"github.com/attractor-go/attractor/internal/texts"
	"github.com/attractor-go/attractor/llm"
	"github.com/attractor-go/attractor/search"
	"github.com/attractor-go/attractor/tool"
)

const (
	maxManyFiles = 100     // the most that one call reads
	maxManyBytes = 1 << 20 // the most text that one call returns
)

type readManyFilesArgs struct {
	Paths   []string `json:"paths" jsonschema:"Files, directories (all files below) and glob patterns such as src/**/*.go."`
	Exclude []string `json:"exclude,omitempty" jsonschema:"Glob patterns of files to leave out, such as **/*_test.go."`
}

// ReadManyFiles returns the tool read_many_files, which reads several files at once.
func ReadManyFiles() tool.Tool {
	t := tool.New(llm.ToolDefinition{
		Name: "read_many_files",
		Description: "Reads up to 100 files at once, each under a line `--- path ---` with its first 2000 lines as " +
			"read_file shows them. Binary files are left out, and so are those that .gitignore excludes unless they " +
			"are named.",
		Parameters: schema("read_many_files"),
	}, readManyFiles)
	t.Limit = tool.Limit{Chars: 50_000, Keep: tool.KeepHeadTail}
	return tool.WithAccess(t, func(args readManyFilesArgs) tool.Access {
		access := tool.Access{Effect: tool.ReadOnly}
		for _, p := range args.Paths {
			access.Paths = append(access.Paths, path.Clean(patternRoot(cleanPattern(p))))
		}
		return access
	})
}

// cleanPattern resolves .. in a path, as a search does: behind a wildcard, it removes the wildcard.
func cleanPattern(name string) string {
	if !strings.Contains(name, "..") {
		return name
	}
	return path.Clean(name)
}

// patternRoot returns the part of a path before the first element with a wildcard.
func patternRoot(name string) string {
	i := strings.IndexAny(name, `*?[{\`)
	if i < 0 {
		return name
	}
	return name[:strings.LastIndexByte(name[:i], '/')+1]
}

// namedRoot returns the entry that is meant by the beginning of a path, with the slash that the
// beginning ends with.
func namedRoot(call *tool.Call, root string) string {
	named := call.Named(root)
	if named != root && strings.HasSuffix(root, "/") {
		named += "/"
	}
	return named
}

func readManyFiles(ctx context.Context, call *tool.Call, args readManyFilesArgs) (tool.Result, error) {
	if len(args.Paths) == 0 {
		return tool.Result{}, errors.New("paths is empty; give files, directories or glob patterns")
	}
	m := manyFiles{seen: map[string]bool{}}
	m.dialect.Words = map[string]string{"read_file.offset": "read_file with offset"} // this tool has none
	for _, p := range args.Paths {
		p = cleanPattern(p)
		root := patternRoot(p)
		if err := m.add(ctx, call.Env, namedRoot(call, root)+p[len(root):]); err != nil {
			return tool.Result{}, err
		}
	}
	for _, pattern := range args.Exclude {
		if err := m.remove(ctx, call.Env, pattern); err != nil {
			return tool.Result{}, err
		}
	}
	var b strings.Builder
	var seen []tool.Seen
	for i, name := range m.names {
		if i == maxManyFiles || b.Len() >= maxManyBytes {
			m.note("%d more files were not read, from %s on: name fewer at once", len(m.names)-i, texts.Shown(name))
			break
		}
		file, err := m.read(ctx, call.Env, name)
		if cause := context.Cause(ctx); cause != nil {
			return tool.Result{}, cause
		}
		if err != nil {
			m.note("%s: %s", texts.Shown(name), texts.Error(err))
			continue
		}
		seen = append(seen, file.Seen...)
		fmt.Fprintf(&b, "--- %s ---\n%s\n", texts.Shown(name), strings.TrimSuffix(file.Content.Text(), "\n"))
	}
	if b.Len() == 0 {
		return tool.Result{}, fmt.Errorf("no file could be read.\n%s",
			strings.Join(append(m.notes, "Find files with glob."), "\n"))
	}
	for _, n := range m.notes {
		fmt.Fprintf(&b, "[%s]\n", n)
	}
	result := tool.Text(b.String())
	result.Seen = seen
	result.Hint = "Name fewer files, or use read_file with offset and limit."
	return result, nil
}

// manyFiles collects the files for read_many_files to read.
type manyFiles struct {
	dialect Dialect
	names   []string        // each once, in the order of the arguments; those of a pattern sorted
	seen    map[string]bool // the names
	notes   []string        // about what is missing
}

func (m *manyFiles) note(format string, args ...any) {
	m.notes = append(m.notes, fmt.Sprintf(format, args...))
}

// add adds the files that a path names. An existing file goes before a pattern.
func (m *manyFiles) add(ctx context.Context, e env.Environment, name string) error {
	info, err := e.Stat(ctx, name)
	pattern, dir := name, ""
	switch {
	case err == nil && !info.IsDir():
		m.append(cleanPath(name))
		return nil
	case err == nil:
		pattern, dir = "**", name
	case patternRoot(name) == name:
		m.note("%s", texts.Error(m.dialect.explainOpen(ctx, e, name, err)))
		return context.Cause(ctx)
	}
	found, err := search.Glob(ctx, e, pattern, dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		m.note("%s: its directory does not exist", texts.Shown(name))
		return nil
	case err != nil:
		return err
	case found.Stopped:
		m.note("%s: the search took too long and was stopped, so files may be missing", texts.Shown(name))
	case len(found.Files) == 0:
		m.note("%s: there are no such files", texts.Shown(name))
	}
	var paths []string
	for _, f := range found.Files {
		paths = append(paths, f.Path)
	}
	slices.Sort(paths)
	links := 0
	for _, n := range paths {
		node, err := env.TreeOf(e).Lstat(ctx, n)
		if err == nil && node.Mode&fs.ModeSymlink != 0 { // it may lead to what nobody was asked about
			links++
			continue
		}
		m.append(n)
	}
	if links > 0 {
		m.note("%s: symbolic links were left out (%d); name one to read it", texts.Shown(name), links)
	}
	for _, u := range found.Unreadable {
		m.note("not readable: %s", u)
	}
	return nil
}

func (m *manyFiles) append(name string) {
	if !m.seen[name] {
		m.names, m.seen[name] = append(m.names, name), true
	}
}

// remove removes the files that match a pattern.
func (m *manyFiles) remove(ctx context.Context, e env.Environment, pattern string) error {
	out, err := search.Glob(ctx, e, pattern, "")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case out.Stopped:
		return fmt.Errorf("looking for what %s matches took too long; exclude less, or read files by their names",
			texts.Shown(pattern))
	}
	excluded := map[string]bool{}
	for _, f := range out.Files {
		excluded[f.Path] = true
	}
	m.names = slices.DeleteFunc(m.names, func(name string) bool { return excluded[name] })
	return err
}

// read returns the result of read_file for a file that is text.
func (m *manyFiles) read(ctx context.Context, e env.Environment, name string) (tool.Result, error) {
	return m.dialect.open(ctx, e, name, func(r *bufio.Reader) (tool.Result, error) {
		start, _ := r.Peek(binaryPeek) // reading the lines returns the error again
		if isUTF16(start) || picture.Type(start) != "" || bytes.IndexByte(start, 0) >= 0 {
			return tool.Result{}, errors.New("is not a text file; read_file reads images, and says more about " +
				"other files")
		}
		return m.dialect.readStarted(ctx, r, readFileArgs{FilePath: name})
	})
}
