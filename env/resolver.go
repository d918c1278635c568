package env

import (
	"context"
	"path"
)

// A Resolver is an Environment that knows where a name leads.
type Resolver interface {
	// Resolve returns the absolute path, without symbolic links, of the file that writing to name
	// would change. Elements that do not exist are kept as spelled.
	Resolve(ctx context.Context, name string) (string, error)
}

// Resolve returns where a name leads according to e's Resolver. If e is not one, links are not
// resolved.
func Resolve(ctx context.Context, e Environment, name string) (string, error) {
	if r, ok := e.(Resolver); ok {
		return r.Resolve(ctx, name)
	}
	if err := checkName(name); err != nil {
		return "", err
	}
	if !isAbs(name) {
		name = e.WorkDir() + "/" + name
	}
	return path.Clean(name), nil
}

// Resolve implements Resolver. The path is inside the allowed directories.
func (l *Local) Resolve(ctx context.Context, name string) (string, error) {
	if err := context.Cause(ctx); err != nil {
		return "", l.fileError("resolve", name, err)
	}
	p, err := l.resolve(ctx, name, true)
	if err != nil {
		return "", l.fileError("resolve", name, err)
	}
	return p.abs(), nil
}
