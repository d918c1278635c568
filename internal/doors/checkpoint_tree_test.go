package doors_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/attractor-go/attractor/env"
	"github.com/attractor-go/attractor/tool"
)

// treeEntry is an entry of a stored tree.
type treeEntry struct {
	Mode   fs.FileMode `json:"mode"`
	Target string      `json:"target,omitempty"`
	Blob   env.Hash    `json:"blob,omitempty"`

	node env.Node
}

// snapshot stores a tree. Files that are unchanged according to the file system are not read again.
func (c *checkpoints) snapshot(ctx context.Context, e env.Environment) (map[string]treeEntry, error) {
	tree := map[string]treeEntry{}
	err := c.walk(ctx, e, ".", tree)
	c.known = tree
	return tree, err
}

// walk adds the entries of a directory to a tree.
func (c *checkpoints) walk(ctx context.Context, e env.Environment, dir string, tree map[string]treeEntry) error {
	list, err := e.ReadDir(ctx, dir)
	for _, info := range list {
		name := path.Join(dir, info.Name)
		k := treeEntry{Mode: info.Mode}
		if k.node, err = env.TreeOf(e).Lstat(ctx, name); err != nil {
			return err
		}
		switch old := c.known[name]; {
		case info.Mode.Type() == fs.ModeSymlink:
			k.Target, err = env.TreeOf(e).Readlink(ctx, name)
		case info.IsDir():
			err = c.walk(ctx, e, name, tree)
		case old.Blob != "" && old.node == k.node:
			k.Blob = old.Blob
		default:
			k.Blob, err = c.store(ctx, e, name)
		}
		if err != nil {
			return err
		}
		tree[name] = k
	}
	return err
}

func (c *checkpoints) store(ctx context.Context, e env.Environment, name string) (env.Hash, error) {
	f, err := e.Open(ctx, name)
	if err != nil {
		return "", err
	}
	hash, err := c.log.PutBlob(ctx, f)
	return env.Hash(hash), errors.Join(err, f.Close())
}

// changes returns the files in which two trees differ.
func changes(dir string, before, after map[string]treeEntry) (list []tool.Change) {
	both := maps.Clone(before)
	maps.Copy(both, after)
	for _, name := range slices.Sorted(maps.Keys(both)) {
		change := tool.Change{Kind: tool.Modified, Path: path.Join(dir, name), Before: before[name].Blob, After: after[name].Blob, Unseen: true}
		switch {
		case change.Before == change.After:
			continue
		case change.Before == "":
			change.Kind = tool.Created
		case change.After == "":
			change.Kind = tool.Deleted
		}
		list = append(list, change)
	}
	return list
}

// restoreFile restores one file. Same says that its content is already right.
func (c *checkpoints) restoreFile(ctx context.Context, e env.Environment, name string, k treeEntry, same bool) error {
	tree := env.TreeOf(e)
	switch {
	case k.Mode.Type() == fs.ModeSymlink && !same:
		return tree.Symlink(ctx, k.Target, name)
	case k.Mode.Type() == fs.ModeSymlink:
		return nil
	case k.Mode.IsDir() && !same:
		return tree.Mkdir(ctx, name, k.Mode.Perm())
	case !same:
		data, err := c.blob(ctx, string(k.Blob))
		if err == nil {
			err = e.WriteFile(ctx, name, data, k.Mode.Perm())
		}
		return errors.Join(err, tree.Chmod(ctx, name, k.Mode.Perm()))
	}
	return tree.Chmod(ctx, name, k.Mode.Perm())
}

func (c *checkpoints) blob(ctx context.Context, hash string) ([]byte, error) {
	r, err := c.log.Blob(ctx, hash)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(r)
	return data, errors.Join(err, r.Close())
}
