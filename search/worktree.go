package search

import (
	"context"
	"errors"

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
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := &walker{env: e, stat: true, closed: true, limit: int64(limit), full: func() { cancel(ErrTooMany) }}
	entries, err := w.walk(ctx, root)
	if err != nil {
		return nil, err
	}
	files := make([]TreeFile, len(entries))
	for i, f := range entries {
		files[i] = TreeFile{f.rel, f.info}
	}
	return files, nil
}
