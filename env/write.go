package env

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode"
)

// parentPerm is the mode of directories that WriteFile makes, before the umask.
const parentPerm fs.FileMode = 0o755

// WriteFile replaces a file's content atomically: a temporary file in the same directory takes the old one's place by a rename,
// so that a reader sees the old content or the new, also when this process is killed. It does not call fsync, which costs
// milliseconds a file: after a power failure the file may be empty or old, as after a build or a git checkout.
//
// A new file gets perm, less the umask. An existing one keeps its permission bits, and its owner where this process may set
// it; set-user-id and set-group-id bits are dropped, since they were given to other content. A name that is one of several hard links is
// replaced alone: the other names keep the old content. A file without write permission is replaced if its directory can be
// written. The name of a new file must not contain control characters.
func (l *Local) WriteFile(ctx context.Context, name string, data []byte, perm fs.FileMode) error {
	if err := context.Cause(ctx); err != nil {
		return l.fileError("write", name, err)
	}
	if err := l.write(ctx, name, data, perm); err != nil {
		return l.fileError("write", name, err)
	}
	return nil
}

func (l *Local) write(ctx context.Context, name string, data []byte, perm fs.FileMode) (err error) {
	// All links are resolved before, the last one too: a rename would replace the link and not what it points to.
	p, err := l.resolve(name, true)
	if err != nil {
		return err
	}
	if p.rel == "." || strings.HasSuffix(name, "/") {
		return notRegular(fs.ModeDir)
	}
	dir := path.Dir(p.rel)
	if dir != "." {
		if err := p.root.dir.MkdirAll(dir, parentPerm); err != nil {
			return err
		}
	}
	// From here on everything happens in this one directory, wherever it is moved to. The dot makes os.Root open the
	// element before it as a directory and nothing else, so that a FIFO swapped in does not block.
	parent, err := p.root.dir.OpenRoot(dir + "/.")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, parent.Close()) }()
	return replace(ctx, parent, path.Base(p.rel), data, perm.Perm())
}

// replace writes a file of a directory by way of a temporary one, of which nothing is left after a failure.
func replace(ctx context.Context, dir *os.Root, base string, data []byte, perm fs.FileMode) (err error) {
	old, err := dir.Lstat(base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old = nil
		if strings.ContainsFunc(base, unicode.IsControl) {
			return &nameError{fmt.Sprintf("a new file's name must not contain control characters: %q", base)}
		}
	case err != nil:
		return err
	case !old.Mode().IsRegular():
		return notRegular(old.Mode())
	}
	temp := ".attractor-" + rand.Text() + ".tmp" // base may be as long as a name can be, so it is no part of it
	if err := fill(dir, temp, data, old, perm); err != nil {
		return err
	}
	if err = context.Cause(ctx); err == nil {
		err = dir.Rename(temp, base)
	}
	if err != nil {
		return errors.Join(err, dir.Remove(temp))
	}
	return nil
}

// fill makes the temporary file. Owner and mode are set on the handle, before anybody can open it under its final name.
func fill(dir *os.Root, temp string, data []byte, old fs.FileInfo, perm fs.FileMode) error {
	if old != nil {
		perm = 0o600
	}
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	if old != nil {
		err = keepOwner(f, old)
	}
	if err == nil && old != nil {
		err = f.Chmod(old.Mode().Perm())
	}
	if err == nil {
		_, err = f.Write(data)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, dir.Remove(temp))
	}
	return nil
}
