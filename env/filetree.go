package env

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Tree is implemented by environments whose directories can be seen and made as they are: symbolic links as links, empty directories, modes.
// With the methods of Environment that is all it takes to keep a tree somewhere else and to make it again. Names are those of Environment.
// What changes something makes missing parent directories, as WriteFile does, and errors are of the same kinds.
//
// A wrapper around an environment that is no Tree returns errors that wrap errors.ErrUnsupported; see [TreeOf].
type Tree interface {
	// Lstat describes a file, and a symbolic link itself. It is the way to find out whether a file has changed without reading it.
	Lstat(ctx context.Context, name string) (Node, error)
	// Readlink returns what a symbolic link says, as it was written. Of anything else the error wraps fs.ErrInvalid.
	Readlink(ctx context.Context, name string) (target string, err error)
	// Symlink makes name a symbolic link that says target, which need not exist and is not checked: whoever follows the link is. The error
	// wraps fs.ErrExist if there is something already.
	Symlink(ctx context.Context, target, name string) error
	// Mkdir makes an empty directory. The error wraps fs.ErrExist if there is something already.
	Mkdir(ctx context.Context, name string, perm fs.FileMode) error
	// Chmod sets the permission bits of a file or directory, and no others. A symbolic link is followed.
	Chmod(ctx context.Context, name string, perm fs.FileMode) error
}

// Node is what a file system says of a file. As long as all of it stays the same, so has the content: what writes a file moves its change
// time, except where it writes twice within the resolution of the file system's clock. A field is zero if the environment does not know it.
type Node struct {
	Info
	// Changed is when content, mode, owner or links changed last (ctime). No program can set it.
	Changed time.Time `json:"changed,omitzero"`
	// Device and Inode are what two names of one file share, as long as it exists.
	Device uint64 `json:"device,omitempty"`
	Inode  uint64 `json:"inode,omitempty"`
	// Links is how many names the file has.
	Links uint64 `json:"links,omitempty"`
}

// TreeOf returns e as a Tree, or a Tree of which every method returns an error that wraps errors.ErrUnsupported.
func TreeOf(e Environment) Tree {
	if t, ok := e.(Tree); ok {
		return t
	}
	return noTree{}
}

type noTree struct{}

func (noTree) Lstat(_ context.Context, name string) (Node, error) {
	return Node{}, unsupported("lstat", name)
}

func (noTree) Readlink(_ context.Context, name string) (string, error) {
	return "", unsupported("readlink", name)
}

func (noTree) Symlink(_ context.Context, _, name string) error { return unsupported("symlink", name) }

func (noTree) Mkdir(_ context.Context, name string, _ fs.FileMode) error {
	return unsupported("mkdir", name)
}

func (noTree) Chmod(_ context.Context, name string, _ fs.FileMode) error {
	return unsupported("chmod", name)
}

// Lstat implements Tree. On Windows, and on Unix systems other than Linux and macOS, it says no more than Stat.
func (l *Local) Lstat(ctx context.Context, name string) (Node, error) {
	return reach(ctx, l, "lstat", name, false, func(p place) (Node, error) {
		fi, err := p.root.dir.Lstat(p.rel)
		if err != nil {
			return Node{}, err
		}
		return nodeOf(l.lastElement(name), fi), nil
	})
}

// Readlink implements Tree.
func (l *Local) Readlink(ctx context.Context, name string) (string, error) {
	return reach(ctx, l, "readlink", name, false, func(p place) (string, error) {
		target, err := p.root.dir.Readlink(p.rel)
		if err == nil {
			return target, nil
		}
		if fi, errStat := p.root.dir.Lstat(p.rel); errStat == nil && fi.Mode()&fs.ModeSymlink == 0 {
			err = fmt.Errorf("not a symbolic link: %w", fs.ErrInvalid)
		}
		return "", err
	})
}

// Symlink implements Tree. The name of a new link must not contain control characters.
func (l *Local) Symlink(ctx context.Context, target, name string) error {
	return l.change(ctx, change{op: "symlink", name: name, parents: true, do: func(dir *os.Root, base string) error {
		if err := checkNew(base); err != nil {
			return err
		}
		return dir.Symlink(target, base)
	}})
}

// Mkdir implements Tree. The mode is less the umask, and the name of a new directory must not contain control characters.
func (l *Local) Mkdir(ctx context.Context, name string, perm fs.FileMode) error {
	return l.change(ctx, change{op: "mkdir", name: name, parents: true, do: func(dir *os.Root, base string) error {
		if err := checkNew(base); err != nil {
			return err
		}
		return dir.Mkdir(base, perm.Perm())
	}})
}

// Chmod implements Tree. Set-user-id, set-group-id and sticky bits are dropped.
func (l *Local) Chmod(ctx context.Context, name string, perm fs.FileMode) error {
	return l.change(ctx, change{op: "chmod", name: name, follow: true, do: func(dir *os.Root, base string) error {
		return dir.Chmod(base, perm.Perm())
	}})
}
