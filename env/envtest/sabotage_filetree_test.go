//go:build unix

package envtest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"testing"
	"time"

	"github.com/attractor-go/attractor/env"
)

// spoiledTree replaces some methods of a Local's Tree.
type spoiledTree struct {
	*env.Local
	lstat    func(ctx context.Context, name string) (env.Node, error)
	readlink func(ctx context.Context, name string) (string, error)
	symlink  func(ctx context.Context, target, name string) error
	mkdir    func(ctx context.Context, name string, perm fs.FileMode) error
	chmod    func(ctx context.Context, name string, perm fs.FileMode) error
}

func (s spoiledTree) Lstat(ctx context.Context, name string) (env.Node, error) {
	if s.lstat != nil {
		return s.lstat(ctx, name)
	}
	return s.Local.Lstat(ctx, name)
}

func (s spoiledTree) Readlink(ctx context.Context, name string) (string, error) {
	if s.readlink != nil {
		return s.readlink(ctx, name)
	}
	return s.Local.Readlink(ctx, name)
}

func (s spoiledTree) Symlink(ctx context.Context, target, name string) error {
	if s.symlink != nil {
		return s.symlink(ctx, target, name)
	}
	return s.Local.Symlink(ctx, target, name)
}

func (s spoiledTree) Mkdir(ctx context.Context, name string, perm fs.FileMode) error {
	if s.mkdir != nil {
		return s.mkdir(ctx, name, perm)
	}
	return s.Local.Mkdir(ctx, name, perm)
}

func (s spoiledTree) Chmod(ctx context.Context, name string, perm fs.FileMode) error {
	if s.chmod != nil {
		return s.chmod(ctx, name, perm)
	}
	return s.Local.Chmod(ctx, name, perm)
}

// spoilTree returns a spoil for env.Tree.
func spoilTree(how func(l *env.Local) spoiledTree) spoil {
	return func(t *testing.T, e env.Environment) env.Environment {
		l, ok := e.(*env.Local)
		if !ok {
			t.Fatalf("%T is no Local", e)
		}
		s := how(l)
		s.Local = l
		return s
	}
}

// lstated returns an Lstat that changes the result.
func lstated(l *env.Local, change func(*env.Node)) func(context.Context, string) (env.Node, error) {
	return func(ctx context.Context, name string) (env.Node, error) {
		node, err := l.Lstat(ctx, name)
		change(&node)
		return node, err
	}
}

func lstatSabotages() []sabotage {
	return []sabotage{
		{defect: "links are followed", check: "J9_LstatDescribesTheLink", spoil: spoilTree(func(l *env.Local) spoiledTree {
			return spoiledTree{lstat: func(ctx context.Context, name string) (env.Node, error) {
				info, err := l.Stat(ctx, name)
				return env.Node{Info: info}, err
			}}
		})},
		{defect: "errors are texts", check: "J9_LstatDescribesTheLink", spoil: spoilTree(func(l *env.Local) spoiledTree {
			return spoiledTree{lstat: func(ctx context.Context, name string) (env.Node, error) {
				node, err := l.Lstat(ctx, name)
				return node, mute(err)
			}}
		})},
		{defect: "the time is another one", check: "J9_LstatSaysWhatStatSays", spoil: spoilTree(func(l *env.Local) spoiledTree {
			return spoiledTree{lstat: lstated(l, func(n *env.Node) { n.ModTime = n.ModTime.Truncate(time.Hour).Add(-time.Hour) })}
		})},
		{defect: "all files are one", check: "J9_LstatTellsAChange", spoil: spoilTree(func(l *env.Local) spoiledTree {
			return spoiledTree{lstat: lstated(l, func(n *env.Node) { n.Inode = 1 })}
		})},
		{defect: "the change time is not known and not zero", check: "J9_LstatTellsAChange", spoil: spoilTree(func(l *env.Local) spoiledTree {
			return spoiledTree{lstat: lstated(l, func(n *env.Node) { n.Changed = time.Unix(1, 0) })}
		})},
	}
}

func linkTreeSabotages() []sabotage {
	return []sabotage{
		{defect: "the text is cleaned", check: "J9_ReadlinkGivesTheText", spoil: spoilTree(func(l *env.Local) spoiledTree {
			return spoiledTree{readlink: func(ctx context.Context, name string) (string, error) {
				target, err := l.Readlink(ctx, name)
				return path.Clean(target), err
			}}
		})},
		{defect: "a file is no error of a kind", check: "J9_ReadlinkGivesTheText", spoil: spoilTree(func(l *env.Local) spoiledTree {
			return spoiledTree{readlink: func(ctx context.Context, name string) (string, error) {
				target, err := os.Readlink(pathOf(l, name))
				return target, errors.Join(err, context.Cause(ctx))
			}}
		})},
		{defect: "what is there is replaced", check: "J9_SymlinkMakesLinks", spoil: spoilTree(func(l *env.Local) spoiledTree {
			return spoiledTree{symlink: func(ctx context.Context, target, name string) error {
				err := l.Symlink(ctx, target, name)
				if errors.Is(err, fs.ErrExist) {
					err = nil
				}
				return err
			}}
		})},
		{defect: "parents are not made", check: "J9_SymlinkMakesLinks", spoil: spoilTree(func(l *env.Local) spoiledTree {
			return spoiledTree{symlink: func(_ context.Context, target, name string) error { return os.Symlink(target, pathOf(l, name)) }}
		})},
		{defect: "targets that are not there are refused", check: "J9_SymlinkMakesLinks", spoil: spoilTree(func(l *env.Local) spoiledTree {
			return spoiledTree{symlink: func(ctx context.Context, target, name string) error {
				if _, err := os.Stat(path.Join(path.Dir(pathOf(l, name)), target)); err != nil {
					return err
				}
				return l.Symlink(ctx, target, name)
			}}
		})},
	}
}

func modeSabotages() []sabotage {
	return []sabotage{
		{defect: "a directory that is there is fine", check: "J9_MkdirMakesDirectories", spoil: spoilTree(func(l *env.Local) spoiledTree {
			return spoiledTree{mkdir: func(_ context.Context, name string, perm fs.FileMode) error {
				return os.MkdirAll(pathOf(l, name), perm)
			}}
		})},
		{defect: "the mode is always the same", check: "J9_MkdirMakesDirectories", spoil: spoilTree(func(l *env.Local) spoiledTree {
			return spoiledTree{mkdir: func(ctx context.Context, name string, _ fs.FileMode) error { return l.Mkdir(ctx, name, 0o755) }}
		})},
		{defect: "nothing happens", check: "J9_ChmodSetsModes", spoil: spoilTree(func(*env.Local) spoiledTree {
			return spoiledTree{chmod: func(context.Context, string, fs.FileMode) error { return nil }}
		})},
		{defect: "other bits are set, too", check: "J9_ChmodSetsModes", spoil: spoilTree(func(l *env.Local) spoiledTree {
			return spoiledTree{chmod: func(ctx context.Context, name string, perm fs.FileMode) error {
				if err := l.Chmod(ctx, name, perm); err != nil {
					return err
				}
				return os.Chmod(pathOf(l, name), perm)
			}}
		})},
		{defect: "links are left alone", check: "J9_ChmodFollowsLinks", spoil: spoilTree(func(l *env.Local) spoiledTree {
			return spoiledTree{chmod: func(ctx context.Context, name string, perm fs.FileMode) error {
				if node, err := l.Lstat(ctx, name); err != nil || node.Mode.Type() == fs.ModeSymlink {
					return err
				}
				return l.Chmod(ctx, name, perm)
			}}
		})},
		{defect: "the context is not looked at", check: "J9_TreeEndedContext", spoil: spoilTree(func(l *env.Local) spoiledTree {
			return spoiledTree{mkdir: func(_ context.Context, name string, perm fs.FileMode) error {
				return l.Mkdir(context.Background(), name, perm)
			}}
		})},
		{defect: "trees are made all the same", check: "J9_RefusesTrees", spoil: spoilTree(func(*env.Local) spoiledTree { return spoiledTree{} })},
	}
}
