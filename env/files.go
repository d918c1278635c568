package env

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Open reads a regular file. What it returns implements io.Seeker and io.ReaderAt too; callers that want them assert, since an
// environment elsewhere may not have them. Reading does not look at ctx.
func (l *Local) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	return reach(ctx, l, "open", name, true, func(p place) (io.ReadCloser, error) {
		return openRegular(p)
	})
}

// openRegular opens without blocking, as a FIFO without a writer would, and asks the handle what it is: asking the name
// before would leave time to put something else there.
func openRegular(p place) (*os.File, error) {
	f, err := p.root.dir.OpenFile(p.rel, openFlags, 0)
	if err != nil {
		return nil, err
	}
	if err := regular(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// regular refuses handles of anything but plain data.
func regular(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return notRegular(info.Mode())
	}
	return refuseKernelHandle(f)
}

// notRegular names what is there instead of a file. It wraps fs.ErrInvalid.
func notRegular(m fs.FileMode) error {
	kind := "not a regular file"
	switch {
	case m.IsDir():
		kind = "is a directory"
	case m&fs.ModeNamedPipe != 0:
		kind = "is a FIFO, not a regular file"
	case m&fs.ModeSocket != 0:
		kind = "is a socket, not a regular file"
	case m&fs.ModeDevice != 0:
		kind = "is a device, not a regular file"
	}
	return fmt.Errorf("%s: %w", kind, fs.ErrInvalid)
}

// Remove deletes a file, a symbolic link itself, or an empty directory, never the working directory or another root itself.
func (l *Local) Remove(ctx context.Context, name string) error {
	if path.Base(name) == "." {
		name = strings.TrimRight(name, "/") // the kernel does not remove a/./ either
	}
	return l.change(ctx, change{op: "remove", name: name, do: func(dir *os.Root, base string) error {
		if l.rootAt(dir, base, nil) != nil {
			return errors.New("an allowed directory itself is not removed")
		}
		return dir.Remove(base)
	}})
}

// Stat follows symbolic links that stay inside the allowed directories.
func (l *Local) Stat(ctx context.Context, name string) (Info, error) {
	return reach(ctx, l, "stat", name, true, func(p place) (Info, error) {
		fi, err := p.root.dir.Stat(p.rel)
		if err != nil {
			return Info{}, err
		}
		return infoOf(l.lastElement(name), fi), nil
	})
}

// lastElement is what a name is called in its directory; the working directory has a name too.
func (l *Local) lastElement(name string) string {
	if !isAbs(name) {
		name = l.dir + "/" + name
	}
	return path.Base(path.Clean(name))
}

func infoOf(name string, fi fs.FileInfo) Info {
	return Info{Name: name, Size: fi.Size(), Mode: fi.Mode(), ModTime: fi.ModTime()}
}

// ReadDir lists a directory, sorted by name. An entry that vanishes in the meantime is left out.
func (l *Local) ReadDir(ctx context.Context, name string) ([]Info, error) {
	return reach(ctx, l, "readdir", name, true, readDir)
}

func readDir(p place) (list []Info, err error) {
	f, err := p.root.dir.OpenFile(p.rel, dirFlags, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := refuseKernelHandle(f); err != nil {
		return nil, err
	}
	entries, err := f.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	list = make([]Info, 0, len(entries))
	for _, entry := range entries {
		fi, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, infoOf(fi.Name(), fi))
	}
	slices.SortFunc(list, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// reach does something with the file of a name: by os.Root alone where it can, which costs one pass over the path, and where
// os.Root sees the name leave its root, after resolving the links ourselves. Either way the operation goes through os.Root.
func reach[T any](ctx context.Context, l *Local, op, name string, last bool, do func(place) (T, error)) (T, error) {
	var zero T
	if err := context.Cause(ctx); err != nil {
		return zero, l.fileError(op, name, err)
	}
	p, err := l.locate(name)
	if err != nil {
		return zero, l.fileError(op, name, err)
	}
	v, err := do(p)
	if errors.Is(err, l.escapes) {
		if p, err = l.resolve(name, last); err == nil {
			v, err = do(p)
		}
	}
	if err != nil {
		return zero, l.fileError(op, name, err)
	}
	return v, nil
}

// fileError puts the operation and the name that the caller used around an error.
func (l *Local) fileError(op, name string, err error) error {
	if errors.Is(err, l.escapes) { // a link was swapped in after resolve had looked
		err = &outsideError{roots: l.roots}
	}
	return &fs.PathError{Op: op, Path: name, Err: bare(err)}
}
