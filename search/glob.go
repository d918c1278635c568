package search

import (
	"cmp"
	"context"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/attractor-go/attractor/env"
)

// glob implements Glob for environments without a search of their own.
func glob(ctx context.Context, e env.Environment, pattern, dir string) (Listing, error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	root, pattern := splitGlob(e, pattern, dir)
	wanted, err := newGlobs(pattern)
	if err != nil {
		return Listing{}, err
	}
	var batches [][]File
	w := &walker{
		env:    e,
		enter:  wanted.mayContain,
		accept: func(in *folder, f env.Entry) bool { return wanted.match(in.rel(f.Name)) },
	}
	w.visitor = func() visitor {
		return func(ctx context.Context, in *folder, files []env.Entry) (func() bool, int) {
			found, problems := listed(ctx, e, in, files)
			return func() bool {
				for _, p := range problems {
					w.unreadable.add(p.name, p.err)
				}
				batches = append(batches, found)
				return true
			}, 0
		}
	}
	if err := w.walk(ctx, root); err != nil && !outOfTime(ctx) {
		return Listing{}, err
	}
	found := Listing{Files: newestFirst(slices.Concat(batches...)), Unreadable: w.unreadable.list()}
	switch {
	case outOfTime(ctx):
		found.Stopped = true
		return found, nil
	case len(found.Files) == 0 && wanted.broken != nil:
		return Listing{}, wanted.broken
	}
	return found, context.Cause(ctx)
}

// newestFirst sorts files by time, then by path.
func newestFirst(files []File) []File {
	slices.SortFunc(files, func(a, b File) int {
		return cmp.Or(b.ModTime.Compare(a.ModTime), strings.Compare(a.Path, b.Path))
	})
	return files
}

// listed describes files of a folder. It leaves out broken links and links to directories.
func listed(ctx context.Context, e env.Environment, in *folder, files []env.Entry) (found []File, problems []problem) {
	found = make([]File, 0, len(files))
	prefix := shownDir(e.WorkDir(), in.prefix)
	for _, f := range files {
		name := prefix + f.Name
		if f.Type == fs.ModeSymlink {
			if info, err := e.Stat(ctx, in.abs(f.Name)); err == nil && info.Mode.IsRegular() {
				found = append(found, File{name, info.Size, info.ModTime})
			}
			continue
		}
		info, err := in.dir.Lstat(ctx, f.Name)
		if err != nil {
			problems = append(problems, problem{in.rel(f.Name), err})
			continue
		}
		found = append(found, File{name, info.Size, info.ModTime})
	}
	return found, problems
}

// splitGlob returns the directory to walk and the pattern to match below it. A pattern that is
// absolute or begins with .. changes the directory. An absolute pattern below the directory does
// not, so that the same .gitignore files apply.
func splitGlob(e env.Environment, pattern, dir string) (root, rest string) {
	root = absolute(e, dir)
	if isHome(pattern) {
		return "~", strings.TrimPrefix(pattern, "~/")
	}
	if path.IsAbs(pattern) || filepath.IsAbs(pattern) {
		if inside, ok := below(root, pattern); ok && inside != "" {
			return root, path.Clean(inside)
		}
		base, rest := doublestar.SplitPattern(pattern)
		return path.Clean(base), rest
	}
	pattern = path.Clean(pattern)
	for strings.HasPrefix(pattern, "../") {
		root, pattern = path.Dir(root), pattern[len("../"):]
	}
	return root, pattern
}

// mayContain reports whether there may be matching files below a directory. It may return true if
// there are none.
func mayContain(pattern, dir string) bool {
	// an alternative may have slashes in it
	if strings.HasPrefix(pattern, "**/") || strings.ContainsRune(pattern, '{') {
		return true
	}
	want, have := strings.Split(pattern, "/"), strings.Split(dir, "/")
	n := len(have)
	if i := slices.Index(want, "**"); i >= 0 && i < n {
		n = i
	} else if n >= len(want) {
		return false
	}
	return doublestar.MatchUnvalidated(strings.Join(want[:n], "/"), strings.Join(have[:n], "/"))
}

// filter selects files by a Query's Glob. A nil one selects all.
type filter struct {
	globs
	byName  bool
	exclude bool
}

// newFilter returns the filter for a Query's Glob.
func newFilter(glob string) (*filter, error) {
	if glob == "" {
		return nil, nil
	}
	glob, exclude := strings.CutPrefix(glob, "!")
	wanted, err := newGlobs(strings.TrimPrefix(strings.TrimPrefix(glob, "./"), "/"))
	if exclude && err == nil {
		err = wanted.broken
	}
	if err != nil {
		return nil, err
	}
	return &filter{globs: wanted, byName: !strings.Contains(glob, "/"), exclude: exclude}, nil
}

// selects reports whether the filter selects a file.
func (f *filter) selects(in *folder, name, workDir string) bool {
	switch {
	case f == nil:
		return true
	case f.byName:
		return f.match(name) != f.exclude
	}
	// People write both, and a pattern seldom matches the one that was not meant.
	return (f.match(in.rel(name)) || f.match(shownDir(workDir, in.prefix)+name)) != f.exclude
}
