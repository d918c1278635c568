package search

import (
	"context"
	"errors"

	"github.com/attractor-go/attractor/env"
)

// TreeFile is a file of a work tree.
type TreeFile struct {
	Path string // from the top of the tree
	// Info has what the directory and lstat say; of a symbolic link only name and type. A directory is a repository of its own, which
	// was not entered.
	Info env.Info
}

// ErrTooMany says that a tree has more files than WorkTree was to list.
var ErrTooMany = errors.New("the tree has too many files")

// WorkTree lists the files below root that git would look at: regular ones and symbolic links that no .gitignore excludes. Unlike Glob it does
// not enter repositories below root, and fails with ErrTooMany if there are more than limit files. It does not use an environment's own search.
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
