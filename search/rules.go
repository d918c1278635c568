package search

import (
	"context"

	"github.com/attractor-go/attractor/env"
)

// Rules holds the rules of the .gitignore files that apply to the files of a directory. The zero value excludes nothing.
type Rules struct{ list *ignoreList }

// Enter returns the rules for the files of a directory below, given its absolute path. The top of a repository has only its own rules and
// those of .git/info/exclude.
func (r Rules) Enter(ctx context.Context, e env.Environment, dir string, top bool) (Rules, error) {
	list, err := r.list.enter(ctx, e, dir, top)
	return Rules{list}, err
}

// Exclude reports whether a file is excluded, given its directory's absolute path with a slash at the end. It does not check the
// directories above.
func (r Rules) Exclude(dir, name string, isDir bool) bool {
	return r.list.ignores(dir, name, isDir)
}
