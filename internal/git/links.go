package git

import (
	"context"
	"errors"
	"io/fs"
	"path"

	"github.com/attractor-go/attractor/env"
)

// Links returns the paths of the repositories inside a work tree that its index names: submodules, and repositories that were added like
// them. gitDir is the directory of the work tree, commonDir that of all its work trees.
func Links(ctx context.Context, e env.Environment, gitDir, commonDir string) (paths []string, err error) {
	r := &repository{env: e, gitDir: gitDir, commonDir: commonDir, budget: maxRead}
	if _, err := e.Stat(ctx, path.Join(gitDir, "index")); errors.Is(err, fs.ErrNotExist) {
		return nil, nil // nothing was ever added, and there may be no configuration either
	}
	if err := r.configure(ctx); err != nil {
		return nil, err
	}
	x, err := r.readIndex(ctx)
	if err != nil {
		return nil, err
	}
	for _, entry := range x.entries {
		if entry.mode&kindMask == kindRepo && (len(paths) == 0 || paths[len(paths)-1] != entry.path) {
			paths = append(paths, entry.path)
		}
	}
	return paths, nil
}
