package env

import (
	"context"
	"fmt"
)

// Guard is implemented by environments that know of files which are not to be changed without somebody's approval. It is a word to those
// who change files: the environment does not refuse them.
type Guard interface {
	// Guarded returns why a change of a file needs an approval, or "" if it needs none.
	Guarded(ctx context.Context, name string) (why string)
}

// Guarded returns why a change of a file needs somebody's approval, or "" if it needs none: e guards it, or it is read-only.
func Guarded(ctx context.Context, e Environment, name string) (why string) {
	if why = guardedBelow(ctx, e, name); why != "" {
		return why
	}
	if info, err := e.Stat(ctx, name); err == nil && info.Mode.IsRegular() && info.Mode.Perm()&0o222 == 0 {
		return fmt.Sprintf("the file is read-only (mode %v)", info.Mode.Perm())
	}
	return ""
}

// guardedBelow returns what wrappers forward to.
func guardedBelow(ctx context.Context, e Environment, name string) string {
	if g, ok := e.(Guard); ok {
		return g.Guarded(ctx, name)
	}
	return ""
}
