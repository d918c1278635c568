package remote

import (
	"context"
	"io"
	"strings"
	"sync"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/env/remote/internal/wire"
)

// OpenDir implements env.DirOpener. Listing a directory brings what the file system knows of all
// its entries, so walking a tree takes one question for each directory. The directory is looked up
// by its name in each operation; symbolic links below it are not followed.
func (e *Env) OpenDir(_ context.Context, name string) (env.Dir, error) {
	return &dir{env: e, name: name}, nil
}

// dir is a directory over there.
type dir struct {
	env  *Env
	name string

	mu     sync.Mutex
	listed map[string]env.Node // by the last List, without those that were asked for already
}

func (d *dir) request(op wire.Op, entry string) wire.Request {
	return wire.Request{Op: op, Name: wire.Text(d.name), Entry: wire.Text(entry)}
}

func (d *dir) List(ctx context.Context) ([]env.Entry, error) {
	nodes, err := question[wire.List[wire.Node]](ctx, d.env, "readdir", d.request(wire.OpList, ""))
	if err != nil {
		return nil, err
	}
	entries, listed := make([]env.Entry, len(nodes)), make(map[string]env.Node, len(nodes))
	for i, n := range nodes {
		node := n.Node()
		entries[i] = env.Entry{Name: node.Name, Type: node.Mode.Type()}
		listed[node.Name] = node
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.listed = listed
	return entries, nil
}

// Lstat answers the first question about an entry from the listing. A caller that asks again wants
// to know whether the entry has changed.
func (d *dir) Lstat(ctx context.Context, name string) (env.Node, error) {
	d.mu.Lock()
	node, ok := d.listed[name]
	delete(d.listed, name)
	d.mu.Unlock()
	if ok {
		return node, nil
	}
	return d.env.Lstat(ctx, d.path(name))
}

func (d *dir) Readlink(ctx context.Context, name string) (string, error) {
	return d.env.Readlink(ctx, d.path(name))
}

// path returns the path of an entry. Unlike path.Join it does not clean odd names.
func (d *dir) path(name string) string { return strings.TrimSuffix(d.name, "/") + "/" + name }

func (d *dir) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	return d.env.open(ctx, d.request(wire.OpEntry, name), d.path(name))
}

func (d *dir) OpenDir(_ context.Context, name string) (env.Dir, error) {
	return &dir{env: d.env, name: d.path(name)}, nil
}

func (d *dir) Close() error { return nil }
