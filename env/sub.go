package env

import (
	"context"
	"io"
	"io/fs"
	"strings"
)

// Sub returns a view of e with another working directory: relative names and commands start at dir,
// a path of e. It does not confine: absolute names and names with .. mean the same as in e. It does
// not check that dir exists.
func Sub(e Environment, dir string) Environment {
	s := sub{Base: Base{e}, dir: strings.TrimSuffix(dir, "/")}
	if !isAbs(dir) {
		s.dir = strings.TrimSuffix(e.WorkDir(), "/") + "/" + s.dir
	}
	return s
}

type sub struct {
	Base
	dir string
}

// name returns the name in the wrapped environment. An empty name and ~ are left to that
// environment to refuse.
func (s sub) name(name string) string {
	if name == "" || isAbs(name) || name == "~" || strings.HasPrefix(name, "~/") {
		return name
	}
	return s.dir + "/" + name
}

func (s sub) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	return s.Environment.Open(ctx, s.name(name))
}

func (s sub) WriteFile(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
	return s.Environment.WriteFile(ctx, s.name(name), data, perm)
}

// Replace implements Replacer if the wrapped environment does.
func (s sub) Replace(ctx context.Context, name string, was Hash, data []byte, perm fs.FileMode) error {
	return replaceBelow(ctx, s.Environment, s.name(name), was, data, perm)
}

// Delete implements Replacer if the wrapped environment does.
func (s sub) Delete(ctx context.Context, name string, was Hash) error {
	return deleteBelow(ctx, s.Environment, s.name(name), was)
}

// Lstat implements Tree.
func (s sub) Lstat(ctx context.Context, name string) (Node, error) {
	return TreeOf(s.Environment).Lstat(ctx, s.name(name))
}

// Readlink implements Tree.
func (s sub) Readlink(ctx context.Context, name string) (string, error) {
	return TreeOf(s.Environment).Readlink(ctx, s.name(name))
}

// Symlink implements Tree.
func (s sub) Symlink(ctx context.Context, target, name string) error {
	return TreeOf(s.Environment).Symlink(ctx, target, s.name(name))
}

// Mkdir implements Tree.
func (s sub) Mkdir(ctx context.Context, name string, perm fs.FileMode) error {
	return TreeOf(s.Environment).Mkdir(ctx, s.name(name), perm)
}

// Chmod implements Tree.
func (s sub) Chmod(ctx context.Context, name string, perm fs.FileMode) error {
	return TreeOf(s.Environment).Chmod(ctx, s.name(name), perm)
}

// Lock implements Locker.
func (s sub) Lock(ctx context.Context, names ...string) (unlock func(), err error) {
	below := make([]string, len(names))
	for i, name := range names {
		below[i] = s.name(name)
	}
	return Lock(ctx, s.Environment, below...)
}

// Resolve implements Resolver.
func (s sub) Resolve(ctx context.Context, name string) (string, error) {
	return Resolve(ctx, s.Environment, s.name(name))
}

// Guarded implements Guard.
func (s sub) Guarded(ctx context.Context, name string) string {
	return guardedBelow(ctx, s.Environment, s.name(name))
}

// Exposed implements Guard.
func (s sub) Exposed(ctx context.Context) string { return Exposed(ctx, s.Environment) }

func (s sub) Remove(ctx context.Context, name string) error {
	return s.Environment.Remove(ctx, s.name(name))
}

func (s sub) Stat(ctx context.Context, name string) (Info, error) {
	return s.Environment.Stat(ctx, s.name(name))
}

func (s sub) ReadDir(ctx context.Context, name string) ([]Info, error) {
	return s.Environment.ReadDir(ctx, s.name(name))
}

func (s sub) Start(ctx context.Context, cmd Command) (Process, error) {
	if cmd.Dir == "" {
		cmd.Dir = s.dir
	} else {
		cmd.Dir = s.name(cmd.Dir)
	}
	return s.Environment.Start(ctx, cmd)
}

func (s sub) WorkDir() string { return s.dir }
