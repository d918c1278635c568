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

// mutantTree replaces some methods of a Local's Tree.
type mutantTree struct {
	*env.Local
	lstat    func(ctx context.Context, name string) (env.Node, error)
	readlink func(ctx context.Context, name string) (string, error)
	symlink  func(ctx context.Context, target, name string) error
	mkdir    func(ctx context.Context, name string, perm fs.FileMode) error
	chmod    func(ctx context.Context, name string, perm fs.FileMode) error
}

func (s mutantTree) Lstat(ctx context.Context, name string) (env.Node, error) {
	if s.lstat != nil {
		return s.lstat(ctx, name)
	}
	return s.Local.Lstat(ctx, name)
}

func (s mutantTree) Readlink(ctx context.Context, name string) (string, error) {
	if s.readlink != nil {
		return s.readlink(ctx, name)
	}
	return s.Local.Readlink(ctx, name)
}

func (s mutantTree) Symlink(ctx context.Context, target, name string) error {
	if s.symlink != nil {
		return s.symlink(ctx, target, name)
	}
	return s.Local.Symlink(ctx, target, name)
}

func (s mutantTree) Mkdir(ctx context.Context, name string, perm fs.FileMode) error {
	if s.mkdir != nil {
		return s.mkdir(ctx, name, perm)
	}
	return s.Local.Mkdir(ctx, name, perm)
}

func (s mutantTree) Chmod(ctx context.Context, name string, perm fs.FileMode) error {
	if s.chmod != nil {
		return s.chmod(ctx, name, perm)
	}
	return s.Local.Chmod(ctx, name, perm)
}

// mutateTree returns a mutator for env.Tree.
func mutateTree(how func(l *env.Local) mutantTree) mutator {
	return func(t *testing.T, e env.Environment) env.Environment {
		l, ok := e.(*env.Local)
		if !ok {
			t.Fatalf("%T is not a Local", e)
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

func lstatMutations() []mutation {
	return []mutation{
		{defect: "links are followed", check: "J9_LstatDescribesTheLink",
			mutate: mutateTree(func(l *env.Local) mutantTree {
				return mutantTree{lstat: func(ctx context.Context, name string) (env.Node, error) {
					info, err := l.Stat(ctx, name)
					return env.Node{Info: info}, err
				}}
			})},
		{defect: "errors are texts", check: "J9_LstatDescribesTheLink",
			mutate: mutateTree(func(l *env.Local) mutantTree {
				return mutantTree{lstat: func(ctx context.Context, name string) (env.Node, error) {
					node, err := l.Lstat(ctx, name)
					return node, mute(err)
				}}
			})},
		{defect: "the time is another one", check: "J9_LstatSaysWhatStatSays",
			mutate: mutateTree(func(l *env.Local) mutantTree {
				return mutantTree{lstat: lstated(l,
					func(n *env.Node) { n.ModTime = n.ModTime.Truncate(time.Hour).Add(-time.Hour) })}
			})},
		{defect: "all files are one", check: "J9_LstatTellsAChange", mutate: mutateTree(func(l *env.Local) mutantTree {
			return mutantTree{lstat: lstated(l, func(n *env.Node) { n.Inode = 1 })}
		})},
		{defect: "the change time is not known and not zero", check: "J9_LstatTellsAChange",
			mutate: mutateTree(func(l *env.Local) mutantTree {
				return mutantTree{lstat: lstated(l, func(n *env.Node) { n.Changed = time.Unix(1, 0) })}
			})},
	}
}

// mutantDirs is a Local whose open directories have a defect.
type mutantDirs struct {
	*env.Local
	lstat    func(node *env.Node)
	readlink func(target string) string
}

func (m mutantDirs) OpenDir(ctx context.Context, name string) (env.Dir, error) {
	dir, err := env.OpenDir(ctx, m.Local, name)
	return mutantDir{dir, m}, err
}

type mutantDir struct {
	env.Dir
	mutant mutantDirs
}

func (d mutantDir) Lstat(ctx context.Context, name string) (env.Node, error) {
	node, err := d.Dir.Lstat(ctx, name)
	d.mutant.lstat(&node)
	return node, err
}

func (d mutantDir) Readlink(ctx context.Context, name string) (string, error) {
	target, err := d.Dir.Readlink(ctx, name)
	return d.mutant.readlink(target), err
}

func openDirMutations() []mutation {
	mutate := func(m mutantDirs) mutator {
		return func(_ *testing.T, e env.Environment) env.Environment {
			m.Local = e.(*env.Local)
			return m
		}
	}
	right, same := func(*env.Node) {}, func(target string) string { return target }
	return []mutation{
		{defect: "the number of links is forgotten", check: "O3_DirsShowTheTree",
			mutate: mutate(mutantDirs{lstat: func(n *env.Node) { n.Links = 0 }, readlink: same})},
		{defect: "the change time has seconds", check: "O3_DirsShowTheTree", mutate: mutate(mutantDirs{
			lstat: func(n *env.Node) { n.Changed = n.Changed.Truncate(time.Second).Add(1) }, readlink: same})},
		{defect: "targets are cleaned", check: "O3_DirsShowTheTree",
			mutate: mutate(mutantDirs{lstat: right, readlink: path.Clean})},
	}
}

func linkTreeMutations() []mutation {
	return []mutation{
		{defect: "the text is cleaned", check: "J9_ReadlinkGivesTheText",
			mutate: mutateTree(func(l *env.Local) mutantTree {
				return mutantTree{readlink: func(ctx context.Context, name string) (string, error) {
					target, err := l.Readlink(ctx, name)
					return path.Clean(target), err
				}}
			})},
		{defect: "a file is no error of a kind", check: "J9_ReadlinkGivesTheText",
			mutate: mutateTree(func(l *env.Local) mutantTree {
				return mutantTree{readlink: func(ctx context.Context, name string) (string, error) {
					target, err := os.Readlink(pathOf(l, name))
					return target, errors.Join(err, context.Cause(ctx))
				}}
			})},
		{defect: "what is there is replaced", check: "J9_SymlinkMakesLinks",
			mutate: mutateTree(func(l *env.Local) mutantTree {
				return mutantTree{symlink: func(ctx context.Context, target, name string) error {
					err := l.Symlink(ctx, target, name)
					if errors.Is(err, fs.ErrExist) {
						err = nil
					}
					return err
				}}
			})},
		{defect: "parents are not made", check: "J9_SymlinkMakesLinks",
			mutate: mutateTree(func(l *env.Local) mutantTree {
				return mutantTree{symlink: func(_ context.Context, target, name string) error {
					return os.Symlink(target, pathOf(l, name))
				}}
			})},
		{defect: "targets that are not there are refused", check: "J9_SymlinkMakesLinks",
			mutate: mutateTree(func(l *env.Local) mutantTree {
				return mutantTree{symlink: func(ctx context.Context, target, name string) error {
					if _, err := os.Stat(path.Join(path.Dir(pathOf(l, name)), target)); err != nil {
						return err
					}
					return l.Symlink(ctx, target, name)
				}}
			})},
	}
}

func modeMutations() []mutation {
	return []mutation{
		{defect: "a directory that is there is fine", check: "J9_MkdirMakesDirectories",
			mutate: mutateTree(func(l *env.Local) mutantTree {
				return mutantTree{mkdir: func(_ context.Context, name string, perm fs.FileMode) error {
					return os.MkdirAll(pathOf(l, name), perm)
				}}
			})},
		{defect: "the mode is always the same", check: "J9_MkdirMakesDirectories",
			mutate: mutateTree(func(l *env.Local) mutantTree {
				return mutantTree{mkdir: func(ctx context.Context, name string, _ fs.FileMode) error {
					return l.Mkdir(ctx, name, 0o755)
				}}
			})},
		{defect: "nothing happens", check: "J9_ChmodSetsModes", mutate: mutateTree(func(*env.Local) mutantTree {
			return mutantTree{chmod: func(context.Context, string, fs.FileMode) error { return nil }}
		})},
		{defect: "other bits are set, too", check: "J9_ChmodSetsModes",
			mutate: mutateTree(func(l *env.Local) mutantTree {
				return mutantTree{chmod: func(ctx context.Context, name string, perm fs.FileMode) error {
					if err := l.Chmod(ctx, name, perm); err != nil {
						return err
					}
					return os.Chmod(pathOf(l, name), perm)
				}}
			})},
		{defect: "links are left alone", check: "J9_ChmodFollowsLinks",
			mutate: mutateTree(func(l *env.Local) mutantTree {
				return mutantTree{chmod: func(ctx context.Context, name string, perm fs.FileMode) error {
					if node, err := l.Lstat(ctx, name); err != nil || node.Mode.Type() == fs.ModeSymlink {
						return err
					}
					return l.Chmod(ctx, name, perm)
				}}
			})},
		{defect: "the context is not looked at", check: "J9_TreeEndedContext",
			mutate: mutateTree(func(l *env.Local) mutantTree {
				return mutantTree{mkdir: func(_ context.Context, name string, perm fs.FileMode) error {
					return l.Mkdir(context.Background(), name, perm)
				}}
			})},
		{defect: "trees are made all the same", check: "J9_RefusesTrees",
			mutate: mutateTree(func(*env.Local) mutantTree { return mutantTree{} })},
	}
}
