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

// Open opens a regular file for reading. The reader also implements io.Seeker and io.ReaderAt;
// callers must check for these, since other environments may not provide them. Reading does not
// obey ctx.
func (l *Local) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	return withPlace(ctx, l, "open", name, true, func(p place) (io.ReadCloser, error) {
		return openRegular(p)
	})
}

// openRegular opens a regular file. It does not block on a FIFO without a writer. It checks the
// handle and not the name, which somebody could replace in between.
func openRegular(p place) (*os.File, error) {
	f, err := p.root.dir.OpenFile(p.rel, openFlags, 0)
	if err != nil {
		return nil, err
	}
	if err := checkRegular(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// checkRegular refuses handles of anything but regular files.
func checkRegular(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return notRegular(info.Mode())
	}
	return refuseKernelHandle(f)
}

// notRegular returns an error that names the kind of file. It wraps fs.ErrInvalid.
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

// Remove deletes a file, a symbolic link itself, or an empty directory. It refuses the working
// directory and the other roots.
func (l *Local) Remove(ctx context.Context, name string) error {
	if path.Base(name) == "." {
		name = strings.TrimRight(name, "/") // the kernel refuses a/./ too
	}
	return l.change(ctx, change{op: "remove", name: name, do: func(dir *os.Root, base string) error {
		if l.rootAt(dir, base, nil) != nil {
			return errors.New("an allowed directory itself cannot be removed")
		}
		return dir.Remove(base)
	}})
}

// Stat describes a file. It follows symbolic links that stay inside the allowed directories.
func (l *Local) Stat(ctx context.Context, name string) (Info, error) {
	return withPlace(ctx, l, "stat", name, true, func(p place) (Info, error) {
		fi, err := p.root.dir.Stat(p.rel)
		if err != nil {
			return Info{}, err
		}
		return infoOf(l.lastElement(name), fi), nil
	})
}

// lastElement returns a file's name in its directory, also for the working directory itself.
func (l *Local) lastElement(name string) string {
	if !isAbs(name) {
		name = l.dir + "/" + name
	}
	return path.Base(path.Clean(name))
}

func infoOf(name string, fi fs.FileInfo) Info {
	return Info{Name: name, Size: fi.Size(), Mode: fi.Mode(), ModTime: fi.ModTime()}
}

// ReadDir lists a directory, sorted by name. It leaves out entries that vanish meanwhile.
func (l *Local) ReadDir(ctx context.Context, name string) ([]Info, error) {
	return withPlace(ctx, l, "readdir", name, true, readDir)
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

// withPlace calls do with the file that a name leads to. It first relies on os.Root alone, which
// costs one pass over the path. If os.Root reports that the name leaves its root, withPlace
// resolves the links and tries again. Either way the operation goes through os.Root.
func withPlace[T any](ctx context.Context, l *Local, op, name string, last bool, do func(place) (T, error)) (T, error) {
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
		if p, err = l.resolve(ctx, name, last); err == nil {
			v, err = do(p)
		}
	}
	if err != nil {
		return zero, l.fileError(op, name, err)
	}
	return v, nil
}

// fileError wraps an error with the operation and the caller's name for the file.
func (l *Local) fileError(op, name string, err error) error {
	if errors.Is(err, l.escapes) { // a link was swapped in after resolve
		err = &outsideError{roots: l.roots}
	}
	return &fs.PathError{Op: op, Path: name, Err: unwrapOS(err)}
}
