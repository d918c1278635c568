package env

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

// Dir is an open directory of an environment, for callers that look at many files: it saves walking
// each name from the root. Names are those of the directory's own entries, without slashes, "." and
// "..". Symbolic links are not followed, except by environments that open files by name. Errors are
// like the environment's.
//
// Methods may be called concurrently, except Close.
type Dir interface {
	// List returns the directory's entries, sorted by name.
	List(ctx context.Context) ([]Entry, error)
	// Lstat describes an entry that List returned, a symbolic link itself. An environment on
	// another machine may return what it was when it was listed. Where [Tree] is not supported,
	// only the Info is known.
	Lstat(ctx context.Context, name string) (Node, error)
	// Readlink returns a symbolic link's target, like [Tree].
	Readlink(ctx context.Context, name string) (target string, err error)
	// Open opens a regular file for reading, up to its size at that time. The reader is for one
	// goroutine at a time.
	Open(ctx context.Context, name string) (io.ReadCloser, error)
	OpenDir(ctx context.Context, name string) (Dir, error)
	Close() error
}

// Entry is a directory entry.
type Entry struct {
	Name string
	Type fs.FileMode // only the type bits
}

// DirOpener is implemented by environments that can keep directories open. A wrapper that changes
// nothing about files implements it by calling [OpenDir] with the environment that it wraps.
type DirOpener interface {
	OpenDir(ctx context.Context, name string) (Dir, error)
}

// OpenDir opens a directory of e. A Local on Linux and a DirOpener, such as this package's views of
// one, keep it open. Other environments, including other wrappers of a Local, are asked for each
// file by its name.
func OpenDir(ctx context.Context, e Environment, name string) (Dir, error) {
	switch e := e.(type) {
	case *Local:
		return e.openDir(ctx, name)
	case DirOpener:
		return e.OpenDir(ctx, name)
	}
	return &namedDir{env: e, name: name}, nil
}

// OpenDir implements [DirOpener].
func (r *readOnly) OpenDir(ctx context.Context, name string) (Dir, error) {
	return OpenDir(ctx, r.Environment, name)
}

// OpenDir implements [DirOpener]. Guarded files may be read.
func (p *protected) OpenDir(ctx context.Context, name string) (Dir, error) {
	return OpenDir(ctx, p.Environment, name)
}

// OpenDir implements [DirOpener].
func (s sub) OpenDir(ctx context.Context, name string) (Dir, error) {
	return OpenDir(ctx, s.Environment, s.name(name))
}

// Direct reports whether the operations on a directory are system calls of this machine. In other
// directories they may have to wait for another machine, so callers do better to run many of them
// at the same time.
func Direct(d Dir) bool {
	_, ok := d.(interface{ direct() })
	return ok
}

// namedDir implements Dir for any environment.
type namedDir struct {
	env  Environment
	name string

	mu     sync.Mutex
	listed []Info // what ReadDir returned, for Lstat
}

func (d *namedDir) List(ctx context.Context) ([]Entry, error) {
	infos, err := d.env.ReadDir(ctx, d.name)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listed = infos
	entries := make([]Entry, len(infos))
	for i, info := range infos {
		entries[i] = Entry{info.Name, info.Mode.Type()}
	}
	return entries, nil
}

func (d *namedDir) Lstat(ctx context.Context, name string) (Node, error) {
	node, err := TreeOf(d.env).Lstat(ctx, path.Join(d.name, name))
	if !errors.Is(err, errors.ErrUnsupported) {
		return node, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	i, ok := slices.BinarySearchFunc(d.listed, name,
		func(info Info, name string) int { return strings.Compare(info.Name, name) })
	if !ok {
		return Node{}, &fs.PathError{Op: "lstat", Path: path.Join(d.name, name), Err: fs.ErrNotExist}
	}
	return Node{Info: d.listed[i]}, nil
}

func (d *namedDir) Readlink(ctx context.Context, name string) (string, error) {
	return TreeOf(d.env).Readlink(ctx, path.Join(d.name, name))
}

func (d *namedDir) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	return d.env.Open(ctx, path.Join(d.name, name))
}

func (d *namedDir) OpenDir(_ context.Context, name string) (Dir, error) {
	return &namedDir{env: d.env, name: path.Join(d.name, name)}, nil
}

func (d *namedDir) Close() error { return nil }
