package search

import (
	"context"
	"errors"
	"io/fs"
	"path"

	"github.com/attractor-go/attractor/env"
)

// TreeFile holds a file of a work tree.
type TreeFile struct {
	Path string // from the top of the tree
	// Info holds the result of lstat, or only name and type of a symbolic link. A directory is a nested repository that was not entered.
	Info env.Info
}

// ErrTooMany is returned by WorkTree for a tree with more files than its limit.
var ErrTooMany = errors.New("the tree has too many files")

// WorkTree lists the regular files and symbolic links below root that no .gitignore excludes. Unlike Glob it does not enter repositories
// below root, and fails with ErrTooMany if there are more than limit files. It does not use the environment's own search.
func WorkTree(ctx context.Context, e env.Environment, root string, limit int) ([]TreeFile, error) {
	all, left := []TreeFile{}, limit
	w := &walker{env: e, nested: func(rel string) bool {
		all = append(all, TreeFile{rel, env.Info{Name: path.Base(rel), Mode: fs.ModeDir}})
		return true
	}}
	w.visitor = func() visitor {
		return func(ctx context.Context, in *folder, files []env.Entry) (func() bool, int) {
			found := treeFiles(ctx, in, files)
			return func() bool {
				all = append(all, found...)
				left -= len(found)
				return left >= 0
			}, 0
		}
	}
	if err := w.walk(ctx, root); err != nil {
		return nil, err
	}
	if left < 0 {
		return nil, ErrTooMany
	}
	return all, nil
}

// treeFiles describes files of a folder. It leaves out those that cannot be read.
func treeFiles(ctx context.Context, in *folder, files []env.Entry) []TreeFile {
	found := make([]TreeFile, 0, len(files))
	for _, f := range files {
		info := env.Info{Name: f.Name, Mode: f.Type}
		if f.Type != fs.ModeSymlink {
			var err error
			if info, err = in.dir.Stat(ctx, f.Name); err != nil {
				continue
			}
		}
		found = append(found, TreeFile{in.rel(f.Name), info})
	}
	return found
}
