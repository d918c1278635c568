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
	root, pattern := splitGlob(e, pattern, dir)
	if !doublestar.ValidatePattern(pattern) {
		return Listing{}, errBadGlob(pattern)
	}
	within := keepInElements(pattern)
	w := &walker{
		env:    e,
		enter:  func(rel string) bool { return mayContain(pattern, rel) },
		accept: func(f *entry) bool { return doublestar.MatchUnvalidated(within, f.rel) },
		stat:   true,
	}
	entries, err := w.walk(ctx, root)
	if err != nil {
		return Listing{}, err
	}
	found := make([]File, 0, len(entries))
	for _, f := range entries {
		info := f.info
		if info.Mode.Type() == fs.ModeSymlink {
			// Broken links and links to directories are left out.
			if info, err = e.Stat(ctx, f.abs); err != nil || !info.Mode.IsRegular() {
				continue
			}
		}
		found = append(found, File{Path: shown(e.WorkDir(), f.abs), Size: info.Size, ModTime: info.ModTime})
	}
	slices.SortFunc(found, func(a, b File) int {
		return cmp.Or(b.ModTime.Compare(a.ModTime), strings.Compare(a.Path, b.Path))
	})
	return Listing{Files: found, Unreadable: w.unreadable.list()}, context.Cause(ctx)
}

// splitGlob returns the directory to walk and the pattern to match below it. A pattern that is absolute or begins with .. changes the
// directory. An absolute pattern below the directory does not, so that the same .gitignore files apply.
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

// mayContain reports whether there may be matching files below a directory. It may return true if there are none.
func mayContain(pattern, dir string) bool {
	if strings.ContainsRune(pattern, '{') { // an alternative may have slashes in it
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

// fileFilter returns a function that reports whether a Query's Glob selects a file, given its paths from the search's root and from the
// working directory.
func fileFilter(pattern string) (func(fromRoot, fromWorkDir string) bool, error) {
	if pattern == "" {
		return func(string, string) bool { return true }, nil
	}
	pattern, exclude := strings.CutPrefix(pattern, "!")
	if !doublestar.ValidatePattern(pattern) {
		return nil, errBadGlob(pattern)
	}
	byName := !strings.Contains(pattern, "/")
	pattern = keepInElements(strings.TrimPrefix(strings.TrimPrefix(pattern, "./"), "/"))
	return func(fromRoot, fromWorkDir string) bool {
		if byName {
			return doublestar.MatchUnvalidated(pattern, path.Base(fromRoot)) != exclude
		}
		// People write both, and a pattern seldom matches the one that was not meant.
		match := doublestar.MatchUnvalidated(pattern, fromRoot) || doublestar.MatchUnvalidated(pattern, fromWorkDir)
		return match != exclude
	}, nil
}
