package git

import (
	"context"
	"path"
)

// Index holds what the index of a work tree says, as paths from its top.
type Index struct {
	// Links are the repositories inside: submodules, and those that were added like them.
	Links []string
	// Dirs are the directories with tracked files, and Attributes the tracked files named .gitattributes.
	Dirs, Attributes []string
}

// ReadIndex reads the index of a repository.
func ReadIndex(ctx context.Context, f Files, repo *Repository) (x Index, err error) {
	r := &repository{env: f.Env, gitDir: repo.GitDir, commonDir: repo.CommonDir, budget: maxRead}
	if there, err := f.Exists(ctx, path.Join(repo.GitDir, "index")); err == nil && !there {
		return x, nil // nothing was ever added, and there may be no configuration either
	}
	if err := r.configure(ctx); err != nil {
		return x, err
	}
	entries, err := r.readIndex(ctx)
	if err != nil {
		return x, err
	}
	seen := map[string]bool{}
	for _, e := range entries {
		for dir := path.Dir(e.path); !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			x.Dirs = append(x.Dirs, dir)
		}
		switch {
		case e.mode&kindMask == kindRepo && (len(x.Links) == 0 || x.Links[len(x.Links)-1] != e.path):
			x.Links = append(x.Links, e.path)
		case e.mode&kindMask == kindFile && path.Base(e.path) == ".gitattributes":
			x.Attributes = append(x.Attributes, e.path)
		}
	}
	return x, nil
}
