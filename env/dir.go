package env

import (
	"context"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
)

// Dir is a directory of an environment that stays open, for who looks at many files: each is then one step away, where a name
// is walked from the root every time. Names are those of the directory's own entries: no slashes, no . and no .., and symbolic
// links are not meant, though an environment that goes by names may follow one. Errors are like the environment's.
//
// The methods may be called concurrently, but Close only when no other runs.
type Dir interface {
	// List gives the directory's entries, sorted by name.
	List(ctx context.Context) ([]Entry, error)
	// Stat describes an entry that List gave.
	Stat(ctx context.Context, name string) (Info, error)
	// Open reads a regular file from the front, up to the size that it has now. The reader is for one goroutine at a time.
	Open(ctx context.Context, name string) (io.ReadCloser, error)
	OpenDir(ctx context.Context, name string) (Dir, error)
	Close() error
}

// Entry is what a directory itself says of a file.
type Entry struct {
	Name string
	Type fs.FileMode // the type bits alone
}

// OpenDir opens a directory of e. A Local on Linux, and the views of this package on one, keep it open; any other environment,
// and one that wraps a Local, is asked for every file by its name.
func OpenDir(ctx context.Context, e Environment, name string) (Dir, error) {
	switch e := e.(type) {
	case *Local:
		return e.openDir(ctx, name)
	case readOnly:
		return OpenDir(ctx, e.Environment, name)
	case protected:
		return OpenDir(ctx, e.Environment, name)
	case sub:
		return OpenDir(ctx, e.Environment, e.name(name))
	}
	return &namedDir{env: e, name: name}, nil
}

// namedDir is a Dir of any environment.
type namedDir struct {
	env  Environment
	name string

	mu     sync.Mutex
	listed []Info // what ReadDir said, so that Stat need not ask again
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

func (d *namedDir) Stat(ctx context.Context, name string) (Info, error) {
	d.mu.Lock()
	i, ok := slices.BinarySearchFunc(d.listed, name, func(info Info, name string) int { return strings.Compare(info.Name, name) })
	if ok {
		defer d.mu.Unlock()
		return d.listed[i], nil
	}
	d.mu.Unlock()
	return d.env.Stat(ctx, path.Join(d.name, name))
}

func (d *namedDir) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	return d.env.Open(ctx, path.Join(d.name, name))
}

func (d *namedDir) OpenDir(_ context.Context, name string) (Dir, error) {
	return &namedDir{env: d.env, name: path.Join(d.name, name)}, nil
}

func (d *namedDir) Close() error { return nil }
