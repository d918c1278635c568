package env

import (
	"context"
	"fmt"
)

// A Guard is an Environment that knows files which should not be changed without approval. It only
// informs callers; it does not refuse changes.
type Guard interface {
	// Guarded returns why changing a file needs approval, or "" if it does not.
	Guarded(ctx context.Context, name string) (why string)
	// Exposed returns what may run any file that a call changes without being started by a call,
	// such as a hook of git, or "" if nothing is known to.
	Exposed(ctx context.Context) (why string)
}

// Guarded returns why changing a file needs approval, because e guards it or its mode is read-only,
// or "" if it does not.
func Guarded(ctx context.Context, e Environment, name string) (why string) {
	if why = guardedBelow(ctx, e, name); why != "" {
		return why
	}
	if info, err := e.Stat(ctx, name); err == nil && info.Mode.IsRegular() && info.Mode.Perm()&0o222 == 0 {
		return fmt.Sprintf("the file is read-only (mode %v)", info.Mode.Perm())
	}
	return ""
}

// guardedBelow asks the environment that a wrapper wraps.
func guardedBelow(ctx context.Context, e Environment, name string) string {
	if g, ok := e.(Guard); ok {
		return g.Guarded(ctx, name)
	}
	return ""
}

// Exposed returns what may run any file of e that a call changes without being started by a call,
// or "" if nothing is known to. A person who wants to be asked about all that runs is then asked
// about each edit.
func Exposed(ctx context.Context, e Environment) (why string) {
	if g, ok := e.(Guard); ok {
		return g.Exposed(ctx)
	}
	return ""
}
