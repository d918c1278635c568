package env

import (
	"context"
	"path"
)

// Resolver is implemented by environments that can tell where a name leads.
type Resolver interface {
	// Resolve returns the absolute path, without symbolic links, of the file that writing to name would change. What does not exist
	// is taken by its letters.
	Resolve(ctx context.Context, name string) (string, error)
}

// Resolve returns where a name leads: as e's Resolver says, or by its letters in an environment without one.
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

// Resolve returns the path that a name leads to inside the allowed directories.
func (l *Local) Resolve(ctx context.Context, name string) (string, error) {
	if err := context.Cause(ctx); err != nil {
		return "", l.fileError("resolve", name, err)
	}
	p, err := l.resolve(name, true)
	if err != nil {
		return "", l.fileError("resolve", name, err)
	}
	return p.abs(), nil
}
