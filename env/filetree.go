package env

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// A Tree is an Environment that shows and makes directory trees as they are: symbolic links as
// links, empty directories, modes. Together with the methods of Environment this suffices to copy a
// tree elsewhere and to restore it. Names and errors are like Environment's. Methods that create
// something make missing parent directories, as WriteFile does.
//
// A wrapper whose environment is not a Tree returns errors that wrap errors.ErrUnsupported; see
// [TreeOf].
type Tree interface {
	// Lstat describes a file, or a symbolic link itself. It shows whether a file has changed
	// without reading it.
	Lstat(ctx context.Context, name string) (Node, error)
	// Readlink returns a symbolic link's target as it was written. For other files the error wraps
	// fs.ErrInvalid.
	Readlink(ctx context.Context, name string) (target string, err error)
	// Symlink makes name a symbolic link to target. The target is not checked and need not exist;
	// the check happens when the link is followed. The error wraps fs.ErrExist if name exists.
	Symlink(ctx context.Context, target, name string) error
	// Mkdir makes an empty directory. The error wraps fs.ErrExist if name exists.
	Mkdir(ctx context.Context, name string, perm fs.FileMode) error
	// Chmod sets only the permission bits of a file or directory. It follows symbolic links.
	Chmod(ctx context.Context, name string, perm fs.FileMode) error
}

// Node holds the file system's data about a file. While none of it changes, the content has not
// changed either: writing moves the change time, except for two writes within the resolution of the
// file system's clock. Unknown fields are zero.
type Node struct {
	Info
	// Changed is the time of the last change to content, mode, owner or links (ctime). Programs
	// cannot set it.
	Changed time.Time `json:"changed,omitzero"`
	// Device and Inode are equal for two names of the same file.
	Device uint64 `json:"device,omitempty"`
	Inode  uint64 `json:"inode,omitempty"`
	// Links is the number of the file's names.
	Links uint64 `json:"links,omitempty"`
}

// TreeOf returns e as a Tree. If e is not one, every method returns an error that wraps
// errors.ErrUnsupported.
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

// Lstat implements Tree. On systems other than Linux and macOS it reports no more than Stat.
func (l *Local) Lstat(ctx context.Context, name string) (Node, error) {
	return withPlace(ctx, l, "lstat", name, false, func(p place) (Node, error) {
		fi, err := p.root.dir.Lstat(p.rel)
		if err != nil {
			return Node{}, err
		}
		return nodeOf(l.lastElement(name), fi), nil
	})
}

// Readlink implements Tree.
func (l *Local) Readlink(ctx context.Context, name string) (string, error) {
	return withPlace(ctx, l, "readlink", name, false, func(p place) (string, error) {
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
		if err := checkNew(base, l.anyNames); err != nil {
			return err
		}
		return dir.Symlink(target, base)
	}})
}

// Mkdir implements Tree. The umask applies to the mode. The name of a new directory must not
// contain control characters.
func (l *Local) Mkdir(ctx context.Context, name string, perm fs.FileMode) error {
	return l.change(ctx, change{op: "mkdir", name: name, parents: true, do: func(dir *os.Root, base string) error {
		if err := checkNew(base, l.anyNames); err != nil {
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
