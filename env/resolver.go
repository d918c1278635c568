package env

import (
	"context"
	"io/fs"
	"path"
)

// A Resolver is an Environment that knows where a name leads.
type Resolver interface {
	// Resolve returns the absolute path, without symbolic links, of the file that writing to name
	// would change. Elements that do not exist are kept as spelled.
	Resolve(ctx context.Context, name string) (string, error)
}

// Resolve returns where a name leads according to e's Resolver. If e is not one, links are not
// resolved. A path that is longer than that of any file is an error, because whoever looks at each
// directory of the path would take very long.
func Resolve(ctx context.Context, e Environment, name string) (string, error) {
	if r, ok := e.(Resolver); ok {
		to, err := r.Resolve(ctx, name)
		if err == nil && len(to) > maxName {
			return "", &fs.PathError{Op: "resolve", Path: name, Err: &longError{}}
		}
		return to, err
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
