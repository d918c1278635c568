package envtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unicode"

	"github.com/attractor-go/attractor/env"
)

// Lstat implements env.Tree. It reports no device, inode or links.
func (m *Memory) Lstat(ctx context.Context, name string) (env.Node, error) {
	n, err := m.find(ctx, "lstat", name)
	if err != nil {
		return env.Node{}, err
	}
	node := env.Node{Info: n.info(m.base(name)), Changed: n.changed}
	if node.Changed.Before(n.mod) {
		node.Changed = n.mod
	}
	return node, nil
}

// Readlink implements env.Tree. It always returns an error, because there are no links.
func (m *Memory) Readlink(ctx context.Context, name string) (string, error) {
	_, err := m.find(ctx, "readlink", name)
	if err == nil {
		err = &fs.PathError{Op: "readlink", Path: name, Err: fmt.Errorf("not a symbolic link: %w", fs.ErrInvalid)}
	}
	return "", err
}

// Symlink implements env.Tree. It returns an error that wraps errors.ErrUnsupported.
func (m *Memory) Symlink(_ context.Context, _, name string) error {
	return &fs.PathError{Op: "symlink", Path: name, Err: fmt.Errorf("no links in memory: %w", errors.ErrUnsupported)}
}

// Mkdir implements env.Tree.
func (m *Memory) Mkdir(ctx context.Context, name string, perm fs.FileMode) error {
	return m.change(ctx, "mkdir", name, func(old *node) (*node, error) {
		if old != nil {
			return nil, fs.ErrExist
		}
		if strings.ContainsFunc(path.Base(name), unicode.IsControl) {
			return nil, fmt.Errorf("a new directory's name must not contain control characters: %w", fs.ErrInvalid)
		}
		dir := newDir(m.now())
		dir.mode = fs.ModeDir | perm.Perm()
		return dir, nil
	})
}

// Chmod implements env.Tree.
func (m *Memory) Chmod(ctx context.Context, name string, perm fs.FileMode) error {
	return m.change(ctx, "chmod", name, func(old *node) (*node, error) {
		if old == nil {
			return nil, fs.ErrNotExist
		}
		same := *old
		same.mode, same.changed = old.mode.Type()|perm.Perm(), m.now()
		return &same, nil
	})
}

// base returns the last element of a name, also for the working directory itself.
func (m *Memory) base(name string) string {
	if !path.IsAbs(name) {
		name = MemoryDir + "/" + name
	}
	return path.Base(path.Clean(name))
}
